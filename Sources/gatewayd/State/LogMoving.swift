import GatewayCore

/// When a write-ahead log that is long enough moves to its file. After a failure that is tried again in `firstPause`, and
/// each time in twice as long, up to `longestPause`; until then the log grows, as far as the disk has room. Nothing of it
/// is lost meanwhile.
struct LogMoving {
  static let firstPause: Duration = .seconds(1)
  static let longestPause: Duration = .seconds(64)

  private var pause: Duration?
  private var next = MonotonicInstant(nanoseconds: .min)

  /// Whether it is time for another attempt.
  func isDue(at now: MonotonicInstant) -> Bool { now >= next }

  /// The outcome of an attempt. Returns whether it is worth a word: the first failure, or the end of a series of them.
  mutating func ended(_ isMoved: Bool, at now: MonotonicInstant) -> Bool {
    let wasFailing = pause != nil
    guard !isMoved else {
      self = LogMoving()
      return wasFailing
    }
    let longer = min(pause.map { $0 * 2 } ?? Self.firstPause, Self.longestPause)
    pause = longer
    next = now + longer
    return !wasFailing
  }
}
