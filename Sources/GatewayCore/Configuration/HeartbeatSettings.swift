/// `heartbeat = { … }`: how often a server is asked for a sign of life by a kind that has no rule of its own for it.
public struct HeartbeatSettings: Hashable, Sendable {
  /// From one question to the next.
  public var interval: Duration
  /// How long a question may stay unanswered while nothing else comes either.
  public var timeout: Duration

  public init(interval: Duration = .seconds(25), timeout: Duration = .seconds(20)) {
    self.interval = interval
    self.timeout = timeout
  }
}

extension Setting<HeartbeatSettings> {
  /// `heartbeat = { … }`.
  static var declared: [Self] {
    [
      Setting(
        "interval", \.interval, .duration(milliseconds: 100...86_400_000),
        "How often a server whose protocol has no heartbeat is asked for a sign of life, by a WebSocket ping."),
      Setting(
        "timeout", \.timeout, .duration(milliseconds: 100...86_400_000),
        "How long such a question may stay unanswered while nothing else comes either. Then the link is lost with `heartbeat`."
      ),
    ]
  }
}
