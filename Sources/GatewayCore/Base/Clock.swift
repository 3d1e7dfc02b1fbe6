/// A point on a clock that never runs backwards and goes on while the machine sleeps (`CLOCK_BOOTTIME`).
public struct MonotonicInstant: Comparable, Hashable, Sendable {
  /// Nanoseconds since an arbitrary origin.
  public var nanoseconds: Int64

  public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  public static func < (a: Self, b: Self) -> Bool { a.nanoseconds < b.nanoseconds }
  /// A sum beyond the range stays at its end: a deadline of "never" is never in the past.
  public static func + (a: Self, b: Duration) -> Self {
    let (sum, overflow) = a.nanoseconds.addingReportingOverflow(b.nanoseconds)
    guard overflow else { return Self(nanoseconds: sum) }
    return Self(nanoseconds: a.nanoseconds < 0 ? .min : .max)
  }
  public static func - (a: Self, b: Self) -> Duration { .nanoseconds(a.nanoseconds &- b.nanoseconds) }

  /// How long ago another instant was in milliseconds, rounded towards zero: without a `Duration`, which has 128 bits.
  func milliseconds(since earlier: Self) -> Int64 { (nanoseconds &- earlier.nanoseconds) / 1_000_000 }
}

extension Duration {
  /// The whole duration in nanoseconds; durations beyond 292 years are clamped.
  public var nanoseconds: Int64 {
    let total = attoseconds
    let magnitude = total.magnitude
    let high = UInt64(truncatingIfNeeded: magnitude >> 64)
    // The general division of 128 bits takes some hundred instructions, and this is asked for with each deadline.
    let unit: UInt64 = 1_000_000_000
    guard high < unit else { return total < 0 ? .min : .max }
    let (quotient, _) = unit.dividingFullWidth((high, UInt64(truncatingIfNeeded: magnitude)))
    guard quotient <= Int64.max else { return total < 0 ? .min : .max }
    return total < 0 ? -Int64(quotient) : Int64(quotient)
  }

  /// The whole duration in milliseconds, rounded towards zero: the unit of the local protocol.
  public var milliseconds: Int64 { nanoseconds / 1_000_000 }
}

/// The clocks. In tests a clock that stands still until it is moved.
public protocol TimeSource: AnyObject {
  /// For deadlines and intervals.
  var now: MonotonicInstant { get }
  /// Milliseconds since 1970, for what people and programs read.
  var wallMilliseconds: Int64 { get }
  /// When what is being dealt with came in. May be as old as the present turn of the loop gets with one source, so that
  /// what came in one read does not ask the clocks for each of its parts.
  var arrival: Arrival { get }
  /// The same instant without the wall clock: it costs no look at a clock while the loop deals with something.
  var received: MonotonicInstant { get }
}

/// One look at both clocks.
public struct Arrival: Equatable, Sendable {
  public var instant: MonotonicInstant
  /// Milliseconds since 1970.
  var wallMilliseconds: Int64

  public init(instant: MonotonicInstant, wallMilliseconds: Int64) {
    self.instant = instant
    self.wallMilliseconds = wallMilliseconds
  }
}

extension TimeSource {
  /// For clocks that cost nothing.
  var arrival: Arrival { Arrival(instant: now, wallMilliseconds: wallMilliseconds) }
  var received: MonotonicInstant { now }
}

/// Notices that the local wall clock was set: it moves against the monotonic one, which cannot be set, and which goes
/// on while the machine sleeps.
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
