import GatewayCore

/// How long one source's input is acted upon: to the limit, or until another source is waiting. Asking costs a system
/// call, so it is asked after `firstStep` and then after every `nextStep`. All in nanoseconds: it is looked at every
/// few messages, and `Duration` has 128 bits. Decision 0064.
struct TimeSlice {
  /// What is shorter than this is not worth asking.
  private static let firstStep: Int64 = 10_000
  /// A source that was not interrupted by then is probably alone.
  private static let nextStep: Int64 = 20_000

  private let start: Int64
  private let end: Int64
  /// When it is asked the next time; nil right after it was: how long that took does not count.
  private var look: Int64?
  /// It was found to be over, and is so from then on.
  private(set) var hasEnded = false

  /// Without a limit it ends only when another source is waiting.
  init(at now: MonotonicInstant, limit: Duration? = nil) {
    self.init(at: now, nanoseconds: limit?.nanoseconds ?? .max)
  }

  /// The same with a limit in nanoseconds.
  init(at now: MonotonicInstant, nanoseconds limit: Int64) {
    start = now.nanoseconds
    let (end, isEndless) = start.addingReportingOverflow(limit)
    self.end = isEndless ? .max : end
    look = start &+ Self.firstStep
  }

  /// To be asked after each piece of work. Others have to wait for `least`, in nanoseconds, in any case.
  mutating func isOver(
    at now: MonotonicInstant, least: @autoclosure () -> Int64 = 0, _ isAnyoneWaiting: () -> Bool
  ) -> Bool {
    let now = now.nanoseconds
    if hasEnded || now >= end {
      hasEnded = true
      return true
    }
    guard let look else {
      look = now &+ Self.nextStep
      return false
    }
    guard now >= look, now &- start >= least() else { return false }
    self.look = nil
    hasEnded = isAnyoneWaiting()
    return hasEnded
  }
}
