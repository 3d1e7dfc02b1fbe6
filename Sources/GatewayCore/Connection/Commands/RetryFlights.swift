/// The commands with retries that were written and are not acknowledged: in each line at most as many as its window has
/// room for. Earlier tries count too: the acknowledgement of any of them is the command's. Decisions 0025 and 0045.
struct RetryFlights {
  struct Flight {
    let command: Command
    /// Acknowledgement ids of all tries on this link.
    var acks: [UInt64]
    /// When the newest try has waited long enough.
    var timer: Timers.ID?
  }

  private var flights: [ObjectIdentifier: Flight] = [:]
  private var counts: [UInt32: Int] = [:]
  private var flightOf: [UInt64: Command] = [:]

  var isEmpty: Bool { flights.isEmpty }
  var count: Int { flights.count }

  /// All of them, in no order.
  var commands: some Collection<Command> { flights.values.lazy.map(\.command) }

  /// How many of a line are under way.
  func count(inLine line: UInt32) -> Int { counts[line] ?? 0 }

  /// Whether a command is under way.
  func contains(_ command: Command) -> Bool { flights[ObjectIdentifier(command)] != nil }

  /// The command whose acknowledgement that is.
  func command(ofAck ack: UInt64) -> Command? { flightOf[ack] }

  /// The command is written for the first time on this link.
  mutating func begin(_ command: Command, ack: UInt64) {
    guard let line = command.retry?.line else { return }
    flights[ObjectIdentifier(command)] = Flight(command: command, acks: [])
    counts[line, default: 0] += 1
    repeated(command, ack: ack)
  }

  /// It is written once more.
  mutating func repeated(_ command: Command, ack: UInt64) {
    guard contains(command) else { return }
    command.retry?.writes += 1
    flights[ObjectIdentifier(command)]?.acks.append(ack)
    flightOf[ack] = command
  }

  mutating func setTimer(of command: Command, _ timer: Timers.ID) { flights[ObjectIdentifier(command)]?.timer = timer }

  /// Takes a command out.
  mutating func end(_ command: Command) -> Flight? {
    guard let flight = flights.removeValue(forKey: ObjectIdentifier(command)), let line = command.retry?.line else {
      return nil
    }
    let left = count(inLine: line) - 1
    counts[line] = left > 0 ? left : nil
    for ack in flight.acks { flightOf[ack] = nil }
    return flight
  }

  /// No acknowledgement can come any more: takes all out, in the order of their places.
  mutating func endOfLink() -> [Flight] {
    let ended = flights.values.sorted { ($0.command.place ?? 0) < ($1.command.place ?? 0) }
    self = RetryFlights()
    return ended
  }
}
