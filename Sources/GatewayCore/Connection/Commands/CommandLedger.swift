/// Every command of one connection that has no outcome yet: those that queue until the connection is connected, and
/// those that were written and wait for the server's acknowledgement.
struct CommandLedger {
  private(set) var queue: CommandQueue
  /// Those that wait for an acknowledgement.
  private(set) var flights = Flights()
  /// When the callers give up.
  var deadlines = CommandDeadlines()
  /// Rings at the earliest time-to-live in the queue.
  var expiry = EarliestTimer()
  /// What was written since the connection exists.
  private(set) var sentEvents: UInt64 = 0
  private(set) var sentBytes: UInt64 = 0
  /// How long the server took to answer what it answered, from the last write.
  var latencies = DurationHistogram()

  init(limits: Limits, memory: SharedMemoryHold? = nil) {
    queue = CommandQueue(countLimit: limits.sendQueue, byteLimit: limits.sendQueueBytes)
    queue.memory = memory
  }

  /// The suspected command that was written while nothing else was under way.
  private(set) var trial: Command?
  /// The timer at which it is looked for the moment of one.
  var trialTimer: Timers.ID?

  /// Nothing is queued and nothing is awaited.
  var isIdle: Bool { queue.isEmpty && flights.isEmpty && handedOver.isEmpty }

  /// Commands without an outcome.
  var count: Int { queue.count + flights.count + handedOver.count }

  /// Nothing is under way, and what is still queued is suspected or stands in a line behind what is. Only to be asked
  /// while connected.
  var isQuiet: Bool {
    !isAwaiting && handedOver.isEmpty && !flow.isPaused && !awaitsEarlier && queue.firstUncommitted == nil
  }

  /// What is under way and will be written again if the link breaks.
  var repeatable: [Command] { flights.retries + (leaving == nil ? handedOver.filter(\.isStored) : []) }

  /// The one that was tried alone, if it still is under way; it is forgotten.
  mutating func takeTrial() -> Command? {
    defer { trial = nil }
    return trial.flatMap { $0.isTried || $0.isHandedOver ? $0 : nil }
  }

  /// Takes out the suspected command whose moment has come.
  mutating func takeSuspect(at now: MonotonicInstant, window: Int, isAlone: Bool) -> Command? {
    guard !awaitsEarlier else { return nil }
    let command = queue.suspects.first { command in
      guard let due = command.suspicion.due, due + (isAlone ? .zero : Suspicion.patience) <= now else { return false }
      guard let line = command.retry?.line else { return true }
      return queue.firstPlace(inLine: line) == command.place && flights.count(inLine: line) < window
    }
    if isAlone { trial = command }
    return command.flatMap { queue.remove($0) }
  }

  /// Takes out what is under way with retries, or perhaps not with the kernel, and has a part that the server refuses as
  /// too large, and the timers of these.
  mutating func takeAll(
    tooLargeFor refused: MessageSize
  ) -> (commands: [(command: Command, problem: MessageProblem)], timers: [Timers.ID]) {
    var taken: [(Command, MessageProblem)] = []
    var timers: [Timers.ID] = []
    for command in repeatable {
      guard let problem = refused.problem(with: MessageSize(command.message)) else { continue }
      if let timer = flights.end(command)?.timer { timers.append(timer) }
      command.stage = .apart
      taken.append((command, problem))
    }
    handedOver.removeAll { !$0.isHandedOver }
    return (taken, timers)
  }

  /// Whether the server may have meant something without retries. Very many are not looked at: one of them it will be.
  func mayHaveLost(_ refused: MessageSize) -> Bool {
    guard flights.otherCount <= Endings.portion else { return true }
    return flights.others.contains { $0.flight.flatMap { refused.problem(with: $0.size) } != nil }
  }

  /// An acknowledgement is awaited.
  var isAwaiting: Bool { !flights.isEmpty }

  /// Queues a command and returns the one whose place it takes, if any.
  mutating func append(_ command: Command) throws(SubmissionProblem) -> Command? { try queue.append(command) }

  /// Commands of the outbox that were written, but perhaps only into our own buffer: they are sent when the kernel has
  /// taken everything, and queue again if the link breaks before. On a channel with confirmations all that want no
  /// acknowledgement.
  private(set) var handedOver: [Command] = []
  /// The timer at which it is looked whether the kernel has.
  var handOverLook: Timers.ID?
  /// The link that all of these were written to, where it was closed and may still write them.
  struct Leaving {
    /// How far it comes.
    let progress: any WriteProgress
    /// It is waited for no longer.
    let until: MonotonicInstant

    func isOver(at now: MonotonicInstant) -> Bool { progress.isOver || now >= until }
  }

  /// Until it is known how far it comes nothing else flows.
  private(set) var leaving: Leaving?

