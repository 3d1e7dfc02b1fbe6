/// The commands that were written and wait for the server's acknowledgement, by the ids that were written with them.
/// One with retries may be written several times on a link: the acknowledgement of any of its writes is the command's.
/// In each line of retries at most as many are under way as its window has room for. One owner: a copy would share the
/// commands, which know whether they are under way. Decisions 0025 and 0045.
struct Flights {
  private var commands = NumberTable<Command>()
  /// Those with retries.
  private var retried = NumberTable<Command>()
  /// How many commands with retries are under way, by their lines.
  private var lines: [UInt32: Int] = [:]
  private(set) var count = 0
  private var nextAck: UInt64 = 0

  var isEmpty: Bool { count == 0 }
  /// Whether one with retries is under way.
  var hasRetries: Bool { !lines.isEmpty }

  /// The command whose acknowledgement that is; nil for an id that is not awaited.
  subscript(ack: UInt64) -> Command? { commands[ack] ?? retried[ack] }

  /// How many of a line are under way.
  func count(inLine line: UInt32) -> Int { lines[line] ?? 0 }

  /// Those with retries, in the order in which they were written.
  var retries: [Command] {
    guard !lines.isEmpty else { return [] }
    return retried.pairs.filter { $0.value.flight?.ack == $0.key }.sorted { $0.key < $1.key }.map(\.value)
  }

  /// How many have none, and some of them, in no order.
  var otherCount: Int { commands.count }
  var others: some Sequence<Command> { commands.values }

  /// Takes out those without retries: their acknowledgements cannot come any more.
  mutating func takeOthers() -> LostFlights {
    count -= commands.count
    let others = commands
    commands = NumberTable()
    return LostFlights(others)
  }

  /// An id that no command has.
  mutating func makeAck() -> UInt64 {
    defer { nextAck += 1 }
    return nextAck
  }

  /// A command is written, or written once more: the id to write with it.
  mutating func begin(_ command: Command, at now: MonotonicInstant) -> UInt64 {
    let ack = makeAck()
    guard let line = command.retry?.line else {
      commands[ack] = command
      command.stage = .underWay(Command.Flight(command, ack, at: now))
      count += 1
      return ack
    }
    retried[ack] = command
    command.retry?.writes += 1
    if var flight = command.flight {
      flight.addWrite(ack, at: now)
      command.stage = .underWay(flight)
    } else {
      command.stage = .underWay(Command.Flight(command, ack, at: now))
      count += 1
      lines[line, default: 0] += 1
    }
    return ack
  }

  /// Takes a command out; nil if it is not under way. One that was lost with its link is under way until it has ended.
  mutating func end(_ command: Command) -> Command.Flight? {
    guard let flight = command.flight else { return nil }
    command.stage = .apart
    guard let line = command.retry?.line else {
      if commands.removeValue(forKey: flight.ack) != nil { count -= 1 }
      return flight
    }
    count -= 1
    for ack in flight.acks { retried.removeValue(forKey: ack) }
    let left = count(inLine: line) - 1
    lines[line] = left > 0 ? left : nil
    return flight
  }
}
