/// What the machine's network means for a connection.
extension Connection {
  /// Looks for the way to the server; asked when something may have changed, not for every command.
  func lookAtNetwork() { reach.look(at: context.network, hosts: connector.hosts) }

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

  /// The machine slept: nobody knows what became of its links, and waiting may be over.
  func resumed() {
    lookAtNetwork()
    if state == .connected { channel?.verify() }
    hurry(.network)
  }
}
