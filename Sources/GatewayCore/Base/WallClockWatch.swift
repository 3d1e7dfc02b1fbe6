/// Notices that the local wall clock was set: it moves against the monotonic one, which nobody sets, and which goes on while
/// the machine sleeps.
struct WallClockWatch: Equatable, Sendable {
  /// Smaller steps are taken together until they are worth the trouble, in milliseconds.
  static let threshold: Int64 = 1_000

  /// The wall clock minus the monotonic one, in milliseconds.
  private var lead: Int64

  init(wall: Int64, now: MonotonicInstant) { lead = Self.lead(wall, now) }

  private static func lead(_ wall: Int64, _ now: MonotonicInstant) -> Int64 { wall &- now.nanoseconds / 1_000_000 }

  /// By how many milliseconds the clock was set since the last step, forward or, below 0, back; nil if it was not.
  mutating func step(wall: Int64, now: MonotonicInstant) -> Int64? {
    let step = Self.lead(wall, now) &- lead
    guard step.magnitude >= UInt64(Self.threshold) else { return nil }
    lead = Self.lead(wall, now)
    return step
  }
}
