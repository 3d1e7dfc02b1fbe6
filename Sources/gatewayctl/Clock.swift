import GatewayCore
import Glibc

/// The two clocks of this program.
enum Clock {
  /// Milliseconds since 1970.
  static var wallMilliseconds: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) &* 1000 &+ Int64(time.tv_nsec) / 1_000_000
  }

  /// Goes on while the machine sleeps, and never back.
  static var now: MonotonicInstant {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return MonotonicInstant(nanoseconds: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
  }
}
