/// One of the durable sends of hosts that died, in one conversation of the holder.
private struct Carried {
  var send: FleetSend
  /// Nil when it is finished.
  var asks: [UInt64]? = []
  var timer: Timers.ID?
}

/// What outlives a conversation about the durable sends of hosts that died, for as long as this host holds: how often each
/// was written, and the links that broke while it was under way. Decision 0089.
final class FleetTries {
  /// What a conversation had when it ended, as far as nothing was concluded from that.
  private struct Ended {
    var carried: IncrementalTable<String, Carried>
    let instant: MonotonicInstant
    /// What was under way may be why it ended.
    var isBlamed: Bool
  }

  private let timers: Timers
  private var writes = IncrementalTable<String, Int>()
  private var suspicions = IncrementalTable<String, Suspicion>()
  /// The first ended first.
  private var ended: [Ended] = []

  init(timers: Timers) { self.timers = timers }

  /// This host holds no more, or anew.
  func forget() {
    for place in ended.indices { ended[place].isBlamed = false }
    var (oldWrites, oldSuspicions) = (IncrementalTable<String, Int>(), IncrementalTable<String, Suspicion>())
    swap(&oldWrites, &writes)
    swap(&oldSuspicions, &suspicions)
    timers.goOn {
      _ = (oldWrites.popPiece(), oldSuspicions.popPiece())
      return !oldWrites.isEmpty || !oldSuspicions.isEmpty
    }
  }

  fileprivate func forget(_ name: String) {
    conclude(name)
    (writes[name], suspicions[name]) = (nil, nil)
  }

  fileprivate func wrote(_ name: String) { writes[name] = writes(of: name) + 1 }
  fileprivate func writes(of name: String) -> Int { writes[name] ?? 0 }

  fileprivate func suspicion(of name: String) -> Suspicion? {
    conclude(name)
    return suspicions[name]
  }

  /// A conversation has ended. What that means for each is noted a portion in a turn, or when it is asked for.
  fileprivate func end(_ carried: IncrementalTable<String, Carried>, isBlamed: Bool) {
    guard !carried.isEmpty else { return }
    ended.append(Ended(carried: carried, instant: timers.now, isBlamed: isBlamed))
    guard ended.count == 1 else { return }
    timers.goOn { [weak self] in self?.concludePortion() ?? false }
  }

  private func concludePortion() -> Bool {
    for (name, one) in ended[0].carried.popPiece() { conclude(name, one, ended[0]) }
    if ended[0].carried.isEmpty { ended.removeFirst() }
    return !ended.isEmpty
  }

  private func conclude(_ name: String) {
    for place in ended.indices {
      if let one = ended[place].carried.removeValue(forKey: name) { conclude(name, one, ended[place]) }
    }
  }

  private func conclude(_ name: String, _ one: Carried, _ end: Ended) {
    timers.cancel(one.timer)
    guard end.isBlamed, one.asks?.isEmpty == false else { return }
    var suspicion = suspicions[name] ?? Suspicion()
    suspicion.linkBroke(at: end.instant)
    suspicions[name] = suspicion
  }
}

/// The durable sends of hosts that died, in one conversation of the holder: which of them are to be written, and how often.
/// It writes nothing itself.
final class FleetCarrier {
  private let timers: Timers
  private let tries: FleetTries
  /// In milliseconds since 1970.
  private let wall: () -> Int64
  /// By the names of their rows: all that were taken in this conversation.
  private var carried = IncrementalTable<String, Carried>()
  /// The suspected ones that are under way.
  private var trying: Set<String> = []

  /// One is to be written once more.
  var onDue: (FleetSend) -> Void = { _ in }
  /// What has become of one.
  var onEnd: (String, FleetSendEnd) -> Void = { _, _ in }

  init(_ tries: FleetTries, timers: Timers, wall: @escaping () -> Int64) {
    self.tries = tries
    self.timers = timers
    self.wall = wall
  }

  /// Whether one was taken in this conversation and has no outcome.
  func hasTaken(_ name: String) -> Bool { carried[name]?.asks != nil }

