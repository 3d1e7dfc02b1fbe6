import GatewayCore
import Glibc

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
