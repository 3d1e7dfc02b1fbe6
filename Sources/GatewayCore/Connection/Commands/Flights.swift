/// The commands that were written and wait for the server's acknowledgement, by the ids that were written with them.
/// One with retries may be written several times on a link: the acknowledgement of any of its writes is the command's.
/// In each line of retries at most as many are under way as its window has room for. One owner: a copy would share the
/// commands, which know whether they are under way. Decisions 0025 and 0045.
struct Flights {
  private var commands = NumberTable<Command>()
  /// How many commands with retries are under way, by their lines.
  private var lines: [UInt32: Int] = [:]
  private(set) var count = 0
  private var nextAck: UInt64 = 0

  var isEmpty: Bool { count == 0 }
  /// Whether one with retries is under way.
  var hasRetries: Bool { !lines.isEmpty }

  /// The command whose acknowledgement that is; nil for an id that is not awaited.
  subscript(ack: UInt64) -> Command? { commands[ack] }

  /// How many of a line are under way.
  func count(inLine line: UInt32) -> Int { lines[line] ?? 0 }

  /// Those with retries, in the order in which they were written.
  var retries: [Command] { lines.isEmpty ? [] : sorted { $0.retry != nil } }

  /// Those without.
  var others: [Command] { sorted { $0.retry == nil } }

  private func sorted(where isMeant: (Command) -> Bool) -> [Command] {
    let meant = commands.pairs.filter { $0.value.flight?.ack == $0.key && isMeant($0.value) }
    return meant.sorted { $0.key < $1.key }.map(\.value)
  }

  /// An id that no command has.
  mutating func makeAck() -> UInt64 {
    defer { nextAck += 1 }
    return nextAck
  }

  /// A command is written, or written once more: the id to write with it.
  mutating func begin(_ command: Command) -> UInt64 {
    let ack = makeAck()
    commands[ack] = command
    command.retry?.writes += 1
    if var flight = command.flight {
      flight.again.append(ack)
      command.stage = .underWay(flight)
    } else {
      command.stage = .underWay(Command.Flight(ack: ack))
      count += 1
      if let line = command.retry?.line { lines[line, default: 0] += 1 }
    }
    return ack
  }

  /// Takes a command out; nil if it is not under way.
  mutating func end(_ command: Command) -> Command.Flight? {
    guard let flight = command.flight else { return nil }
    command.stage = .apart
    count -= 1
    for ack in flight.acks { commands.removeValue(forKey: ack) }
    if let line = command.retry?.line {
      let left = count(inLine: line) - 1
      lines[line] = left > 0 ? left : nil
    }
    return flight
  }
}