  /// The link is closed, and may still write what was handed over. A link that others share goes on, and its server may
  /// take nothing for long.
  mutating func beginLeaving(by progress: any WriteProgress, until: MonotonicInstant) {
    // What an earlier link may still write is all there is then.
    guard leaving == nil, !handedOver.isEmpty else { return }
    leaving = Leaving(progress: progress, until: until)
    trial = nil
  }

  /// It is known of everything whether it was written; what was not queues again where it stood. Returns that.
  mutating func endLeaving() -> [Command] {
    guard leaving != nil else { return [] }
    leaving = nil
    let left = takeHandedOver()
    queue.putBack(left)
    return left
  }

  mutating func handOver(_ command: Command, number: UInt64) {
    // It may come back to the queue.
    if command.place == nil { command.place = queue.makePlace() }
    command.stage = .handedOver(number)
    handedOver.append(command)
  }

  /// The kernel has taken everything.
  mutating func takeHandedOver() -> [Command] {
    var taken: [Command] = []
    // As many will come again.
    taken.reserveCapacity(handedOver.count)
    swap(&taken, &handedOver)
    for command in taken { command.stage = .apart }
    return taken
  }

  /// What was written is confirmed up to a number.
  mutating func takeHandedOver(upTo number: UInt64) -> [Command] {
    let end = handedOver.firstIndex { if case .handedOver(let own) = $0.stage { own > number } else { false } }
    let taken = Array(handedOver[..<(end ?? handedOver.count)])
    handedOver.removeFirst(taken.count)
    for command in taken { command.stage = .apart }
    return taken
  }

  /// Takes out the one that was handed over under a number.
  mutating func takeHandedOver(_ number: UInt64) -> Command? {
    let place = handedOver.firstIndex { if case .handedOver(number) = $0.stage { true } else { false } }
    guard let command = place.map({ handedOver.remove(at: $0) }) else { return nil }
    command.stage = .apart
    return command
  }

  /// Nothing of what was handed over was written: it queues again where it stood. Returns what may not wait for another
  /// link.
  mutating func requeueHandedOver() -> [Command] {
    let taken = takeHandedOver()
    queue.putBack(taken.filter { !$0.noQueue })
    return taken.filter(\.noQueue)
  }

  /// Takes out what was handed over and is not written again: whether it has arrived is unknown.
  mutating func takeUnconfirmed() -> [Command] {
    guard handedOver.contains(where: { !$0.isStored }) else { return [] }
    let taken = handedOver.filter { !$0.isStored }
    handedOver.removeAll { !$0.isStored }
    for command in taken { command.stage = .apart }
    return taken
  }

  /// The flow of the queue to the present link.
  var flow = CommandFlow()
  /// Commands that were accepted earlier are going to join the queue.
  var awaitsRestored = false
  /// Nothing flows: what was accepted earlier is going to join the queue, or may come back to it.
  var awaitsEarlier: Bool { awaitsRestored || leaving != nil }

  /// Whether a new command must not be written past what is queued: something waits for its pace, or for the disk.
  /// `mutating` for the same reason as `nextToFlow`.
  mutating func holds(_ command: Command) -> Bool {
    flow.isPaused || awaitsEarlier || (queue.firstUncommitted != nil && !queue.lets(pass: command))
  }

  /// Whether neither the disk nor the pace holds up what stands at a place.
  private func mayFlow(_ place: UInt64) -> Bool {
    !awaitsEarlier && place < (queue.firstUncommitted ?? UInt64.max) && (!flow.isPaused || place < flow.next)
  }

  /// What may hold up a queued command while the link is open, beside what stands before it in its line of retries.
  enum Hold {
    /// Commands that were accepted earlier are going to join the queue.
    case earlier
    /// What was accepted before it is not on the disk yet.
    case disk
    /// What was sent before it has not left.
    case pace
  }

  /// What holds up a queued command, for who is told why it was not written.
  func hold(of command: Command) -> Hold? {
    guard !awaitsRestored else { return .earlier }
    guard leaving == nil else { return .pace }
    guard let place = command.place else { return nil }
    if let first = queue.firstUncommitted, place > first { return .disk }
    return flow.isPaused && place >= flow.next ? .pace : nil
  }

  /// The place from which the queue flows on; nil where nothing stands that the disk has, or what is earlier is awaited.
  /// `mutating`, so that nothing is copied for the question.
  var nextToFlow: UInt64? {
    mutating get {
      let end = queue.firstUncommitted ?? .max
      guard !awaitsEarlier, flow.next < end, let place = queue.nextPlace(from: flow.next) else { return nil }
      return place < end ? place : nil
    }
  }

  /// A link opened: everything that is queued is offered to it.
  mutating func beginFlow(rate: Int?, now: MonotonicInstant) {
    flow = CommandFlow(backlogEnd: queue.endPlace, rate: rate, began: now)
  }

  /// Takes what is on disk now off the brake. Returns whether it is queued, and what it replaces by its `coalescing`.
  mutating func committed(_ command: Command) -> (isQueued: Bool, replaced: Command?) { queue.commit(command) }

