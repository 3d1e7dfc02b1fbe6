/// What `[[access]]` says as a whole that is no mistake in any rule and hardly meant: upstreams that rules cover, and
/// that these rules let nobody use, because they allow `admin` alone. The first rule for an administrator is such a one:
/// it takes everything from everybody who had it without rules.
struct AccessRulesCheck {
  let rules: [AccessReader.PlacedRule]
  /// Names of the configured upstreams.
  let upstreams: [String]
  /// Whether there may be upstreams by URL.
  let adhoc: Bool

  /// One warning for all of them, at the first rule that takes one.
  func note(_ warnings: ProblemNotes) {
    let closed = upstreams.filter { name in leavesNobody { $0.covers(name) } }
    let urls = adhoc && leavesNobody { $0.upstreams.isEmpty }
    var words = closed.map(\.tomlString)
    if urls { words.append("upstreams by URL") }
    let first = rules.first { placed in
      (urls && placed.rule.upstreams.isEmpty) || closed.contains { placed.rule.covers($0) }
    }
    guard let first else { return }
    let others = words.count > Self.listed ? " and \(words.count - Self.listed) others" : ""
    let closedWords = words.prefix(Self.listed).joined(separator: ", ") + others
    warnings.note(
      "access lets nobody but root use \(closedWords): the rules for that allow \"admin\" alone; whoever is to use it "
        + "needs a rule too, such as allow = [\"status\", \"subscribe\", \"send\"]", at: first.place)
  }

  /// Most upstreams that a warning names.
  private static let listed = 8

  /// Whether there are such rules, and all of them allow `admin` alone.
  private func leavesNobody(_ isCovering: (AccessRule) -> Bool) -> Bool {
    let covering = rules.lazy.map(\.rule).filter(isCovering)
    return !covering.isEmpty && covering.allSatisfy { $0.allow == [.admin] }
  }
}
