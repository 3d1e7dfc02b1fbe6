/// The calls of a client: those that wait for a daemon, in their order, and those that it has not answered. It knows which is
/// next, which are over their time, and how many places of the daemon's they fill.
struct CallLedger: Sendable {
  typealias Instant = ContinuousClock.Instant

  private var calls: [CallID: Call] = [:]
  /// Calls that wait, behind the first `taken` ones; those that are over meanwhile are passed by.
  private var waiting: [CallID] = []
  private var taken = 0
  private var last: CallID
  /// Calls that the daemon has not answered.
  private(set) var unanswered = 0
  /// No call is over its time earlier.
  private(set) var nextDeadline: Instant?

  /// Numbers begin behind that one.
  init(behind number: CallID) { last = number }

  subscript(id: CallID) -> Call? { calls[id] }

  /// Whether somebody waits for an answer.
  var isWaitedFor: Bool { calls.values.contains { $0.stage != .abandoned } }

  /// The call of an owner that somebody waits for.
  func find(_ owner: Call.Owner) -> CallID? {
    calls.first { $0.value.owner == owner && $0.value.stage != .abandoned }?.key
  }

  // MARK: Waiting

  /// The number of the next call.
  mutating func number() -> CallID {
    last += 1
    return last
  }

  /// Takes in a call, which waits.
  mutating func add(_ call: Call, now: Instant) -> CallID {
    let id = number()
    var call = call
    if case .deadline(let timeout) = call.patience { call.end = now + timeout.bounded + Schedule.grace }
    call.reachEnd = call.reach.map { now + $0.bounded }
    calls[id] = call
    wait(id)
    return id
  }

  /// The next call that waits.
  mutating func next() -> (id: CallID, call: Call)? {
    while taken < waiting.count {
      let id = waiting[taken]
      taken += 1
      if taken > 32, taken * 2 > waiting.count {
        waiting.removeFirst(taken)
        taken = 0
      }
      if let call = calls[id], call.stage == .waiting { return (id, call) }
    }
    return nil
  }

  /// A call was written, and waits again: the connection was lost, or the daemon is about to stop and has not taken it. It
  /// waits as long as a new call would, but for a daemon that only ever stops no longer than once.
  mutating func waitAgain(_ id: CallID, isDrained: Bool, now: Instant) {
    guard let call = calls[id] else { return }
    if !(isDrained && call.isDrained) { calls[id]?.reachEnd = call.reach.map { now + $0.bounded } }
    calls[id]?.isDrained = isDrained
    wait(id)
  }

  /// Another daemon is there: when that is about to stop as well, calls wait for the next one as if for the first time.
  mutating func forgetDrains() {
    for id in Array(calls.keys) { calls[id]?.isDrained = false }
  }

  /// Puts a call where it waits: behind the earlier ones, and those with which subscriptions come back before all others.
  private mutating func wait(_ id: CallID) {
    guard let call = calls[id] else { return }
    if waiting.count - taken > 2 * calls.count + 32 {
      waiting = waiting[taken...].filter { calls[$0]?.stage == .waiting }
      taken = 0
    }
    let own = rank(id)
    let place = waiting[taken...].lastIndex { rank($0) < own }.map { $0 + 1 } ?? taken
    waiting.insert(id, at: place)
    let end = [call.reachEnd, call.end].compactMap { $0 }.min()
    calls[id]?.stage = .waiting
    calls[id]?.stageEnd = end
    note(end)
  }

  private func rank(_ id: CallID) -> (Int, CallID) {
    if case .resuming = calls[id]?.owner { return (0, id) }
    return (1, id)
  }

  // MARK: From the writing to the answer

  mutating func post(_ id: CallID, now: Instant) {
    guard let call = calls[id] else { return }
    unanswered += 1
    calls[id]?.stage = .posted
    let end: Instant? =
      switch call.patience {
      case .answer(let duration): now + duration.bounded
      case .deadline: call.end
      case .unbounded: nil
      }
    calls[id]?.stageEnd = end
    note(end)
  }

  /// The daemon has answered. Returns the call, where somebody waits for it.
  mutating func answer(_ id: CallID) -> Call? {
    guard let call = calls[id], call.stage != .waiting else { return nil }
    unanswered -= 1
    guard call.stage == .posted else {
      calls[id] = nil
      return nil
    }
    return call
  }

  mutating func remove(_ id: CallID) -> Call? { calls.removeValue(forKey: id) }

  /// Nobody waits for a call any more. Returns whether it was written: its place is free only when the daemon has answered.
  mutating func abandon(_ id: CallID) -> Bool {
    guard calls[id]?.stage == .posted else {
      if calls[id]?.stage == .waiting { calls[id] = nil }
      return false
    }
    calls[id]?.stage = .abandoned
    calls[id]?.stageEnd = nil
    return true
  }

  /// The calls whose time is over, as they are.
  mutating func expired(now: Instant) -> [(id: CallID, call: Call)] {
    guard let earliest = nextDeadline, earliest <= now else { return [] }
    nextDeadline = nil
    var found: [(id: CallID, call: Call)] = []
    for (id, call) in sorted {
      guard let end = call.stageEnd else { continue }
      if end <= now { found.append((id, call)) } else { note(end) }
    }
    return found
  }

  /// The connection is lost: calls with which subscriptions were to come back are made anew with the next one. Returns those
  /// that were written.
  mutating func interrupt() -> [(id: CallID, call: Call)] {
    unanswered = 0
    calls = calls.filter { _, call in
      if case .resuming = call.owner { false } else { call.stage != .abandoned }
    }
    return sorted.filter { $0.call.stage == .posted }
  }

  /// Forgets everything. Returns the calls that somebody waits for.
  mutating func removeAll() -> [(id: CallID, call: Call)] {
    let left = sorted.filter { $0.call.stage != .abandoned }
    calls = [:]
    waiting = []
    taken = 0
    unanswered = 0
    nextDeadline = nil
    return left
  }

  private var sorted: [(id: CallID, call: Call)] {
    calls.sorted { $0.key < $1.key }.map { (id: $0.key, call: $0.value) }
  }

  private mutating func note(_ deadline: Instant?) {
    guard let deadline else { return }
    nextDeadline = nextDeadline.map { min($0, deadline) } ?? deadline
  }
}