  /// Puts commands that were accepted before, in order, behind those that were accepted before them, whatever the
  /// limits say. Returns how many there were behind which they could not be put at once.
  mutating func restore(_ commands: some Collection<Command>) -> Int {
    let later = commands.first.map { queue.takeAll(behind: $0.number) } ?? []
    let ordered = later.isEmpty ? Array(commands) : (commands + later).sorted { $0.number < $1.number }
    for command in ordered { queue.putBack(command) }
    return later.count
  }

  /// Takes out what stands at a place of the queue, unless the window of its line is full.
  mutating func takeFree(at place: UInt64, window: Int) -> Command? {
    guard queue.mayPassSuspects(place) else { return nil }
    guard flights.hasRetries else { return queue.take(at: place) }
    if let line = queue.command(at: place)?.retry?.line, flights.count(inLine: line) >= window { return nil }
    return queue.take(at: place)
  }

  /// Takes the next command of a line out of the queue, unless its window is full.
  mutating func takeNext(ofLine line: UInt32, window: Int) -> Command? {
    guard flights.count(inLine: line) < window, let place = queue.firstPlace(inLine: line), mayFlow(place),
      queue.mayPassSuspects(place)
    else { return nil }
    return queue.take(at: place)
  }

  /// What stands first in a line is to flow once more: it was passed when the window was full.
  mutating func flowAgain(fromLine line: UInt32) {
    if let place = queue.firstPlace(inLine: line) { flow.next = min(flow.next, place) }
  }

  /// Whether a new command of a line has to wait for its turn.
  func mustWait(inLine line: UInt32, window: Int) -> Bool {
    flights.count(inLine: line) >= window || queue.firstPlace(inLine: line) != nil
  }

  /// Takes a command out of the queue. False when it is not there, because it was written or settled.
  mutating func takeBack(_ command: Command) -> Bool { queue.remove(command) != nil }

  mutating func expire(at now: MonotonicInstant, limit: Int) -> [Command] { queue.expire(now: now, limit: limit) }

  /// When `expire` has something to do next; nil when nothing queued ever expires.
  var nextExpiry: MonotonicInstant? { mutating get { queue.nextExpiry } }

  /// A command is about to be written, or written once more: the acknowledgement id to write with it.
  mutating func written(_ command: Command, at now: MonotonicInstant) -> UInt64 {
    // One with retries may come back to the queue.
    if command.retry != nil, command.place == nil { command.place = queue.makePlace() }
    return flights.begin(command, at: now)
  }

  /// An acknowledgement id for what is written beside the commands.
  mutating func makeAck() -> UInt64 { flights.makeAck() }

  /// What ends the waiting for the newest write of a command with retries.
  func setAckTimer(of command: Command, _ timer: Timers.ID) {
    guard var flight = command.flight else { return }
    flight.timer = timer
    command.stage = .underWay(flight)
  }

  /// The link is gone: the commands with retries that were under way, in order, and what may be written again queues at
  /// its old place. Returns their timers, and the commands that had their last try.
  mutating func requeueRetries(_ requeued: (Command) -> Void) -> (timers: [Timers.ID], exhausted: [Command]) {
    let tried = flights.retries.sorted { ($0.place ?? 0) < ($1.place ?? 0) }
    let timers = tried.compactMap { flights.end($0)?.timer }
    let again = tried.filter { $0.retry?.mayWrite == true }
    queue.putBack(again)
    for command in again where command.isStored { requeued(command) }
    return (timers, tried.filter { $0.retry?.mayWrite != true })
  }

  /// The written command that waits for an acknowledgement; nil for an id that is not awaited.
  func command(awaiting ack: UInt64) -> Command? { flights[ack] }

  /// Takes a command out of what is under way: it is acknowledged, or its caller does not wait any more. Nil if it is
  /// not there.
  mutating func land(_ command: Command) -> Command.Flight? { flights.end(command) }

  /// The link is gone: the commands whose acknowledgement cannot come any more.
  mutating func endOfLink() -> LostFlights {
    if leaving == nil { queue.putBack(takeHandedOver()) }
    return flights.takeOthers()
  }

  /// Whether the end of a command that was under way has come with its link, and is only told later.
  func isLost(_ command: Command) -> Bool { command.flight.map { flights[$0.ack] != command } ?? false }

  /// An attempt failed: looks for the next queued command that does not stay. Without a queue of their own they leave at
  /// once; if the server refused, so do those that a call waits for.
  mutating func takeNext(of failed: inout CommandQueue.Failed) -> Command? { queue.takeNext(of: &failed) }

  /// Takes everything out of the queue, in order.
  mutating func takeAll() -> [Command] { queue.removeAll() }

  mutating func adopt(_ limits: Limits) {
    queue.adopt(countLimit: limits.sendQueue, byteLimit: limits.sendQueueBytes)
  }

  mutating func noteOutgoing(_ bytes: Int) {
    sentEvents += 1
    sentBytes += UInt64(bytes)
  }
}
