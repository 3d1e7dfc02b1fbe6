@testable import GatewayCore

/// Clocks that stand still until a test moves them.
final class FakeTime: TimeSource {
  var now: MonotonicInstant
  var wallMilliseconds: Int64

  init(
    now: MonotonicInstant = MonotonicInstant(nanoseconds: 1_000_000_000_000),
    wallMilliseconds: Int64 = 1_795_000_000_000
  ) {
    self.now = now
    self.wallMilliseconds = wallMilliseconds
  }

  /// Moves both clocks.
  func advance(by duration: Duration) {
    now = now + duration
    wallMilliseconds += duration.milliseconds
  }
}

extension MonotonicInstant {
  /// For "so long ago".
  static func - (instant: Self, duration: Duration) -> Self { instant + (.zero - duration) }
}
