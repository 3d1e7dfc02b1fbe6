/// What the parts of a connection may ask of it.
extension Connection: DeliveryOwner, EntersOwner, InterestsOwner, UpkeepOwner {
  func ringing(_ body: @escaping () -> Void) -> () -> Void {
    { [reference] in
      guard let connection = reference.object else { return }
      withExtendedLifetime(connection) { body() }
    }
  }

  func asking(_ body: @escaping () -> Bool) -> () -> Bool {
    { [reference] in
      guard let connection = reference.object else { return false }
      return withExtendedLifetime(connection) { body() }
    }
  }

  func report(_ report: ConnectionReport) { onReport?(self, report) }

  /// A client does not want to wait for the back-off. Without an attempt that could be hastened it means nothing.
  func hurry(_ urgency: Urgency) {
    upkeep.hurry(urgency)
    if urgency >= .request, state != .connected { channel?.hurry() }
  }

  /// Lets the keeper look at the connection, as its use or another fact may have changed.
  func review() { upkeep.review() }

  /// A command has its outcome.
  func noteEnd() { if !isOccupied { upkeep.noteEnd() } }

  func noteUse(at now: MonotonicInstant) { upkeep.noteUse(at: now) }

  var confirmationLimit: Duration { specification.settings.connectTimeout ?? specification.settings.handshake }
  var areEntersSaid: Bool { enters.areSaid }
  var hasCommands: Bool { !delivery.commands.isIdle }
  var isEnding: Bool { !endings.isEmpty }
  var awaitsPast: Bool { history.awaitsPast }

  func carryOut(_ action: KeeperAction) throws(IllegalTransition) {
    switch action {
    case .connect: try apply(.connect)
    case .disconnect(let reason): try close(UpstreamFailure(onPurpose: reason))
    case .abandon(let reason): abandon(UpstreamFailure(onPurpose: reason))
    case .release: try apply(.release)
    }
  }
}
