@testable import GatewayCore
import Testing

@Suite struct AccessPolicyTests {
  static let daemon: UInt32 = 990
  static let everything: Set<AccessVerb> = [.status, .subscribe, .send, .admin]
  static let open: Set<AccessVerb> = [.status, .subscribe, .send]

  static func policy(
    _ rules: [AccessRule] = [], upstreams: [String] = ["chat", "chat-test", "news"], adhoc: Bool = true
  ) -> AccessPolicy {
    var configuration = Configuration()
    configuration.access = rules
    configuration.adhoc = adhoc
    for name in upstreams {
      configuration.upstreams[name] = ConfiguredUpstream(
        url: UpstreamURL(scheme: "https", host: name), settings: UpstreamSettings())
    }
    return AccessPolicy(configuration, daemonUser: daemon)
  }

  static func rule(_ subject: AccessSubject, _ upstreams: [String] = [], _ allow: Set<AccessVerb>) -> AccessRule {
    AccessRule(subject: subject, upstreams: upstreams, allow: allow)
  }

  static func peer(_ uid: UInt32, _ gid: UInt32 = 100, groups: [UInt32] = []) -> AccessIdentity {
    PeerCredentials(pid: 1, uid: uid, gid: gid, groups: groups).identity
  }

  @Test func withoutRulesWhoeverCanOpenTheSocketHasThreeRights() {
    let policy = Self.policy()
    for upstream in ["chat", "news", nil] {
      #expect(policy.verbs(upstream: upstream, for: Self.peer(1_000)) == Self.open)
    }
    #expect(!policy.isAdministrator(Self.peer(1_000)))
    #expect(policy.generalRights(Self.peer(1_000)) == [.status, .subscribe, .send])
  }

  @Test(arguments: [UInt32(0), daemon])
  func rootAndTheDaemonsUserMayEverything(uid: UInt32) {
    let policy = Self.policy([Self.rule(.user(1_000), [], [.status])])
    for upstream in ["chat", "unknown", nil] {
      #expect(policy.verbs(upstream: upstream, for: Self.peer(uid)) == Self.everything)
    }
    #expect(policy.isAdministrator(Self.peer(uid)))
    #expect(policy.generalRights(Self.peer(uid)) == [.status, .subscribe, .send, .admin])
  }

  @Test func oneRuleClosesAnUpstreamForEverybodyElse() {
    let policy = Self.policy([Self.rule(.group(50), ["chat"], [.status, .subscribe])])
    let member = Self.peer(1_000, groups: [7, 50])
    #expect(policy.verbs(upstream: "chat", for: member) == [.status, .subscribe])
    #expect(policy.verbs(upstream: "chat", for: Self.peer(1_001)) == [])
    #expect(policy.verbs(upstream: "news", for: Self.peer(1_001)) == Self.open)
    #expect(policy.verbs(upstream: nil, for: Self.peer(1_001)) == Self.open)
    #expect(policy.generalRights(Self.peer(1_001)) == [.status, .subscribe, .send])
  }

  @Test func groupZeroIsNotRoot() {
    #expect(Self.policy().verbs(upstream: "chat", for: Self.peer(1_000, 0, groups: [0])) == Self.open)
  }

  @Test func aPrimaryAndASupplementaryGroupCountAlike() {
    let policy = Self.policy([Self.rule(.group(50), [], [.send])])
    #expect(policy.verbs(upstream: "chat", for: Self.peer(1, 50)) == [.send])
    #expect(policy.verbs(upstream: "chat", for: Self.peer(1, 100, groups: [50])) == [.send])
    #expect(policy.verbs(upstream: "chat", for: Self.peer(50, 100)) == [])
  }

  @Test func aRuleWithoutUpstreamCoversAdHocOnesAndAStarDoesNot() {
    let nobody = Self.peer(2)
    #expect(Self.policy([Self.rule(.user(1), [], [.send])]).verbs(upstream: nil, for: nobody) == [])
    let star = Self.policy([Self.rule(.user(1), ["*"], [.send])])
    #expect(star.verbs(upstream: nil, for: nobody) == Self.open)
    #expect(star.verbs(upstream: "chat", for: nobody) == [])
    #expect(star.verbs(upstream: "not configured", for: nobody) == [])
  }

