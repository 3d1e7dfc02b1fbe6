/// Commands without retries that were under way when their link ended, taken out of `Flights` in one go, however many
/// they are: of each only the number is looked at. What became of them is still to be told.
final class LostFlights {
  private var commands: NumberTable<Command>
  private var acks = Heap<UInt64>()

  init(_ commands: consuming NumberTable<Command>) {
    for ack in commands.allKeys { acks.push(ack) }
    self.commands = commands
  }

  /// How many have not been taken out, those included whose callers do not wait any more.
  var count: Int { acks.count }

  /// Takes out the one that was written first, with its size; nil where its caller does not wait for it any more.
  func popFirst() -> (command: Command, size: MessageSize)? {
    guard let ack = acks.first else { return nil }
    acks.removeFirst()
    guard let command = commands.removeValue(forKey: ack), let flight = command.flight, flight.ack == ack else {
      return nil
    }
    command.stage = .apart
    return (command, flight.size)
  }
}
