/// What becomes of commands whose sender has lost the right to send. A call is checked when it is made; what is written
/// later, when the rights have changed and when it is handed to a connection.
extension Connection {
  /// The rights may have changed: what still is to be written, and may not be any more, ends or is withheld.
  func checkSenders(_ maySend: (AccessIdentity) -> Bool) {
    let queued = commands.queue.commands
    // Most have the sender of the one before.
    var last: (sender: AccessIdentity, isRevoked: Bool)?
    for command in queued + commands.handedOver + commands.flights.retries {
      if last?.sender != command.sender { last = (command.sender, !maySend(command.sender)) }
      command.isRevoked = last?.isRevoked ?? true
    }
    // What is on its way to the disk is looked at when it is there.
    let revoked = queued.filter { $0.isRevoked && $0.isCommitted }
    if !revoked.isEmpty { deny(revoked[...]) }
  }

  /// Ends queued commands, some at a time: none of them is written meanwhile, as that is asked when it would be.
  private func deny(_ revoked: ArraySlice<Command>) {
    // Another reload may have given the right back.
    for command in revoked.prefix(Self.endedAtOnce) where command.isRevoked && commands.takeBack(command) {
      commands.deadlines.remove(command)
      deny(command)
    }
    let rest = revoked.dropFirst(Self.endedAtOnce)
    guard rest.isEmpty else {
      context.timers.after(.zero) { [weak self] in self?.deny(rest) }
      return
    }
    if state == .connected, !commands.flow.isPaused { drainQueue() }
    review()
  }

  /// A command that left the queue, and that its sender may not send.
  func deny(_ command: Command) {
    guard command.isStored else { return settle(command, .denied) }
    commands.deadlines.remove(command)
    report?(self, .withheld(command))
  }
}
