/// What each user may do with which upstream, from `[[access]]` of the configuration.
///
/// - root and the daemon's own uid have every right on everything, whatever the rules say.
/// - A rule *covers* the upstreams whose name is, or fits, one of its `upstream` entries. A rule without `upstream`
///   covers every configured upstream and the ad-hoc ones.
/// - An upstream that no rule covers is open to every program that can open the socket: `status`, `subscribe` and
///   `send`.
/// - As soon as one rule covers an upstream, only the covering rules decide: a program has the verbs that those which
///   name its uid or one of its groups allow, all together. Order does not matter, and no verb implies another one.
/// - `admin` in a rule is for the upstreams that the rule covers; a rule without `upstream` makes a full administrator,
///   who may also ask what concerns the whole daemon (`reload`, `clients.kick`). Decisions 0006 and 0084.
struct AccessPolicy: Equatable, Sendable {
  /// What every program may do where no rule says otherwise.
  static let open: Set<AccessVerb> = [.status, .subscribe, .send]

  private let daemonUser: UInt32
  private let rules: [AccessRule]
  /// The rules without `upstream`: those that decide about ad-hoc upstreams.
  private let unboundRules: [AccessRule]
  /// The covering rules of every configured upstream, so that a call does not have to match globs.
  private let covering: [String: [AccessRule]]
  private let adhoc: Bool

  /// `daemonUser` is the uid that the daemon runs as.
  init(_ configuration: Configuration, daemonUser: UInt32) {
    let rules = configuration.access
    self.rules = rules
    self.daemonUser = daemonUser
    adhoc = configuration.adhoc
    unboundRules = rules.filter(\.upstreams.isEmpty)
    let names = configuration.upstreams.keys
    covering = Dictionary(uniqueKeysWithValues: names.map { name in (name, rules.filter { $0.covers(name) }) })
  }

  /// Whether a program with that identity may do that with an upstream; nil stands for an ad-hoc one. Whether there may
  /// be ad-hoc upstreams at all, and that they belong to one uid each, is decided elsewhere.
  func allows(_ verb: AccessVerb, upstream: String?, for identity: AccessIdentity) -> Bool {
    verbs(upstream: upstream, for: identity).contains(verb)
  }

  /// Whether a program with that identity may do that where those rules hold.
  func allows(_ verb: AccessVerb, under rules: AccessScope, for identity: AccessIdentity) -> Bool {
    switch rules {
    case .upstream(let name): allows(verb, upstream: name, for: identity)
    case .adhoc: allows(verb, upstream: nil, for: identity)
    case .shared(let names): names.allSatisfy { allows(verb, upstream: $0, for: identity) }
    case .closed: false
    }
  }

  /// Everything that a program with that identity may do with an upstream; nil stands for an ad-hoc one.
  func verbs(upstream: String?, for identity: AccessIdentity) -> Set<AccessVerb> {
    if isOwner(identity) { return Set(AccessVerb.allCases) }
    let deciding = decidingRules(upstream)
    guard !deciding.isEmpty else { return Self.open }
    return deciding.reduce(into: []) { verbs, rule in
      if identity.matches(rule.subject) { verbs.formUnion(rule.allow) }
    }
  }

  /// Whether a program with that identity may ask what concerns the whole daemon.
  func isAdministrator(_ identity: AccessIdentity) -> Bool {
    isOwner(identity) || unboundRules.contains { $0.allow.contains(.admin) && identity.matches($0.subject) }
  }

  /// What a program with that identity may do with at least one upstream, ad-hoc ones included where they are allowed
  /// or where nothing is configured; `admin` only for a full administrator. In the order status, subscribe, send,
  /// admin: `you.rights` of `hello`.
  func generalRights(_ identity: AccessIdentity) -> [AccessVerb] {
    var verbs = adhoc || covering.isEmpty ? verbs(upstream: nil, for: identity) : []
    for name in covering.keys { verbs.formUnion(self.verbs(upstream: name, for: identity)) }
    verbs.remove(.admin)
    if isAdministrator(identity) { verbs.insert(.admin) }
    return AccessVerb.allCases.filter(verbs.contains)
  }

  private func isOwner(_ identity: AccessIdentity) -> Bool { identity.uid == 0 || identity.uid == daemonUser }

  private func decidingRules(_ upstream: String?) -> [AccessRule] {
    guard let upstream else { return unboundRules }
    return covering[upstream] ?? rules.filter { $0.covers(upstream) }
  }
}

extension AccessRule {
  /// Whether the rule is about the configured upstream of that name.
  func covers(_ name: String) -> Bool { upstreams.isEmpty || upstreams.contains { Glob.matches($0, name) } }
}
