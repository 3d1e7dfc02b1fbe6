/// Why a user may do something somewhere, or may not, in a sentence: with the place of each rule in the configuration.
struct AccessExplanation {
  let isAllowed: Bool
  let text: String

  /// - Parameter event: nil asks for any event.
  init(
    _ verb: AccessVerb, _ event: String?, at place: AccessPlace, for identity: AccessIdentity, by policy: AccessPolicy
  ) {
    let answer = policy.answer(verb, at: place, for: identity)
    let isAllowed = answer.allows(event)
    let meant = answer.grounds.filter { $0.permit.allows(event) == isAllowed }
    let words = meant.map { $0.words(verb, event, in: place.namespace) }
    self.isAllowed = isAllowed
    text = (isAllowed ? words : Array(words.prefix(1))).joined(separator: "; and ")
  }
}

extension AccessAnswer.Ground {
  fileprivate func words(_ verb: AccessVerb, _ event: String?, in namespace: String?) -> String {
    switch self {
    case .owner: return "root and the daemon's own user may do everything"
    case .closed: return "the configuration lets no program use it"
    case .open(let upstream, true):
      return "no rule is for \(Self.name(upstream)): whoever can open the socket may do this"
    case .open(let upstream, false):
      return
        "no rule is for \(Self.name(upstream)): only root and the daemon's own user have the right '\(verb.rawValue)'"
    case .rules(let upstream, let rules, let covering):
      let granting = rules.filter { rule in event.map { rule.events?.filter.matches($0) ?? true } ?? true }
      if !granting.isEmpty { return Self.labels(granting) }
      var missing = "the right '\(verb.rawValue)'"
      if let event { missing += " on the event \(event.shortened(to: 64).tomlString)" }
      if let namespace { missing += " in the namespace \(namespace.shortened(to: 64).tomlString)" }
      return "of the rules for \(Self.name(upstream)) none gives this user \(missing): \(Self.labels(covering))"
    }
  }

  private static func name(_ upstream: String?) -> String { upstream.map { "'\($0)'" } ?? "upstreams used by URL" }

  /// Most rules that are named.
  private static let labelLimit = 20

  private static func labels(_ rules: [AccessPolicy.Rule]) -> String {
    let named = rules.prefix(labelLimit).map(\.rule.label.text).joined(separator: ", ")
    return rules.count > labelLimit ? "\(named) and \(rules.count - labelLimit) more" : named
  }
}
