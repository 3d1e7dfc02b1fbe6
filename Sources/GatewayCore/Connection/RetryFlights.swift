/// The commands with retries that were written and are not acknowledged: one in each line. Earlier tries count too: the
/// acknowledgement of any of them is the command's.
struct RetryFlights {
  struct Flight {
    var command: Command
    /// Acknowledgement ids of all tries on this link.
    var acks: [UInt64]
    /// When the newest try has waited long enough.
    var timer: Timers.ID?
  }

  private var flights: [UInt32: Flight] = [:]
  private var lines: [String: UInt32] = [:]
  private var linesOfAcks: [UInt64: UInt32] = [:]

  var isEmpty: Bool { flights.isEmpty }
  var count: Int { flights.count }

  func isUnderWay(_ line: UInt32) -> Bool { flights[line] != nil }

  /// The line in which a command is under way; nil when it is not.
  func line(of id: String) -> UInt32? { lines[id] }

  /// The line in which an acknowledgement is awaited.
  func line(ofAck ack: UInt64) -> UInt32? { linesOfAcks[ack] }

  /// What is under way in a line.
  func command(inLine line: UInt32) -> Command? { flights[line]?.command }

  /// The command is written for the first time on this link. Its line must be free.
  mutating func begin(_ command: Command, ack: UInt64) {
    guard let line = command.retry?.line else { return }
    flights[line] = Flight(command: command, acks: [])
    lines[command.id] = line
    repeated(line, ack: ack)
  }

  /// It is written once more.
  mutating func repeated(_ line: UInt32, ack: UInt64) {
    flights[line]?.command.retry?.writes += 1
    flights[line]?.acks.append(ack)
    linesOfAcks[ack] = line
  }

  mutating func setTimer(of line: UInt32, _ timer: Timers.ID) { flights[line]?.timer = timer }

  /// Takes a line's command out.
  mutating func end(_ line: UInt32) -> Flight? {
    guard let flight = flights.removeValue(forKey: line) else { return nil }
    lines[flight.command.id] = nil
    for ack in flight.acks { linesOfAcks[ack] = nil }
    return flight
  }

  /// No acknowledgement can come any more: takes all out, in the order of their places.
  mutating func endOfLink() -> [Flight] {
    let ended = flights.values.sorted { ($0.command.place ?? 0) < ($1.command.place ?? 0) }
    self = RetryFlights()
    return ended
  }
}
