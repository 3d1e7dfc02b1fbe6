/// Writes to the server what the hosts say, when the holder may: what counts waits here, and is done by `FleetCalls`, so much
/// in a turn. It lives for one conversation.
final class FleetWriter {
  private enum State {
    /// Calls of hosts are not taken before the fleet's rows are. May become `reading` or `ending`.
    case opening
    /// May become `ending`.
    case reading
    /// The conversation is over: nothing that waits leaves in another one. What the server's machine had of it is noted. May
    /// become `over`.
    case ending
    /// That is noted.
    case over
  }

  let conversation: UInt64
  private let timers: Timers
  private let tap: FleetTap
  private let replies: FleetReplies
  /// The fleet's own rows.
  private let carrier: FleetCarrier
  private let calls: FleetCalls
  private var callers = FleetCallers()
  private var queue = FleetCallQueue()
  private var state = State.opening
  /// It may write until then; nil while it may not at all.
  private var until: MonotonicInstant?
  /// How many steps come before any write, such as an adoption.
  private var pauses = 0
  private var look = EarliestTimer()
  /// What was dealt with since the last look, which comes with the next turn while something waits.
  private var turn = FleetTurn()
  /// What was under way when the conversation ended may be why.
  private var isBlamed = false
  /// Told when what the server's machine had is noted.
  private var onOver: () -> Void = {}

  /// No more waits than is taken from the engine, where it was more.
  var onRoom: () -> Void = {}
  var onFenced: () -> Void {
    get { replies.onFenced }
    set { replies.onFenced = newValue }
  }
  /// The engine has taken some of what the hosts were told.
  var onTaken: () -> Void {
    get { replies.onTaken }
    set { replies.onTaken = newValue }
  }
  /// A row of the fleet has its outcome.
  var onCarried: (String) -> Void {
    get { calls.onCarried }
    set { calls.onCarried = newValue }
  }

  init(
    _ opened: FleetOpened, _ own: FleetOwn, _ place: FleetPlace, engine: any FleetEngine, timers: Timers, tap: FleetTap,
    confirmed: ConfirmedInterests, tries: FleetTries, outcomes: FleetOutcomes, wall: @escaping () -> Int64,
    check: @escaping (PreparedMessage, Bool) -> MessageProblem?
  ) {
    conversation = opened.conversation
    self.timers = timers
    self.tap = tap
    replies = FleetReplies(opened.conversation, own, place, engine: engine, timers: timers)
    carrier = FleetCarrier(tries, timers: timers, wall: wall)
    calls = FleetCalls(tap, replies, carrier, outcomes, confirmed: confirmed, check: check)
    carrier.onDue = { [weak self] in
      self?.queue.append(FleetCallQueue.Item($0))
      self?.flush()
    }
  }

  /// Whether calls of hosts are taken.
  var isReading: Bool { state == .reading }
  /// Whether more waits than is taken from the engine.
  var isFull: Bool { queue.isFull }
  /// The server's machine has everything that was written.
  var isQuiet: Bool { calls.isQuiet }
  /// The server's machine has everything that was written, and each host can read how far that was of its calls: since the
  /// conversation began the engine has neither been lost nor refused any of it.
  var isSettled: Bool { isQuiet && replies.stands }
  /// Whether that may be so in a moment.
  var maySettle: Bool { replies.mayStand }
  /// Bytes of what hosts were told that the engine has not taken.
  var unsentBytes: Int { replies.unsentBytes }

  // MARK: - The end

  /// The link ends: what the server's machine has by now is written.
  func linkEnds() {
    if !isEnded { calls.linkEnds() }
  }

  /// The conversation has ended. What the server's machine had when the link ended is noted a portion in each turn, of which
  /// the first is now; then `done` is called. Until then no host may be told that the conversation is over, nor may another one
  /// begin: who awaits something of this one would take it for lost, and what the fleet had would be written once more.
  /// - Parameter failure: how it ended; nil where it was closed here.
  func close(_ failure: UpstreamFailure?, _ done: @escaping () -> Void = {}) {
    guard !isEnded else { return }
    (state, isBlamed, onOver) = (.ending, failure?.reason.mayBeCausedByMessage == true, done)
    var rest = FleetCallQueue()
    swap(&rest, &queue)
    timers.goOn {
      rest.dropPortion()
      return !rest.isEmpty
    }
    timers.goOn { [weak self] in self?.noteEnd() ?? false }
  }

  /// Notes all that is left of it at once, where something waits for that.
  func finish() {
    while noteEnd() {}
  }

