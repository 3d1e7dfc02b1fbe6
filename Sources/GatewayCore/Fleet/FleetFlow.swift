/// Whether what is new is said to an engine at once, or waits until it has what was said before.
///
/// An engine that is reached again is told what it may have lost. One that has refused something, such as without room, is
/// asked with the first of that alone, now and then, and told the rest once it has taken it: all of it each time would be more
/// and more that it refuses. Thousands of calls are said one portion in each turn.
enum FleetFlow: Equatable, Sendable {
  /// It is said at once. May become `lost`, `refused` or, where some of what was said is to be said again, `repeating`.
  case open
  /// The engine is not reached, or was not told yet what it may have lost. May become `repeating` or, where that is nothing,
  /// `open`.
  case lost
  /// It is told what it may have lost, and behind that what is new meanwhile. May become `open`, `lost`, `refused`.
  case repeating
  /// The engine has refused something. May become `lost`, `repeating` or `open`.
  case refused
}
