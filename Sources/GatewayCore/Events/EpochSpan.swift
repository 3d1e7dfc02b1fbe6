/// One epoch in a history: which numbers are its own. A later epoch begins where the one before it ends, or above.
struct EpochSpan: Equatable, Sendable {
  let epoch: String
  /// The number of the last event before it.
  let start: UInt64
  /// How many events the history had been given, in all its life, when it began.
  let place: UInt64
}
