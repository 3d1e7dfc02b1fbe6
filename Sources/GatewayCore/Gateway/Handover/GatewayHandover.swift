/// What is handed over at a restart beside the clients: how often that was, and what sends are known by. Decision 0116.
extension Gateway {
  /// The first line of what the next daemon is handed over.
  public var handoverHeader: HandoverDocument.Header {
    HandoverDocument.Header(handovers: handovers + 1, lastToken: upstreams.tokens.last)
  }

  /// The keys of sends, which the next daemon has to know.
  public var handoverKeys: [HandoverDocument.Key] { relay.keys.handOver(now: seams.time.now) }

  /// A send with this key was made.
  public func takeOver(_ key: HandoverDocument.Key) { relay.keys.takeOver(key, now: seams.time.now) }

  /// All of the other daemon's keys are known: the configuration may be another one than that daemon's.
  public func endTakingKeysOver() { relay.moveKeys() }

  /// Goes on from another daemon's header, before its clients are attached.
  public func takeOver(_ header: HandoverDocument.Header) {
    handovers = header.handovers
    upstreams.tokens.goOn(behind: header.lastToken)
  }

  /// Takes in a client of another daemon. Where its user has as many as this daemon allows, the client ends in order:
  /// what it was being sent is its due whatever the limits say. One that only gets its last words takes no place from
  /// those that go on.
  public func attach(_ client: HandoverDocument.Client, of peer: PeerCredentials, tag: Int) -> TakenOver {
    let mayGoOn = !client.isClosing && (try? checkPlace(for: peer)) != nil
    return TakenOver(
      session: add(peer, tag: tag, hasPlace: mayGoOn), client: client.isClosing || mayGoOn ? client : client.ending,
      isTurnedAway: !client.isClosing && !mayGoOn)
  }

  /// A client of another daemon that was taken in.
  public struct TakenOver {
    public let session: LocalSession
    /// What its session is to go on with, as soon as its socket is the session's.
    public let client: HandoverDocument.Client
    /// It would have gone on, and there is no place for it.
    public let isTurnedAway: Bool
  }
}

extension IdempotencyTable {
  /// What the next daemon needs, in the order of their making.
  func handOver(now: MonotonicInstant) -> [HandoverDocument.Key] {
    kept(at: now).map {
      HandoverDocument.Key(
        key: $0.scope.key.text, uid: $0.scope.uid, connection: $0.scope.connection, target: $0.target, id: $0.entry.id,
        fingerprint: $0.entry.fingerprint, state: $0.entry.state, age: $0.age)
    }
  }

  /// A key of another daemon.
  mutating func takeOver(_ key: HandoverDocument.Key, now: MonotonicInstant) {
    restore(
      Scope(uid: key.uid, fingerprint: key.connection, key: key.key),
      target: key.target ?? CallTarget(name: .upstream("")), id: key.id, fingerprint: key.fingerprint,
      state: key.state, age: key.age, now: now)
  }
}
