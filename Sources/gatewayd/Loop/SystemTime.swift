import GatewayCore
import Glibc

/// The kernel's clocks: `CLOCK_BOOTTIME` for deadlines (it goes on while the machine sleeps) and `CLOCK_REALTIME`.
final class SystemTime: TimeSource {
  var now: MonotonicInstant { MonotonicInstant(nanoseconds: Self.read(CLOCK_BOOTTIME)) }
  var wallMilliseconds: Int64 { Self.read(CLOCK_REALTIME) / 1_000_000 }

  /// The look at the clocks that serves until the next turn.
  private var look: Arrival?
  /// When the present turn began, if that was looked at.
  private var begin: MonotonicInstant?

  var arrival: Arrival { look ?? lookNow() }

  @inline(never)
  private func lookNow() -> Arrival {
    let fresh = Arrival(instant: begin ?? now, wallMilliseconds: wallMilliseconds)
    look = fresh
    return fresh
  }

  var received: MonotonicInstant { begin ?? now }

  /// The loop turns to something else, which came in at another time.
  func turn() { (look, begin) = (nil, nil) }

  /// The same, and when that is: one look at the clock serves both.
  func turnNow() -> MonotonicInstant {
    let now = now
    (look, begin) = (nil, now)
    return now
  }

  /// How long the machine has slept since it was started, in nanoseconds, to a few microseconds.
  static var asleep: Int64 { read(CLOCK_BOOTTIME) &- read(CLOCK_MONOTONIC) }

  /// Nanoseconds of a clock of the kernel.
  static func read(_ clock: clockid_t) -> Int64 {
    var value = timespec()
    clock_gettime(clock, &value)
    return Int64(value.tv_sec) &* 1_000_000_000 &+ Int64(value.tv_nsec)
  }
}
