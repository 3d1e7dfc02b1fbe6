import GatewayCore
import Glibc

/// The kernel's clocks: `CLOCK_BOOTTIME` for deadlines (it goes on while the machine sleeps) and `CLOCK_REALTIME`.
final class SystemTime: TimeSource {
  var now: MonotonicInstant { MonotonicInstant(nanoseconds: Self.read(CLOCK_BOOTTIME)) }
  var wallMilliseconds: Int64 { Self.read(CLOCK_REALTIME) / 1_000_000 }

  private static func read(_ clock: clockid_t) -> Int64 {
    var value = timespec()
    clock_gettime(clock, &value)
    return Int64(value.tv_sec) &* 1_000_000_000 &+ Int64(value.tv_nsec)
  }
}
