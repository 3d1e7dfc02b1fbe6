/// What every connection needs of its surroundings.
struct ConnectionContext {
  let time: any TimeSource
  let timers: Timers
  let random: any RandomSource
  let outputs: ClientOutputs
  /// One for all connections: the tokens of `respond` are unique in the daemon.
  let tokens: TokenCounter
  let keeper = Keeper()
  /// One for all connections.
  let budget: AttemptBudget
  /// Nil: nothing is known of the network, and every upstream counts as reachable.
  let network: (any NetworkObserver)?
  /// One for all connections.
  let histories: HistoryPlaces
  /// One for all connections.
  let memory: MemoryBudgets
  /// One for all connections.
  let work: MatchingCost
  /// One for all connections.
  let sliced: SlicedWork
  /// One for all connections.
  let filters: FilterShares
  /// With which events the configuration in force lets a user do something at a place.
  let permit: (AccessVerb, AccessPlace, AccessIdentity) -> EventPermit
  var limits: Limits
}

/// Numbers the acknowledgement tokens.
final class TokenCounter {
  private(set) var last: UInt64 = 0

  func next() -> String {
    last += 1
    return "a\(last)"
  }

  /// Gives out none again that an earlier daemon gave out.
  func goOn(behind last: UInt64) { self.last = max(self.last, last) }
}

/// What a connection tells the gateway. What is long and rare stands apart.
enum ConnectionReport {
  case moved(from: ConnectionState, to: ConnectionState)
  /// It left the pool for good.
  case released
  /// A command has its outcome.
  case settled(Command, CommandOutcome)
  /// The daemon ends before a command could be written, or, with retries, written once more: the outbox may keep it.
  /// Where it cannot, it is to be settled for that reason.
  indirect case leftOver(Command, UpstreamFailure)
  /// A part of the answer to a command has come.
  case progressed(Command, RemoteAnswer)
  /// The server does not let us have what local programs subscribe to.
  indirect case refusedInterest(Wanted, UpstreamFailure)
  /// A command of the outbox may not be written now, because its sender has lost the right to.
  case withheld(Command)
  /// A command of the outbox was written and waits for another try.
  case tried(Command)
  /// A command of the outbox waits again after all: its link was closed before the kernel had taken it.
  case returned(Command)
  /// An order contradicted the table of states: a mistake of ours, to be logged.
  indirect case illegal(IllegalTransition)
}
