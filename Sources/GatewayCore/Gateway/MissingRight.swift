/// The error for a right that is missing: the one place that says which access rule to ask for.
extension LocalError {
  /// A right is missing that is for no single upstream, or for the one of that name.
  /// - Parameter policy: nil where the program itself does not hear of it.
  static func denied(_ verb: AccessVerb, on upstream: String?, by policy: AccessPolicy?) -> LocalError {
    let scope = upstream.map { WantedRule.Scope.named([$0]) } ?? .all
    return denied(
      verb, upstream.map { " on '\($0)'" } ?? "", WantedRule(verb: verb, scope: scope, event: nil, policy: policy))
  }

  /// A right on an upstream is missing, or on an event of it. `isKnown`: of which configured upstreams the program may
  /// hear the names.
  static func denied(
    _ verb: AccessVerb, _ specification: UpstreamSpecification, _ place: AccessPlace, event: String? = nil,
    to identity: AccessIdentity, by policy: AccessPolicy, isKnown: (String) -> Bool
  ) -> LocalError {
    let name = place.name ?? specification.name
    let isHidden = name.map { !isKnown($0) } ?? false
    var words = event.map { " on the event \($0.shortened(to: 64).tomlString)" } ?? ""
    words += event == nil ? " on " : " of "
    words += isHidden ? "an upstream that this user may not use" : "'\(name ?? specification.url.redacted)'"
    if let namespace = place.namespace, namespace != "/" {
      words += ", namespace \(namespace.shortened(to: 64).tomlString)"
    }
    if place.scope == .adhoc, !(place.neighbours + place.strangers).isEmpty {
      words += ", which is on the server of a configured upstream, whose rules hold as well"
    }
    let lacking = policy.answer(verb, at: place, for: identity).lacking(event)
    let names = lacking.isEmpty ? name.map { [$0] } ?? [] : lacking.compactMap { $0 }
    let scope: WantedRule.Scope =
      if names.isEmpty || lacking.contains(nil) {
        .all
      } else if names.allSatisfy(isKnown) {
        .named(names)
      } else {
        .hidden(names)
      }
    // What another kind calls an event is none of the upstream's.
    let isForeign = names.contains { place.strangers.contains($0) }
    let rule = WantedRule(verb: verb, scope: scope, event: isForeign ? nil : event, policy: policy)
    var error = denied(verb, words, rule)
    if let event { error.facts.append(.init("event", .string(event))) }
    if let namespace = place.namespace { error.facts.append(.init("namespace", .string(namespace))) }
    return error
  }

  private static func denied(_ verb: AccessVerb, _ words: String, _ rule: WantedRule) -> LocalError {
    LocalError(
      .permissionDenied, "This needs the right '\(verb.rawValue)'\(words); ask the administrator for \(rule.words)",
      [.init("need", .string(verb.rawValue))])
  }
}

/// The rule of `[[access]]` that gives a right, in the words of an error.
private struct WantedRule {
  /// What the rule has to be for.
  enum Scope {
    /// Configured upstreams, whose names the program may hear.
    case named([String])
    /// Configured upstreams, whose names it may not hear.
    case hidden([String])
    /// Every upstream, those by URL included, and the whole daemon.
    case all
  }

  let verb: AccessVerb
  let scope: Scope
  /// Nil: for every event.
  let event: String?
  let policy: AccessPolicy?

  /// From `an [[access]] rule` to the end of the last sentence.
  var words: String {
    var members: [String] = []
    var subject = ""
    switch scope {
    case .named(let names): members.append("upstream = [\(names.map(\.tomlString).joined(separator: ", "))]")
    case .hidden: subject = " for the configured upstream of that server,"
    case .all: break
    }
    if let event { members.append("events = [\(event.shortened(to: 64).tomlString)]") }
    members.append("allow = [\(allowed.rawValue.tomlString)]")
    let inclusion = allowed == verb ? "" : ", which includes '\(verb.rawValue)' there"
    return "an [[access]] rule\(subject) with \(members.joined(separator: ", "))\(inclusion).\(consequence)"
  }

  /// Where `send` includes `request`, a rule that names `request` would take it from all who have `send`.
  private var allowed: AccessVerb {
    guard verb == .request, let policy, upstreams.allSatisfy({ !policy.namesRequest($0) }) else { return verb }
    return .send
  }

  /// Configured upstreams, or nil for those by URL.
  private var upstreams: [String?] {
    switch scope {
    case .named(let names), .hidden(let names): names
    case .all: [nil]
    }
  }

  /// What the rule takes from others; empty where there are rules already.
  private var consequence: String {
    guard let policy else { return "" }
    let (first, there): (String, String)
    switch scope {
    case .named(let names):
      let open = names.filter(policy.isOpen)
      guard !open.isEmpty else { return "" }
      (first, there) = ("the first rule for \(open.map { "'\($0)'" }.joined(separator: " and "))", " there")
    // Whoever may not hear of it has lost it to a rule.
    case .hidden: return ""
    case .all:
      guard policy.leavesSomeOpen else { return "" }
      (first, there) = policy.hasRules ? ("the first rule for some upstreams", " there") : ("the first rule", "")
    }
    return
      " It would be \(first), and from then on rules alone say who may do what\(there): the others need one too, and this user for anything else (see [[access]] in gatewayd.toml(5))."
  }
}
