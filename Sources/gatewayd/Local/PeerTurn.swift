import GatewayCore

/// How long one client's lines are acted upon: `LocalPeers.turnLimit`, or as soon as somebody else is waiting,
/// `sharedTurnLimit`. Asking costs a system call, so it is asked once in `sharedTurnLimit`.
struct PeerTurn {
  private let end: MonotonicInstant
  private var look: MonotonicInstant

  init(at now: MonotonicInstant) {
    end = now + LocalPeers.turnLimit
    look = now + LocalPeers.sharedTurnLimit
  }

  /// To be asked after each line.
  mutating func isOver(at now: MonotonicInstant, _ isAnyoneWaiting: () -> Bool) -> Bool {
    if now >= end { return true }
    guard now >= look else { return false }
    look = now + LocalPeers.sharedTurnLimit
    return isAnyoneWaiting()
  }
}
