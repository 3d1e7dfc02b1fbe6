import CLinux
import GatewayCore
import Glibc

/// Notices that the machine was suspended, at the moment of its resume. The kernel cancels a timer on the wall clock
/// whenever that clock is set, and a resume sets it (timerfd_create(2), TFD_TIMER_CANCEL_ON_SET); what tells a resume
/// from a clock that was merely set is that `CLOCK_BOOTTIME` has run ahead of `CLOCK_MONOTONIC`.
final class SuspendWatch {
  /// Told how long the machine slept.
  var onResume: ((Duration) -> Void)?
  /// Told whenever the wall clock was set, by a resume too.
  var onClockSet: (() -> Void)?

  private let descriptor: Int32
  private var source: EventLoop.IOSource?
  private let asleep: () -> Duration
  private var known: Duration
  /// Less is no sleep: the two clocks are not read at the same instant.
  static let shortest: Duration = .milliseconds(10)

  /// `asleep` is all the time that the machine has slept since it started.
  init(loop: EventLoop, asleep: @escaping () -> Duration = SuspendWatch.timeAsleep) throws(SystemError) {
    self.asleep = asleep
    known = asleep()
    descriptor = gw_clock_watch()
    guard descriptor >= 0 else { throw SystemError("watch the clock") }
    source = try loop.addIO(descriptor, .readable) { [weak self] _ in self?.clockWasSet() }
  }

  deinit {
    source = nil
    close(descriptor)
  }

  /// The wall clock jumped.
  func clockWasSet() {
    gw_clock_rearm(descriptor)
    onClockSet?()
    let total = asleep()
    let slept = total - known
    known = total
    if slept >= Self.shortest { onResume?(slept) }
  }

  /// All the time that the machine has slept since it started.
  static func timeAsleep() -> Duration { .nanoseconds(read(CLOCK_BOOTTIME) - read(CLOCK_MONOTONIC)) }

  private static func read(_ clock: clockid_t) -> Int64 {
    var value = timespec()
    clock_gettime(clock, &value)
    return Int64(value.tv_sec) &* 1_000_000_000 &+ Int64(value.tv_nsec)
  }
}
