/// The rules of the standard chain, in its order.
extension KeeperRule {
  /// The daemon stops: every connection goes down and stays down.
  static let drain = KeeperRule(name: "drain") { health in
    guard health.isDraining else { return nil }
    let why = "The daemon is stopping."
    return down(health, .draining, why) ?? (health.state == .disconnected ? (.wait(until: nil), why) : nil)
  }

  /// There is no network: what is open goes down at once, and no attempt is made until it is back.
  static let offline = KeeperRule(name: "offline") { health in
    guard !health.networkIsUp else { return nil }
    if let verdict = down(health, .offline, "There is no network.") { return verdict }
    guard health.state == .disconnected, health.isOccupied, !health.isHeld else { return nil }
    return (.wait(until: nil), "There is no network; the next attempt starts when it is back.")
  }

  /// An administrator's `disconnect` holds until `reconnect`. The hold of a configured upstream outlives its users:
  /// were the connection released, the next user would get a fresh one without the hold. The hold on a URL that is not
  /// used any more ends with the connection, because nothing else would ever free it.
  static let hold = KeeperRule(name: "hold") { health in
    guard health.isHeld else { return nil }
    let why = "Disconnected by an administrator, until 'reconnect'."
    if let verdict = down(health, .requested, why) { return verdict }
    guard health.state == .disconnected, health.isConfigured || health.isOccupied else { return nil }
    return (.wait(until: nil), why)
  }

  /// What an earlier daemon received is being read from the disk: the connection stays as it is until it is known where
  /// that ends.
  static let history = KeeperRule(name: "history") { health in
    guard health.awaitsPast, health.state == .disconnected || health.state == .created && !health.attemptIsUnderWay
    else { return nil }
    return (.wait(until: nil), "Its history is being read from the disk; nothing is tried before that.")
  }

  /// It is not used: disconnect after the linger time. An attempt is left to its end, unless it has none.
  static let disconnect = KeeperRule(name: "disconnect") { health in
    guard !health.isOccupied else { return nil }
    if health.state == .created && !health.attemptIsUnderWay {
      return (.act(.abandon(.idle)), "Nobody uses the connection.")
    }
    guard health.state == .connected || health.attemptsWait else { return nil }
    let why = "Nobody has used the connection for the linger time."
    guard let verdict = down(health, .idle, why) else { return nil }
    let end = health.idleSince + health.linger
    return end <= health.now ? verdict : (.wait(until: end), "Nobody uses the connection; it lingers.")
  }

  /// It is used: connect, at once or when the back-off allows.
  static let reconnect = KeeperRule(name: "reconnect") { health in
    guard health.isOccupied else { return nil }
    switch health.state {
    case .created:
      guard !health.attemptIsUnderWay else { return nil }
      return waitingForTurn(health) ?? (.act(.connect), "The connection is used for the first time.")
    case .disconnected:
      return reconnection(health)
    case .connected, .reconnecting, .released:
      return nil
    }
  }

  /// It is not used and closed: leave the pool, after the time for which it stays listed, and not before everything that
  /// waited for it knows its end.
  static let release = KeeperRule(name: "release") { health in
    guard health.state == .disconnected, !health.isOccupied else { return nil }
    guard !health.isEnding else {
      return (.wait(until: nil), "What waited for the connection is being told that it has ended.")
    }
    let end = health.idleSince + health.retain
    guard end <= health.now else {
      return (.wait(until: end), "Nobody uses the closed connection; it stays listed for a while.")
    }
    return (.act(.release), "Nobody has used the closed connection for as long as it stays listed.")
  }

  /// Hastened attempts start at most this often.
  static let hastenedSpacing: Duration = .seconds(1)

  /// The way down from whatever is up or under way; nil where nothing is.
  private static func down(_ health: Health, _ reason: DownReason, _ why: String) -> (verdict: Verdict, why: String)? {
    switch health.state {
    case .created: (.act(.abandon(reason)), why)
    case .connected, .reconnecting: (.act(.disconnect(reason)), why)
    case .disconnected, .released: nil
    }
  }

  private static func reconnection(_ health: Health) -> (verdict: Verdict, why: String) {
    if health.lastReason == .kicked, !health.reconnectsAfterKick, health.urgency != .order {
      return (.wait(until: nil), "The server disconnected the namespace; it stays down until 'reconnect'.")
    }
    if let reason = health.lastReason, !health.reconnects, health.urgency != .order, reason.isFailure {
      return (.wait(until: nil), "Not connected (\(reason.rawValue)); it stays down until 'reconnect'.")
    }
    let due = nextAttempt(health)
    guard due <= health.now else { return (.wait(until: due), waitingReason(health, due)) }
    return waitingForTurn(health) ?? (.act(.connect), "The connection is used and not connected.")
  }

  /// An attempt is due, but the machine's budget has none left.
  private static func waitingForTurn(_ health: Health) -> (verdict: Verdict, why: String)? {
    guard health.urgency != .order, let turn = health.turnAt, turn > health.now else { return nil }
    return (.wait(until: turn), "An attempt is due and waits for its turn: too many start at once on this machine.")
  }

  /// When the next attempt starts, possibly in the past. While the upstream refuses us, a new lease or a network change
  /// does not hasten it; a request does, because its caller is to hear the refusal. What the server itself asked for
  /// holds for all but an administrator.
  private static func nextAttempt(_ health: Health) -> MonotonicInstant {
    guard health.urgency != .order else { return health.now }
    let wanted = wantedAttempt(health)
    return health.notBefore.map { max($0, wanted) } ?? wanted
  }

  private static func wantedAttempt(_ health: Health) -> MonotonicInstant {
    let soonest = health.lastAttemptAt.map { $0 + hastenedSpacing } ?? health.now
    guard let scheduled = health.nextAttemptAt else { return soonest }
    let weakest: Urgency = health.isRefused ? .lease : .none
    return health.urgency > weakest ? min(scheduled, soonest) : scheduled
  }

  private static func waitingReason(_ health: Health, _ due: MonotonicInstant) -> String {
    guard let reason = health.lastReason else { return "The next attempt waits for the back-off." }
    let schedule =
      if health.notBefore == due {
        "as long as the server asked"
      } else if health.isResting {
        "the end of the rest after a series of attempts"
      } else {
        health.isRefused ? "the slower schedule of a refusal" : "the back-off"
      }
    return "Not connected (\(reason.rawValue)); attempt \(health.attempts + 1) waits for \(schedule)."
  }
}