  /// Returns whether more is left.
  private func noteEnd() -> Bool {
    guard state == .ending else { return false }
    guard calls.noteLast(atMost: FleetTurn.noteLimit) < FleetTurn.noteLimit else { return true }
    state = .over
    calls.close(isBlamed: isBlamed, timers)
    onOver()
    return false
  }

  private var isEnded: Bool { state == .ending || state == .over }

  // MARK: - What is to be written

  /// The fleet's sends go before anything new, in the order in which they come here.
  func carry(_ found: [FleetFindings.Item]) {
    for item in calls.take(found) { queue.append(item) }
    flush()
  }

  /// All that the fleet had was carried: calls of hosts are taken from now on.
  func beginReading() { if state == .opening { state = .reading } }

  /// Whether one was taken in this conversation and has no outcome, by the name of its row.
  func hasTaken(_ name: String) -> Bool { carrier.hasTaken(name) }

  /// What a host says; `flush` writes it.
  func take(_ entry: FleetUpEntry) {
    guard entry.conversation == conversation, !isEnded else { return }
    noteLife(entry.life, of: entry.host)
    if callers.admits(entry) {
      queue.append(FleetCallQueue.Item(entry))
    } else if let number = callers.missing(before: entry, at: timers.now) {
      replies.tell(entry.host, .missing(from: number), life: entry.life)
    }
  }

  /// Hosts with a lower life say nothing that counts, and what waits of it is not written.
  func noteLife(_ life: UInt64, of host: String) {
    guard callers.note(life, of: host) else { return }
    let undone = calls.abandon(host)
    for item in undone { queue.append(item) }
    if !undone.isEmpty { lookLater(.zero) }
  }

  // MARK: - When it is written

  func mayWrite(until limit: MonotonicInstant?) {
    until = limit
    flush()
  }

  /// Nothing is written until `resume`.
  func pause() { pauses += 1 }

  func resume() {
    pauses -= 1
    flush()
  }

  /// Writes what waits, for as long as it may, and no more than a portion however often it is called in a turn. The clock is
  /// looked at before each, and once more before the system call.
  func flush() {
    writeOn()
    if isBusy { lookLater(.zero) }
  }

  /// Something waits here, or may not have reached the server's machine.
  private var isBusy: Bool { !isQuiet || !queue.isEmpty }

  /// A look that comes sooner anyway is not put off: others may ask for one again and again.
  private func lookLater(_ delay: Duration) {
    let due = timers.now + delay
    guard look.isLater(than: due) else { return }
    look.arm(at: due, timers) { [weak self] in self?.lookAgain(after: delay) }
  }

  private func lookAgain(after delay: Duration) {
    look.rang()
    guard !isEnded else { return }
    turn = FleetTurn()
    noteSeen()
    let isCutOff = writeOn()
    guard isBusy else { return }
    lookLater(isCutOff ? .zero : min(max(delay * 2, .milliseconds(1)), .milliseconds(10)))
  }

  private func noteSeen() {
    let noted = calls.noteSeen(atMost: turn.noteRoom)
    turn.note(noted)
    if turn.noteRoom == 0 { lookLater(.zero) }
  }

  /// Returns whether it stopped because the turn is over, and not because the link takes nothing more.
  @discardableResult
  private func writeOn() -> Bool {
    let wasFull = isFull
    defer { if wasFull, !isFull, isReading { onRoom() } }
    return writeOut()
  }

  private func writeOut() -> Bool {
    while let until, timers.now < until, pauses == 0, !isEnded, tap.unsentBytes < CommandFlow.byteLimit {
      guard let bytes = queue.firstByteCount else { return false }
      // A server that takes everything at once leaves nothing unsent, which would end a turn as well.
      guard turn.takes(bytes), let item = queue.popFirst() else { return true }
      if !callers.isOver(item.sender) { calls.perform(item) }
    }
    return false
  }

  // MARK: - What the server says

  /// Something about what was written for a host.
  func heard(reply call: FleetReplyEntry.Call) {
    // What it answers was written.
    noteSeen()
    calls.heard(reply: call)
  }

  /// It does not want an answer any more.
  func heard(withdrawal ack: UInt64) { calls.heard(withdrawal: ack) }

  /// It asks something. Returns the host that is to answer; nil where none can.
  func ask(_ id: UInt64, named name: String) -> String? { calls.ask(id, named: name) }

  // MARK: - The engine

  func engineLost() { replies.engineLost() }

  /// The term goes on at the engine that was reached again.
  func heal() { replies.heal() }
}
