/// Looks at one connection and says what has to happen to it. The rules are asked in order; the first one that has a
/// verdict decides, and no other is heard. Keeps no state: the same snapshot always gets the same judgement, so that
/// asking once too often does no harm and a forgotten fact is made up for by the next tick.
struct Keeper: Sendable {
  /// In the order in which they are asked.
  let rules: [KeeperRule]

  init(rules: [KeeperRule] = Keeper.standardRules) { self.rules = rules }

  /// First what holds for every connection, then the three rules of a connection's life, of which none applies before its past is known.
  static let standardRules: [KeeperRule] = [
    .drain, .offline, .hold, .history, .disconnect, .reconnect, .release,
  ]

  /// The judgement of the first rule that applies. A connection that no rule applies to is left alone: the verdict
  /// `rest`.
  func judge(_ health: Health) -> Judgement {
    for rule in rules {
      if let judgement = rule.judge(health) { return judgement }
    }
    return Judgement(rule: "rest", verdict: .wait(until: nil), why: Self.restReason(health))
  }

  private static func restReason(_ health: Health) -> String {
    switch health.state {
    case .created, .reconnecting: "An attempt is under way."
    case .connected: "The connection is used and works."
    case .disconnected: "Nothing has to be done."
    case .released: "The connection is gone."
    }
  }
}
