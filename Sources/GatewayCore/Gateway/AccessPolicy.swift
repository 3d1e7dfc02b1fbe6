/// What each user may do with which events of which upstream, from `[[access]]` of the configuration. Every part of the
/// daemon asks it, and only it, by `answer`.
///
/// - root and the daemon's own uid have every right on everything, whatever the rules say.
/// - A rule *covers* the upstreams whose name is, or fits, one of its `upstream` entries. A rule without `upstream`
///   covers every configured upstream and the ad-hoc ones. `namespaces` and `events` say what of these it allows; they
///   do not change what it covers.
/// - An upstream that no rule covers is open to every program that can open the socket: `status`, `subscribe`, `send`
///   and `request`.
/// - As soon as one rule covers an upstream, only the covering rules decide: a program has the verbs that those which
///   name its uid or one of its groups allow, all together, each in its namespaces and for its events. Order does not
///   matter, and no verb implies another one, with one exception: where no covering rule names `request`, `send`
///   includes it.
/// - `admin` in a rule is for the upstreams that the rule covers; a rule without `upstream`, `namespaces` and `events`
///   makes a full administrator, who may also ask what concerns the whole daemon (`reload`, `clients.kick`).
/// - What is done at a place with neighbours (`AccessPlace`) needs the right on each of them as well. Decisions 0006,
///   0084 and 0112.
struct AccessPolicy: Equatable, Sendable {
  /// What every program may do where no rule says otherwise.
  static let open: Set<AccessVerb> = [.status, .subscribe, .send, .request]

  /// A rule, and its events as they are compared.
  struct Rule: Equatable, Sendable {
    let rule: AccessRule
    /// Nil: every event.
    let events: RuledEvents?

    init(_ rule: AccessRule) {
      self.rule = rule
      events = rule.events.isEmpty ? nil : RuledEvents(rule.events)
    }
  }

  /// The rules that decide about an upstream, or about ad-hoc ones.
  private struct Deciding: Equatable {
    let rules: [Rule]
    /// Otherwise `send` includes it.
    let namesRequest: Bool

    init(_ rules: [Rule]) {
      self.rules = rules
      namesRequest = rules.contains { $0.rule.allow.contains(.request) }
    }
  }

  private let daemonUser: UInt32
  private let rules: [Rule]
  /// The rules without `upstream`: those that decide about ad-hoc upstreams.
  private let unbound: Deciding
  /// The covering rules of every configured upstream, so that a call does not have to match globs.
  private let covering: [String: Deciding]
  private let adhoc: Bool

  /// `daemonUser` is the uid that the daemon runs as.
  init(_ configuration: Configuration, daemonUser: UInt32) {
    let rules = configuration.access.map(Rule.init)
    self.rules = rules
    self.daemonUser = daemonUser
    adhoc = configuration.adhoc
    unbound = Deciding(rules.filter(\.rule.upstreams.isEmpty))
    let names = configuration.upstreams.keys
    covering = Dictionary(
      uniqueKeysWithValues: names.map { name in (name, Deciding(rules.filter { $0.rule.covers(name) })) })
  }

  // MARK: - The question

  /// With which events a user may do that at a place, and why. Whether there may be ad-hoc upstreams at all, and that
  /// they belong to one uid each, is decided elsewhere.
  func answer(_ verb: AccessVerb, at place: AccessPlace, for identity: AccessIdentity) -> AccessAnswer {
    let upstreams: [String?]
    switch place.scope {
    case .upstream(let name): upstreams = [name]
    case .adhoc: upstreams = [nil]
    case .shared(let names): upstreams = names
    case .closed: return AccessAnswer([.closed])
    }
    if isOwner(identity) { return AccessAnswer([.owner]) }
    return AccessAnswer(
      (upstreams + place.neighbours).map { ground(verb, on: $0, in: place.namespace, for: identity) }
        + place.strangers.map { ground(verb, on: $0, in: place.namespace, ofOtherKind: true, for: identity) })
  }

  /// Whether a user may do that at a place: with an event of that name, or with any event at all.
  func allows(
    _ verb: AccessVerb, _ event: String? = nil, at place: AccessPlace, for identity: AccessIdentity
  ) -> Bool {
    answer(verb, at: place, for: identity).allows(event)
  }

  private func ground(
    _ verb: AccessVerb, on upstream: String?, in namespace: String?, ofOtherKind: Bool = false,
    for identity: AccessIdentity
  ) -> AccessAnswer.Ground {
    let deciding = deciding(upstream)
    guard !deciding.rules.isEmpty else { return .open(upstream, isAllowed: Self.open.contains(verb)) }
    let needed = verb == .request && !deciding.namesRequest ? .send : verb
    return .rules(
      upstream,
      deciding.rules.filter {
        $0.rule.allow.contains(needed) && identity.matches($0.rule.subject)
          && (ofOtherKind ? $0.rule.isAboutAllEvents : $0.rule.isAbout(namespace))
      }, of: deciding.rules)
  }

  // MARK: - What another rule would change

  /// Whether no rule covers an upstream, so that the first one takes it from everybody else.
  func isOpen(_ upstream: String) -> Bool { deciding(upstream).rules.isEmpty }

