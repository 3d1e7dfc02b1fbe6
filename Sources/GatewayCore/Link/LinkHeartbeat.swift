/// When the server is asked for a sign of life, and when its silence means that it is gone. Decision 0023.
struct LinkHeartbeat: Equatable, Sendable {
  /// What a due timer asks for.
  enum Verdict: Equatable, Sendable {
    case wait(Duration)
    case ask(then: Duration)
    case silent
  }

  let settings: HeartbeatSettings
  /// When to ask next.
  private(set) var next: MonotonicInstant
  /// When the oldest question was asked since which nothing at all has come.
  private var unanswered: MonotonicInstant?

  init(_ settings: HeartbeatSettings, at now: MonotonicInstant) {
    self.settings = settings
    next = now + settings.interval
  }

  /// When the server, too, must take us for gone if it is as strict as we are.
  var deadline: MonotonicInstant { unanswered.map { $0 + settings.timeout } ?? next + settings.timeout }

  /// When to look again at the latest.
  func timeLeft(at now: MonotonicInstant) -> Duration {
    let left = unanswered.map { min(next, $0 + settings.timeout) } ?? next
    return max(left - now, .zero)
  }

  /// Anything came: the server lives.
  mutating func heard() { unanswered = nil }

  /// Judges the time, and notes the question that it asks for.
  mutating func judge(at now: MonotonicInstant) -> Verdict {
    if let unanswered, unanswered + settings.timeout <= now { return .silent }
    guard next <= now else { return .wait(timeLeft(at: now)) }
    next = now + settings.interval
    unanswered = unanswered ?? now
    return .ask(then: timeLeft(at: now))
  }
}
