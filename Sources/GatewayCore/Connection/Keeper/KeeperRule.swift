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
