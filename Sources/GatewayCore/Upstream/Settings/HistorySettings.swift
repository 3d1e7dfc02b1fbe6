/// `history = { … }`: how much of what a connection received is kept for subscribers that come back. Whichever bound is
/// met first counts; the oldest goes.
public struct HistorySettings: Hashable, Sendable {
  /// Most events; 0 keeps none.
  public var events = 1_000
  /// Most bytes of their notifications.
  public var bytes = 4 << 20
  /// How long an event is kept.
  var age: Duration = .seconds(600)
  /// Whether the events of a configured upstream, their numbers and their epoch outlive the daemon.
  public var disk = false
  init() {}
}
