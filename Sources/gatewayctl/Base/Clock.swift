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
    local(milliseconds).map { timeOfDay($0, milliseconds) } ?? ""
  }

  /// `2026-11-23T12:03:04.123+01:00` on this machine's clock (RFC 3339), from milliseconds since 1970.
  static func instant(_ milliseconds: Int64) -> String {
    guard let parts = local(milliseconds) else { return "" }
    let (year, month) = (digits(Int(parts.tm_year) + 1900, 4), digits(Int(parts.tm_mon) + 1, 2))
    let date = "\(year)-\(month)-\(digits(Int(parts.tm_mday), 2))"
    let offset = Int(parts.tm_gmtoff) / 60
    let zone = "\(offset < 0 ? "-" : "+")\(digits(abs(offset) / 60, 2)):\(digits(abs(offset) % 60, 2))"
    return "\(date)T\(timeOfDay(parts, milliseconds))\(zone)"
  }

  /// `1795232601.218`: seconds since 1970 with a fraction, from milliseconds.
  static func seconds(_ milliseconds: Int64) -> String {
    "\(milliseconds < 0 ? "-" : "")\(milliseconds.magnitude / 1000).\(digits(Int(milliseconds.magnitude % 1000), 3))"
  }

  private static func timeOfDay(_ parts: tm, _ milliseconds: Int64) -> String {
    "\(digits(Int(parts.tm_hour), 2)):\(digits(Int(parts.tm_min), 2)):\(digits(Int(parts.tm_sec), 2))"
      + ".\(digits(Int(abs(milliseconds % 1000)), 3))"
  }

  private static func local(_ milliseconds: Int64) -> tm? {
    var seconds = time_t(milliseconds / 1000)
    var parts = tm()
    return localtime_r(&seconds, &parts) == nil ? nil : parts
  }

  private static func digits(_ number: Int, _ count: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, count - text.count)) + text
  }

  /// Goes on while the machine sleeps, and never back.
  static var now: MonotonicInstant {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return MonotonicInstant(nanoseconds: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
  }
}

/// The instant at which waiting ends, or never.
struct Deadline: Equatable, Sendable {
  /// Nil: never.
  var instant: MonotonicInstant?

  static let never = Deadline(instant: nil)

  static func after(_ duration: Duration?) -> Deadline {
    Deadline(instant: duration.map { Clock.now + $0 })
  }

  var hasPassed: Bool { instant.map { $0 <= Clock.now } ?? false }

  /// What is left; nil for ever, never below zero.
  var remaining: Duration? { instant.map { max(.zero, $0 - Clock.now) } }

  /// For `poll(2)`: milliseconds, rounded up so that a wait never ends early; -1 for ever.
  var pollTimeout: Int32 {
    guard let remaining else { return -1 }
    return Int32(clamping: (remaining.nanoseconds &+ 999_999) / 1_000_000)
  }

  /// The same deadline, later.
  func extended(by duration: Duration) -> Deadline { Deadline(instant: instant.map { $0 + duration }) }

  static func earlier(_ one: Deadline, _ other: Deadline) -> Deadline {
    guard let first = one.instant else { return other }
    guard let second = other.instant else { return one }
    return Deadline(instant: min(first, second))
  }
}
