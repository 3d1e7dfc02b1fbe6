/// `heartbeat = { … }`: how often a server is asked for a sign of life by a kind that has no rule of its own for it.
public struct HeartbeatSettings: Hashable, Sendable {
  /// From one question to the next.
  var interval: Duration
  /// How long a question may stay unanswered while nothing else comes either.
  public var timeout: Duration

  init(interval: Duration = .seconds(25), timeout: Duration = .seconds(20)) {
    self.interval = interval
    self.timeout = timeout
  }
}
