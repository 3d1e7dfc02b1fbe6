/// Whether the host that holds reaches what it has to, the server or what the hosts say: where it does not for long, and
/// another host might, it gives the lease away.
final class FleetReach {
  private enum State {
    /// This host does not hold, or reaches it.
    case content
    /// It holds, and has not reached it since that moment.
    case waiting(since: MonotonicInstant)
  }

  private let patience: Duration
  private let timers: Timers
  private var state = State.content
  private var timer: Timers.ID?

  /// Gives the lease away, if there is a host that might take it; false: there is none.
  var onYield: () -> Bool = { false }

  /// How often it is looked for one.
  private static let look: Duration = .seconds(1)

  init(patience: Duration, timers: Timers) { (self.patience, self.timers) = (patience, timers) }

  /// This host holds from now on and has no link, or it has lost it; where it had none already the time goes on.
  func lost() {
    guard case .content = state else { return }
    state = .waiting(since: timers.now)
    look(in: patience)
  }

  /// It is reached, or this host does not hold any more.
  func settle() {
    state = .content
    timers.cancel(timer)
  }

  private func look(in delay: Duration) {
    timers.cancel(timer)
    timer = timers.after(delay) { [weak self] in
      guard let self, case .waiting(let since) = state, since + patience <= timers.now else { return }
      if onYield() { settle() } else { look(in: Self.look) }
    }
  }
}
