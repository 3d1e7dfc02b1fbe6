/// What the machine's network means for a connection.
extension Connection {
  /// Looks for the way to the server; asked when something may have changed, not for every command.
  func lookAtNetwork() { reach.look(at: context.network, hosts: connector.hosts) }

  /// Whether the connection is down for a reason that no change of the network lifts: a refusal has its own schedule,
  /// and what stays down until an administrator says otherwise must not forget why.
  private var outlastsNetwork: Bool {
    guard let lastFailure else { return false }
    let settings = specification.settings
    if lastFailure.isRefusal { return true }
    if lastFailure.reason == .kicked, !settings.reconnectAfterKick { return true }
    return lastFailure.reason.isFailure && !settings.reconnect.enabled
  }

  /// Links, addresses or routes changed.
  func networkChanged(_ change: NetworkChange) {
    let before = reach
    lookAtNetwork()
    guard reach.isUp else {
      noteOffline()
      return review()
    }
    let isOtherWay = reach.way != before.way
    if state == .connected, isOtherWay || reach.isTouched(by: change) { channel?.verify() }
    if isOtherWay { hurry(.network) } else { review() }
  }

  /// The machine slept: what became of its links is not known, and waiting may be over.
  func resumed() {
    lookAtNetwork()
    if state == .connected { channel?.verify() }
    hurry(.network)
  }

  /// The way to the server is gone: what is waited for from now on is the network, unless the network was not it.
  private func noteOffline() {
    guard state == .disconnected, isOccupied, !notes.isHeld, !outlastsNetwork else { return }
    notes.lastFailure = UpstreamFailure(onPurpose: .offline)
  }
}