  /// Takes those of the fleet's sends that were not taken before. Returns what is to be written, in its order.
  /// - Parameter isUnderWay: whether its host had written one in this conversation before it died.
  func take(_ found: [FleetFindings.Item], isUnderWay: (FleetSend) -> Bool) -> [FleetSend] {
    let fresh = found.filter { carried[$0.send.name] == nil }
    return fresh.filter { take($0, isUnderWay: isUnderWay($0.send)) }.map(\.send)
  }

  /// Returns whether it is to be written now.
  private func take(_ item: FleetFindings.Item, isUnderWay: Bool) -> Bool {
    let send = item.send
    carried[send.name] = Carried(send: send)
    if isUnderWay {
      wait(for: send)
    } else if let suspicion = tries.suspicion(of: send.name), suspicion.isSuspected {
      tryLater(send, suspicion)
    } else if item.givesWay {
      end(send.name, FleetSendEnd(.dropped, reason: OutboxEntry.coalesced))
    } else {
      return true
    }
    return false
  }

  /// Whether one that waits may be written now; its time may be over.
  func admits(_ name: String) -> Bool {
    guard let carried = carried[name], carried.asks != nil else { return false }
    guard isOver(carried.send) else { return true }
    end(name, tries.writes(of: name) == 0 ? FleetSendEnd(.expired) : unanswered(name))
    return false
  }

  /// One was written, with that number where an acknowledgement is awaited.
  func wrote(_ name: String, ack: UInt64?) {
    tries.wrote(name)
    guard let ack, let send = carried[name]?.send else { return }
    carried[name]?.asks?.append(ack)
    if tries.suspicion(of: name)?.isSuspected == true { trying.insert(name) }
    wait(for: send)
  }

  /// One has its outcome: nobody else says another one. Returns the acknowledgements that are awaited of it.
  @discardableResult
  func finish(_ name: String) -> [UInt64] {
    guard let asks = carried[name]?.asks else { return [] }
    carried[name]?.asks = nil
    trying.remove(name)
    tries.forget(name)
    timers.cancel(carried[name]?.timer)
    // The name is all that has to be known of it.
    carried[name]?.send.entry.message = PreparedMessage(event: "", body: [])
    return asks
  }

  /// Its host has it again, and asks by itself what becomes of it.
  func letGo(_ name: String) {
    timers.cancel(carried[name]?.timer)
    carried[name] = nil
    trying.remove(name)
  }

  /// The conversation is over. `isBlamed`: what was under way may be why.
  func close(isBlamed: Bool) {
    var last = IncrementalTable<String, Carried>()
    swap(&last, &carried)
    trying = []
    tries.end(last, isBlamed: isBlamed)
  }

  private func unanswered(_ name: String) -> FleetSendEnd {
    FleetSendEnd(
      .lost, reason: tries.suspicion(of: name)?.isSuspected == true ? OutboxEntry.suspected : "ack_timeout")
  }

  /// What may be why links broke has its turn after a pause, alone as far as it goes.
  private func tryLater(_ send: FleetSend, _ suspicion: Suspicion) {
    guard tries.writes(of: send.name) <= send.entry.retries ?? 0 else { return end(send.name, unanswered(send.name)) }
    carried[send.name]?.timer = timers.at(max(suspicion.due ?? timers.now, timers.now)) { [weak self] in
      guard let self, carried[send.name]?.asks != nil else { return }
      guard trying.isEmpty else { return tryLater(send, Suspicion.known(at: timers.now)) }
      onDue(send)
    }
  }

  private func isOver(_ send: FleetSend) -> Bool { send.entry.expires.map { $0 <= wall() } ?? false }

  private func wait(for send: FleetSend) {
    guard send.entry.retries != nil else { return }
    timers.cancel(carried[send.name]?.timer)
    let limit = send.entry.ackTimeout.map { Duration.milliseconds($0) } ?? Retry.usualAckTimeout
    carried[send.name]?.timer = timers.after(limit) { [weak self] in self?.waitedEnough(send.name) }
  }

  private func waitedEnough(_ name: String) {
    guard let carried = carried[name], carried.asks != nil else { return }
    guard tries.writes(of: name) <= carried.send.entry.retries ?? 0, !isOver(carried.send) else {
      return end(name, unanswered(name))
    }
    onDue(carried.send)
  }

  private func end(_ name: String, _ end: FleetSendEnd) { onEnd(name, end) }
}