  /// The same of any of them, and of ad-hoc ones where they are allowed or where nothing is configured.
  var leavesSomeOpen: Bool {
    unbound.rules.isEmpty && (adhoc || covering.isEmpty || covering.values.contains { $0.rules.isEmpty })
  }

  /// Whether a rule tells `request` from `send` there; nil stands for an ad-hoc upstream.
  func namesRequest(_ upstream: String?) -> Bool { deciding(upstream).namesRequest }

  /// Whether there is any rule.
  var hasRules: Bool { !rules.isEmpty }

  // MARK: - What is not about one place

  /// Everything that a user may do with at least some of an upstream; nil stands for an ad-hoc one.
  func verbs(upstream: String?, for identity: AccessIdentity) -> Set<AccessVerb> {
    let place = AccessPlace(upstream.map { .upstream($0) } ?? .adhoc, namespace: nil)
    return Set(AccessVerb.allCases.filter { allows($0, at: place, for: identity) })
  }

  /// Whether a user may ask what concerns the whole daemon.
  func isAdministrator(_ identity: AccessIdentity) -> Bool {
    isOwner(identity)
      || unbound.rules.contains {
        $0.rule.allow.contains(.admin) && identity.matches($0.rule.subject) && $0.rule.isUnlimited
      }
  }

  /// Whether a user administers anything at all.
  func administersSome(_ identity: AccessIdentity) -> Bool {
    isOwner(identity) || rules.contains { $0.rule.allow.contains(.admin) && identity.matches($0.rule.subject) }
  }

  /// What a user may do with at least one upstream, ad-hoc ones included where they are allowed or where nothing is
  /// configured; `admin` only for a full administrator, and `request` only where a rule tells it from `send`. In the
  /// order status, subscribe, send, request, admin: `you.rights` of `hello`.
  func generalRights(_ identity: AccessIdentity) -> [AccessVerb] {
    var verbs = adhoc || covering.isEmpty ? verbs(upstream: nil, for: identity) : []
    for name in covering.keys { verbs.formUnion(self.verbs(upstream: name, for: identity)) }
    verbs.remove(.admin)
    if isAdministrator(identity) { verbs.insert(.admin) }
    if !rules.contains(where: { $0.rule.allow.contains(.request) }) { verbs.remove(.request) }
    return AccessVerb.allCases.filter(verbs.contains)
  }

  private func isOwner(_ identity: AccessIdentity) -> Bool { identity.uid == 0 || identity.uid == daemonUser }

  private func deciding(_ upstream: String?) -> Deciding {
    guard let upstream else { return unbound }
    return covering[upstream] ?? Deciding(rules.filter { $0.rule.covers(upstream) })
  }
}

/// Whether a user may do something at a place, with which events, and on what ground.
struct AccessAnswer {
  /// What one upstream's rules say, or those for URLs, which stand as nil.
  enum Ground {
    /// The user is root or the daemon's own.
    case owner
    /// The configuration lets no program use such a place.
    case closed
    /// No rule covers the upstream.
    case open(String?, isAllowed: Bool)
    /// Those of the covering rules that allow it to this user there, each for its events.
    case rules(String?, [AccessPolicy.Rule], of: [AccessPolicy.Rule])

    var permit: EventPermit {
      switch self {
      case .owner: return .all
      case .closed: return .none
      case .open(_, let isAllowed): return isAllowed ? .all : .none
      case .rules(_, let rules, _):
        let events = rules.compactMap(\.events)
        return events.count == rules.count ? EventPermit(events) : .all
      }
    }
  }

  /// All of them have to allow it.
  let grounds: [Ground]
  /// With which events it is allowed.
  let permit: EventPermit

  fileprivate init(_ grounds: [Ground]) {
    self.grounds = grounds
    permit = grounds.reduce(.all) { $0.and($1.permit) }
  }

  /// The upstreams whose own rules do not allow it, with that event or with any; nil stands for ad-hoc ones.
  func lacking(_ event: String?) -> [String?] {
    grounds.flatMap { (ground) -> [String?] in
      guard !ground.permit.allows(event) else { return [] }
      switch ground {
      case .owner, .closed: return []
      case .open(let name, _), .rules(let name, _, _): return [name]
      }
    }
  }

  /// Whether it is allowed with an event of that name, or with any event at all.
  func allows(_ event: String?) -> Bool { permit.allows(event) }
}

extension AccessRule {
  /// Whether the rule is about the configured upstream of that name.
  func covers(_ name: String) -> Bool { upstreams.isEmpty || upstreams.contains { Glob.matches($0, name) } }

  /// Whether it allows something in that namespace; nil: in any.
  fileprivate func isAbout(_ namespace: String?) -> Bool {
    guard let namespace, !namespaces.isEmpty else { return true }
    return namespaces.contains { Glob.matches($0, namespace) }
  }

  /// Whether it is about all events of all namespaces of the upstreams that it covers.
  fileprivate var isAboutAllEvents: Bool { namespaces.isEmpty && events.isEmpty }

  /// Whether it is about everything.
  fileprivate var isUnlimited: Bool { upstreams.isEmpty && isAboutAllEvents }
}
