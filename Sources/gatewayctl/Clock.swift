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

  /// `12:03:04.123` on this machine's clock, from milliseconds since 1970.
  static func timeOfDay(_ milliseconds: Int64) -> String {
    var seconds = time_t(milliseconds / 1000)
    var parts = tm()
    guard localtime_r(&seconds, &parts) != nil else { return "" }
    func digits(_ number: Int, _ count: Int) -> String {
      let text = String(number)
      return String(repeating: "0", count: max(0, count - text.count)) + text
    }
    return "\(digits(Int(parts.tm_hour), 2)):\(digits(Int(parts.tm_min), 2)):\(digits(Int(parts.tm_sec), 2))"
      + ".\(digits(Int(abs(milliseconds % 1000)), 3))"
  }

  /// Goes on while the machine sleeps, and never back.
  static var now: MonotonicInstant {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return MonotonicInstant(nanoseconds: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
  }
}
