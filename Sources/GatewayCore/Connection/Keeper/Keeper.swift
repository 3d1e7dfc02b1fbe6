/// Looks at one connection and says what has to happen to it. The rules are asked in order; the first one that has a
/// verdict decides, and no other is heard. Keeps no state: the same snapshot always gets the same judgement, so that
/// asking once too often does no harm and a forgotten fact is made up for by the next tick.
struct Keeper: Sendable {
  /// In the order in which they are asked.
  let rules: [KeeperRule]

  init(rules: [KeeperRule] = Keeper.standardRules) { self.rules = rules }

  /// First what holds for every connection, then the three rules of a connection's life, of which none applies before
  /// its past is known.
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
    case .created, .reconnecting:
      health.waitsFor.map { "Not connected (\($0.rawValue)); it connects as soon as that is over." }
        ?? "An attempt is under way."
    case .connected: "The connection is used and works."
    case .disconnected: "Nothing has to be done."
    case .released: "The connection is gone."
    }
  }
}

/// One link of the keeper's chain: a name and a judge. The judge answers nil when the snapshot is none of its business.
struct KeeperRule: Sendable {
  /// Shown as `rule` in `status`; never changes once released.
  let name: String
  private let body: @Sendable (Health) -> (verdict: Verdict, why: String)?

  init(name: String, judge body: @escaping @Sendable (Health) -> (verdict: Verdict, why: String)?) {
    self.name = name
    self.body = body
  }

  /// The verdict under this rule's name, or nil when the rule does not apply.
  func judge(_ health: Health) -> Judgement? {
    body(health).map { Judgement(rule: name, verdict: $0.verdict, why: $0.why) }
  }
}

/// What a rule wants to happen to a connection.
enum Verdict: Equatable, Sendable {
  /// Do this now, then take a new snapshot.
  case act(KeeperAction)
  /// Nothing now. The connection must be looked at again at that instant, which lies in the future; nil: not before one
  /// of its facts changes.
  case wait(until: MonotonicInstant?)
}

/// What the keeper can order. Each is legal in the state it is ordered in.
enum KeeperAction: Equatable, Sendable {
  /// The machine's `connect`.
  case connect
  /// The machine's `disconnect`, with the reason to show.
  case disconnect(DownReason)
  /// A `created` connection whose first attempt is not to be made, or not to be finished: close the channel if there is
  /// one, then the machine's `lost`, with the reason to show.
  case abandon(DownReason)
  /// The machine's `release`.
  case release
}

/// A verdict with its origin: which rule spoke, and why.
struct Judgement: Equatable, Sendable {
  /// The rule's name, as in `status`.
  var rule: String
  var verdict: Verdict
  /// One sentence for a person.
  var why: String

  init(rule: String, verdict: Verdict, why: String) {
    self.rule = rule
    self.verdict = verdict
    self.why = why
  }
}
