/// One of the durable sends of hosts that died, in one conversation of the holder.
private struct Carried {
  enum State: Equatable {
    /// It waits to be written, or for its turn. May become any other.
    case queued
    /// It was written here. May become `left`, `ended`.
    case written
    /// It was written for a host that is gone by now. May become `written`, `left`, `ended`.
    case writtenForHost
    /// A host that lives has it too, and has it written again by itself. May become `writtenForHost`, `ended`.
    case left
    case ended(FleetSendEnd)
  }

  /// As the first of its rows had it.
  var send: FleetSend
  /// Of its rows: a host that had another name for a while has left more than one.
  var names: [String]
  var state = State.queued
  var timer: Timers.ID?

  var isEnded: Bool { if case .ended = state { true } else { false } }
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
  /// By the ids of the sends, as all here.
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

  fileprivate func forget(_ id: String) {
    conclude(id)
    (writes[id], suspicions[id]) = (nil, nil)
  }

  fileprivate func wrote(_ id: String) { writes[id] = writes(of: id) + 1 }
  fileprivate func writes(of id: String) -> Int { writes[id] ?? 0 }

  fileprivate func suspicion(of id: String) -> Suspicion? {
    conclude(id)
    return suspicions[id]
  }

  /// A conversation has ended. What that means for each is noted a portion in a turn, or when it is asked for.
  fileprivate func end(_ carried: IncrementalTable<String, Carried>, isBlamed: Bool) {
    guard !carried.isEmpty else { return }
    ended.append(Ended(carried: carried, instant: timers.now, isBlamed: isBlamed))
    guard ended.count == 1 else { return }
    timers.goOn { [weak self] in self?.concludePortion() ?? false }
  }

  private func concludePortion() -> Bool {
    for (id, one) in ended[0].carried.popPiece() { conclude(id, one, ended[0]) }
    if ended[0].carried.isEmpty { ended.removeFirst() }
    return !ended.isEmpty
  }

  private func conclude(_ id: String) {
    for place in ended.indices {
      if let one = ended[place].carried.removeValue(forKey: id) { conclude(id, one, ended[place]) }
    }
  }

  private func conclude(_ id: String, _ one: Carried, _ end: Ended) {
    timers.cancel(one.timer)
    guard end.isBlamed, one.state == .written, one.send.entry.retries != nil else { return }
    var suspicion = suspicions[id] ?? Suspicion()
    suspicion.linkBroke(at: end.instant)
    suspicions[id] = suspicion
  }
}

/// The durable sends of hosts that died, in one conversation of the holder: which of them are to be written, and how often.
/// Each is one, by its id, in however many rows the fleet has it. It writes nothing itself.
final class FleetCarrier {
  private let timers: Timers
  private let tries: FleetTries
  /// In milliseconds since 1970.
  private let wall: () -> Int64
  /// By their ids: all that were taken in this conversation.
  private var carried = IncrementalTable<String, Carried>()
  /// The suspected ones that are under way.
  private var trying: Set<String> = []

  /// One is to be written once more.
  var onDue: (FleetSend) -> Void = { _ in }
  /// What has become of one, by its id.
  var onEnd: (String, FleetSendEnd) -> Void = { _, _ in }

  init(_ tries: FleetTries, timers: Timers, wall: @escaping () -> Int64) {
    self.tries = tries
    self.timers = timers
    self.wall = wall
  }

  /// Whether a row was taken in this conversation and has no outcome.
  func hasTaken(_ name: String) -> Bool {
    guard let id = FleetSend.parts(of: name)?.id, let one = carried[id] else { return false }
    return !one.isEnded && one.names.contains(name)
  }

  /// What became in this conversation of a send that has a row more.
  func end(of send: FleetSend) -> FleetSendEnd? {
    guard let one = carried[send.entry.id], case .ended(let end) = one.state else { return nil }
    return one.names.contains(send.name) ? nil : end
  }

  /// Takes one of the fleet's rows, if it was not taken before. Returns whether its send is to be written now.
  /// - Parameter progress: how far the send is that a host may have had written in this conversation.
  func take(_ item: FleetFindings.Item, _ progress: FleetAsks.Progress) -> Bool {
    let (send, id) = (item.send, item.send.entry.id)
    if let known = carried[id] {
      if !known.isEnded, !known.names.contains(send.name) { carried[id]?.names.append(send.name) }
      return false
    }
    carried[id] = Carried(send: send, names: [send.name])
    switch progress {
    case .awaited: leave(id)
    case .written: waitForHost(send)
    case .notWritten:
      if let suspicion = tries.suspicion(of: id), suspicion.isSuspected {
        tryLater(send, suspicion)
      } else if item.givesWay {
        onEnd(id, FleetSendEnd(.dropped, reason: OutboxEntry.coalesced))
      } else {
        return true
      }
    }
    return false
  }

