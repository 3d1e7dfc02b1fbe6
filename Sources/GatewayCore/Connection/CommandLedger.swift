/// Every command of one connection that has no outcome yet: those that queue until the connection is connected, and
/// those that were written and wait for the server's acknowledgement.
struct CommandLedger {
  private(set) var queue: CommandQueue
  /// By the acknowledgement id that was written with them.
  private var flights: [UInt64: Command] = [:]
  private var flightOf: [String: UInt64] = [:]
  private var deadlines: [String: Timers.ID] = [:]
  private var nextAck: UInt64 = 0
  /// The timer for the earliest time-to-live in the queue, and when it is due.
  var expiry: (timer: Timers.ID, due: MonotonicInstant)?
  /// What was written since the connection exists.
  private(set) var sentEvents: UInt64 = 0
  private(set) var sentBytes: UInt64 = 0

  init(limits: Limits) {
    queue = CommandQueue(countLimit: limits.sendQueue, byteLimit: limits.sendQueueBytes)
  }

  /// Nothing is queued and nothing is awaited.
  var isIdle: Bool { queue.isEmpty && flights.isEmpty }

  /// An acknowledgement is awaited.
  var isAwaiting: Bool { !flights.isEmpty }

  mutating func append(_ command: Command) throws(QueueFull) { try queue.append(command) }

  mutating func popFirst() -> Command? { queue.popFirst() }

  /// Takes a command out of the queue; nil when it is not there, because it was written, settled or never existed.
  mutating func takeBack(_ id: String) -> Command? { queue.remove(id: id) }

  mutating func expire(at now: MonotonicInstant) -> [Command] { queue.expire(now: now) }

  /// A command is about to be written: the acknowledgement id to write with it.
  mutating func written(_ command: Command) -> UInt64 {
    let ack = nextAck
    nextAck += 1
    // The message has left: only what its outcome needs is kept.
    var flying = command
    flying.message = PreparedMessage(event: command.message.event, body: [])
    flights[ack] = flying
    flightOf[command.id] = ack
    return ack
  }

  /// The server acknowledged; nil for an id that nobody waits for.
  mutating func acknowledged(_ ack: UInt64) -> Command? {
    guard let command = flights.removeValue(forKey: ack) else { return nil }
    flightOf[command.id] = nil
    return command
  }

  /// Gives up waiting for a written command.
  mutating func forget(_ id: String) -> (command: Command, ack: UInt64)? {
    guard let ack = flightOf.removeValue(forKey: id), let command = flights.removeValue(forKey: ack) else { return nil }
    return (command, ack)
  }

  /// The link is gone: the commands whose acknowledgement cannot come any more, oldest first.
  mutating func endOfLink() -> [Command] {
    let lost = flights.sorted { $0.key < $1.key }.map(\.value)
    flights.removeAll()
    flightOf.removeAll()
    return lost
  }

  /// An attempt failed: the queued commands that do not stay. Without a queue of their own they leave at once; if the
  /// server refused, so do those that somebody waits for.
  mutating func failed(refused: Bool) -> [Command] {
    queue.commands.filter { $0.noQueue || (refused && $0.owner != .none) }.compactMap { queue.remove(id: $0.id) }
  }

  /// Takes everything out of the queue, in order.
  mutating func takeAll() -> [Command] { queue.removeAll() }

  mutating func adopt(_ limits: Limits) {
    queue.countLimit = limits.sendQueue
    queue.byteLimit = limits.sendQueueBytes
  }

  mutating func noteOutgoing(_ message: PreparedMessage) {
    sentEvents += 1
    sentBytes += UInt64(message.byteCount)
  }

  func hasDeadline(_ id: String) -> Bool { deadlines[id] != nil }
  mutating func setDeadline(of id: String, _ timer: Timers.ID) { deadlines[id] = timer }
  mutating func removeDeadline(of id: String) -> Timers.ID? { deadlines.removeValue(forKey: id) }
}
