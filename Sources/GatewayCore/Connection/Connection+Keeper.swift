/// What the keeper sees of a connection and of the network for it, and how its orders are carried out.
extension Connection {
  /// Lets the keeper look at the connection and does what it says, until it has nothing more to say.
  func review() {
    guard notes.begin(context.timers) else { return }
    defer { notes.end() }
    lookAtUse()
    // Three acts in a row are already more than the five states allow.
    for _ in 0..<4 {
      switch notes.judge(health, by: context.keeper) {
      case .act(let action): perform(action)
      case .wait(let until):
        guard let until, state != .released else { return }
        return notes.lookAgain(at: until, context.timers) { [reference] in reference.object?.review() }
      }
    }
  }

  /// A command has its outcome. If it was the last use, that changes nothing but the end of the linger time while the
  /// connection is up, and the keeper is going to look by then.
  func noteEnd() {
    guard !isOccupied else { return }
    if state != .connected || !notes.isTimed || isDraining { review() }
  }

  /// What had its end has been told so: nothing else may keep the connection listed.
  func endingsAreOver() {
    if state == .disconnected, !isOccupied { review() }
  }

  /// What the keeper looks at.
  private var health: Health {
    var health = Health(state: state, since: record.since, now: context.time.now, settings: specification.settings)
    health.attemptIsUnderWay = attemptIsUnderWay
    health.hasLeases = !leases.isEmpty || !delivery.commands.isIdle
    health.isEnding = !endings.isEmpty
    health.unleasedSince = leases.unusedSince
    health.isConfigured = specification.name != nil && !isWithdrawn
    health.isKeptAlways = isKept
    health.awaitsPast = history.awaitsPast
    health.networkIsUp = reach.isUp
    notes.describe(to: &health)
    return health
  }

  private func perform(_ action: KeeperAction) {
    do {
      switch action {
      // While its turn has not come the keeper, asked again, says to wait for it.
      case .connect: if hasTurn() { try apply(.connect) }
      case .disconnect(let reason): try close(UpstreamFailure(onPurpose: reason))
      case .abandon(let reason): abandon(UpstreamFailure(onPurpose: reason))
      case .release: try apply(.release)
      }
    } catch {
      report(.illegal(error))
    }
  }

  /// Whether the attempt that the keeper wants has its turn; if not, it waits for one.
  private func hasTurn() -> Bool {
    notes.schedule.hasTurn(context.budget, for: account) { attempt in
      AttemptBudget.Candidate(
        isWanted: { [reference] in
          guard let connection = reference.object else { return false }
          return connection.notes.schedule.wantsTurn(attempt, isWanted: connection.mayAttempt)
        },
        start: { [reference] in
          guard let connection = reference.object else { return }
          connection.notes.schedule.turnCame()
          connection.review()
        })
    }
  }

  /// Whether an attempt makes sense now.
  private var mayAttempt: Bool {
    isOccupied && !notes.isHeld && !isDraining && reach.isUp
      && (state == .disconnected || (state == .created && !attemptIsUnderWay))
  }

  /// Milliseconds until the next attempt; nil when none is planned.
  var retryIn: Int64? {
    guard state == .disconnected || state == .created, isOccupied else { return nil }
    switch context.keeper.judge(health).verdict {
    case .act(.connect): return 0
    case .wait(let until?): return max(0, (until - context.time.now).milliseconds)
    case .act, .wait: return nil
    }
  }

  // MARK: - The network

  /// Looks for the way to the server; asked when something may have changed, not for every command.
  func lookAtNetwork() { reach.look(at: context.network, hosts: connector.hosts) }

  /// Links, addresses or routes changed.
  func networkChanged(_ change: NetworkChange) {
    let before = reach
    lookAtNetwork()
    guard reach.isUp else {
      // What is waited for from now on is the network, unless the network was not it.
      if state == .disconnected, isOccupied { notes.wayLost(specification.settings) }
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
}
