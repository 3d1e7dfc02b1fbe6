import GatewayCore

/// When to try to reach the daemon again: soon at first, then less often, each time with some chance in it so that
/// the programs of one machine do not all come at once.
struct RetrySchedule: Equatable, Sendable {
  /// The next attempt.
  private(set) var next = Deadline.after(.zero)
  /// When to give up.
  private(set) var end: Deadline
  private let connectTimeout: Duration?
  private var pause = RetrySchedule.shortest
  /// What the daemon asked for when it said goodbye.
  private var announced: Duration?
  private let start = Clock.now

  private static let shortest = Duration.milliseconds(20)
  private static let longest = Duration.seconds(1)
  /// The longest that an announced return is waited for.
  private static let longestAnnouncement = Duration.seconds(60)

  init(connectTimeout: Duration?) {
    self.connectTimeout = connectTimeout
    end = .after(connectTimeout)
  }

  /// Attempts have failed for so long that the user may wonder.
  var isLong: Bool { Clock.now - start > .seconds(1) }

  /// The daemon will be back then.
  mutating func comeBack(in duration: Duration?) {
    announced = duration.map { min(max(.zero, $0), Self.longestAnnouncement) }
  }

  /// Begins with the attempts after a loss; `afterFailure` where the loss was itself an attempt that failed.
  mutating func begin(afterFailure: Bool) {
    if afterFailure { return postpone() }
    end = .after(connectTimeout)
    pause = Self.shortest
    next = .after((announced ?? .zero) + jittered(pause))
    announced = nil
  }

  /// After an attempt that failed.
  mutating func postpone() {
    next = .after(jittered(pause))
    pause = min(pause * 2, Self.longest)
  }

  private func jittered(_ duration: Duration) -> Duration {
    duration / 2 + .nanoseconds(Int64.random(in: 0...max(1, duration.nanoseconds / 2)))
  }
}
