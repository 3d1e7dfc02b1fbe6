/// `history = { … }`: how much of what a connection received is kept for subscribers that come back. Whichever bound is
/// met first counts; the oldest goes.
public struct HistorySettings: Hashable, Sendable {
  /// Most events; 0 keeps none.
  public var events = 1_000
  /// Most bytes of their notifications.
  public var bytes = 4 << 20
  /// How long an event is kept.
  public var age: Duration = .seconds(600)
  /// Whether the events of a configured upstream, their numbers and their epoch outlive the daemon.
  public var disk = false
  public init() {}
}

extension Setting<HistorySettings> {
  /// `history = { … }`.
  static var declared: [Self] {
    [
      Setting(
        "events", \.events, .count(0...1_000_000),
        "Most received events that are kept for subscribers that come back; the oldest goes. 0 keeps none."),
      Setting(
        "bytes", \.bytes, .size((1 << 10)...(1 << 30)),
        "Most bytes of them, as they are delivered; the oldest goes."),
      Setting(
        "age", \.age, .duration(milliseconds: 100...31_536_000_000), "How long an event is kept."),
      Setting(
        "disk", \.disk, .flag,
        "Keep them in the state folder as well, so that events, numbers and epoch outlive a restart or a crash of the daemon? Of configured upstreams only."
      ),
    ]
  }
}
