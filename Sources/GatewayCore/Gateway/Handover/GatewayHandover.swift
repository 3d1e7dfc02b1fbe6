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
}

extension IdempotencyTable {
  /// What the next daemon needs, in the order of their making.
  func handOver(now: MonotonicInstant) -> [HandoverDocument.Key] {
    kept(at: now).map {
      HandoverDocument.Key(
        key: $0.scope.key, uid: $0.scope.uid, connection: $0.scope.connection, target: $0.target, id: $0.entry.id,
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
