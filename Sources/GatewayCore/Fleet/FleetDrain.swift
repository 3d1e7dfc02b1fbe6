/// The end of the link of a host that gives the lease away: nothing more is written, and the link stays until the server's
/// machine has what was and the hosts can read so, or until the time for that is over.
final class FleetDrain {
  private let timers: Timers
  private var timer: Timers.ID?

  /// Whether nothing is to be waited for: the server's machine has everything that was written, and the hosts can read so.
  var isQuiet: () -> Bool = { true }
  /// Nothing is; or, with false, something was for too long.
  var onEnd: (_ isQuiet: Bool) -> Void = { _ in }

  /// How long the server may take to acknowledge the last bytes.
  static let limit: Duration = .seconds(1)
  /// How often the link is asked.
  private static let pause: Duration = .milliseconds(5)

  init(timers: Timers) { self.timers = timers }

  func begin() {
    stop()
    look(until: timers.now + Self.limit)
  }

  /// This host does not hold any more.
  func stop() { timers.cancel(timer) }

  private func look(until end: MonotonicInstant) {
    let isQuiet = isQuiet()
    guard !isQuiet, timers.now < end else { return onEnd(isQuiet) }
    timer = timers.after(Self.pause) { [weak self] in self?.look(until: end) }
  }
}