  /// Whether one that waits may be written now; its time may be over, or a host has had it written meanwhile.
  func admits(_ id: String, _ progress: FleetAsks.Progress) -> Bool {
    guard let one = carried[id], !one.isEnded else { return false }
    switch progress {
    case .awaited:
      leave(id)
      return false
    case .written where one.state == .queued:
      waitForHost(one.send)
      return false
    case .written, .notWritten:
      guard isOver(one.send) else { return true }
      onEnd(id, tries.writes(of: id) == 0 ? FleetSendEnd(.expired) : unanswered(id))
      return false
    }
  }

  /// One was written.
  func wrote(_ id: String) {
    tries.wrote(id)
    guard let send = carried[id]?.send else { return }
    carried[id]?.state = .written
    guard send.entry.retries != nil else { return }
    if tries.suspicion(of: id)?.isSuspected == true { trying.insert(id) }
    wait(for: send)
  }

  /// One has its outcome: nobody else says another one. Returns the names of its rows.
  func finish(_ id: String, _ end: FleetSendEnd) -> [String] {
    guard let one = carried[id], !one.isEnded else { return [] }
    timers.cancel(one.timer)
    carried[id]?.state = .ended(end)
    // Its names and its end are all that has to be known of it.
    carried[id]?.send.entry.message = PreparedMessage(event: "", body: [])
    trying.remove(id)
    tries.forget(id)
    return one.names
  }

  /// A host that lives has one, and has it written again by itself.
  /// - Parameter row: the name of its row, which is the host's again; nil where the fleet has all that it knows of.
  func leave(_ id: String, to row: String? = nil) {
    guard let one = carried[id], !one.isEnded else { return }
    timers.cancel(one.timer)
    trying.remove(id)
    let names = one.names.filter { $0 != row }
    guard !names.isEmpty else { return carried[id] = nil }
    carried[id]?.names = names
    carried[id]?.state = .left
  }

  /// No host that lives awaits any more what becomes of one.
  func resume(_ id: String) {
    if let one = carried[id], one.state == .left { waitForHost(one.send) }
  }

  /// The conversation is over. `isBlamed`: what was under way may be why.
  func close(isBlamed: Bool) {
    var last = IncrementalTable<String, Carried>()
    swap(&last, &carried)
    trying = []
    tries.end(last, isBlamed: isBlamed)
  }

  private func unanswered(_ id: String) -> FleetSendEnd {
    FleetSendEnd(.lost, reason: tries.suspicion(of: id)?.isSuspected == true ? OutboxEntry.suspected : "ack_timeout")
  }

  /// What may be why links broke has its turn after a pause, alone as far as it goes.
  private func tryLater(_ send: FleetSend, _ suspicion: Suspicion) {
    let id = send.entry.id
    guard tries.writes(of: id) <= send.entry.retries ?? 0 else { return onEnd(id, unanswered(id)) }
    carried[id]?.timer = timers.at(max(suspicion.due ?? timers.now, timers.now)) { [weak self] in
      guard let self, let one = carried[id], !one.isEnded else { return }
      guard trying.isEmpty else { return tryLater(send, Suspicion.known(at: timers.now)) }
      onDue(send)
    }
  }

  private func isOver(_ send: FleetSend) -> Bool { send.entry.expires.map { $0 <= wall() } ?? false }

  private func waitForHost(_ send: FleetSend) {
    carried[send.entry.id]?.state = .writtenForHost
    wait(for: send)
  }

  private func wait(for send: FleetSend) {
    let id = send.entry.id
    timers.cancel(carried[id]?.timer)
    guard send.entry.retries != nil else { return }
    let limit = send.entry.ackTimeout.map { Duration.milliseconds($0) } ?? Retry.usualAckTimeout
    carried[id]?.timer = timers.after(limit) { [weak self] in self?.waitedEnough(id) }
  }

  private func waitedEnough(_ id: String) {
    guard let one = carried[id], !one.isEnded else { return }
    guard tries.writes(of: id) <= one.send.entry.retries ?? 0, !isOver(one.send) else {
      return onEnd(id, unanswered(id))
    }
    onDue(one.send)
  }
}