  @Test func adminForSomeUpstreamsIsNoFullAdministrator() {
    let policy = Self.policy([Self.rule(.user(1), ["chat*"], [.admin, .status])])
    let peer = Self.peer(1)
    #expect(policy.allows(.admin, upstream: "chat-test", for: peer))
    #expect(!policy.allows(.admin, upstream: "news", for: peer))
    #expect(!policy.isAdministrator(peer))
    #expect(policy.generalRights(peer) == [.status, .subscribe, .send])
  }

  @Test func adminWithoutUpstreamIsAFullAdministrator() {
    let policy = Self.policy([Self.rule(.group(4), [], [.admin, .status])])
    #expect(policy.isAdministrator(Self.peer(1, 4)))
    #expect(policy.generalRights(Self.peer(1, 4)) == [.status, .admin])
    #expect(!policy.isAdministrator(Self.peer(4)))
    #expect(policy.generalRights(Self.peer(4)) == [])
  }

  @Test func generalRightsAreThoseOfWhatCanBeUsed() {
    let rules = [Self.rule(.user(1), ["*"], [.status])]
    #expect(Self.policy(rules, adhoc: false).generalRights(Self.peer(1)) == [.status])
    #expect(Self.policy(rules, adhoc: false).generalRights(Self.peer(2)) == [])
    #expect(Self.policy(rules, adhoc: true).generalRights(Self.peer(2)) == [.status, .subscribe, .send])
  }

  static let subjects: [AccessSubject] = [.user(1_000), .user(1_001), .group(50), .group(51)]
  static let reaches: [[String]] = [[], ["chat"], ["chat*"], ["news", "c?at"]]
  static let allowances: [Set<AccessVerb>] = [[], [.status], [.subscribe, .send], [.status, .admin]]

  /// What the doc comment says, written down a second time in the shortest form, by name of rule and upstream.
  static func expected(_ rules: [AccessRule], _ upstream: String?, _ peer: AccessIdentity) -> Set<AccessVerb> {
    if [0, daemon].contains(peer.uid) { return everything }
    let reach: [[String]: Set<String?>] = [
      []: ["chat", "chat-test", "news", nil], ["chat"]: ["chat"], ["chat*"]: ["chat", "chat-test"],
      ["news", "c?at"]: ["chat", "news"],
    ]
    let covering = rules.filter { reach[$0.upstreams]?.contains(upstream) == true }
    if covering.isEmpty { return open }
    let names: Set<AccessSubject> = Set(
      [.user(peer.uid)] + peer.groups.map { AccessSubject.group($0) })
    return covering.filter { names.contains($0.subject) }.reduce([]) { $0.union($1.allow) }
  }

  @Test func everyCombinationOfUserGroupRuleAndVerbIsDecidedAsDocumented() {
    var rules: [AccessRule] = []
    for subject in Self.subjects {
      for reach in Self.reaches { rules += Self.allowances.map { Self.rule(subject, reach, $0) } }
    }
    let peers = [0, Self.daemon, 1_000, 1_001, 1_002].flatMap { uid in
      [Self.peer(uid), Self.peer(uid, 50), Self.peer(uid, 100, groups: [51]), Self.peer(uid, 51, groups: [50, 7])]
    }
    var wrong: [String] = []
    for (index, first) in rules.enumerated() {
      // Alone, and together with another one in either order.
      for pair in [
        [first], [first, rules[(index * 7 + 3) % rules.count]], [rules[(index * 11 + 5) % rules.count], first],
      ] {
        let policy = Self.policy(pair)
        for peer in peers {
          for upstream in ["chat", "chat-test", "news", nil] {
            let expected = Self.expected(pair, upstream, peer)
            let decided = AccessVerb.allCases.filter { policy.allows($0, upstream: upstream, for: peer) }
            if Set(decided) != expected { wrong.append("\(pair) \(peer) \(upstream ?? "ad-hoc"): \(decided)") }
          }
        }
      }
    }
    #expect(wrong.first == nil)
  }
}
