@testable import GatewayCore
import Testing

@Suite struct AccessPolicyTests {
  static let daemon: UInt32 = 990
  static let everything = Set(AccessVerb.allCases)
  static let open: Set<AccessVerb> = [.status, .subscribe, .send, .request]

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
    #expect(policy.verbs(upstream: "chat", for: Self.peer(1, 50)) == [.send, .request])
    #expect(policy.verbs(upstream: "chat", for: Self.peer(1, 100, groups: [50])) == [.send, .request])
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
    #expect(policy.verbs(upstream: "chat-test", for: peer).contains(.admin))
    #expect(!policy.verbs(upstream: "news", for: peer).contains(.admin))
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

  private static func limited(
    on upstreams: [String] = ["chat"], namespaces: [String] = [], events: [String] = [], _ allow: Set<AccessVerb>
  ) -> AccessRule {
    AccessRule(subject: .user(1), upstreams: upstreams, namespaces: namespaces, events: events, allow: allow)
  }

  private static let chat = AccessPlace(.upstream("chat"), namespace: "/")

  @Test func aRuleAllowsItsEventsAloneAndSeveralRulesAddUp() {
    let policy = Self.policy([
      Self.limited(events: ["say"], [.send]), Self.limited(events: ["alarm.*"], [.subscribe]),
      Self.limited(events: ["alarm.off"], [.send]),
    ])
    func allowed(_ verb: AccessVerb) -> [String] {
      ["say", "alarm.on", "alarm.off", "other"].filter { policy.allows(verb, $0, at: Self.chat, for: Self.peer(1)) }
    }
    #expect(allowed(.send) == ["say", "alarm.off"])
    #expect(allowed(.request) == ["say", "alarm.off"])
    #expect(allowed(.subscribe) == ["alarm.on", "alarm.off"])
    #expect(allowed(.status) == [])
    #expect(policy.allows(.send, at: Self.chat, for: Self.peer(1)))
    #expect(policy.answer(.send, at: Self.chat, for: Self.peer(2)).permit.passesNone)
    #expect(policy.answer(.send, at: Self.chat, for: Self.peer(0)).permit.passesAll)
  }

  @Test func aRuleWithoutEventsAllowsThemAllBesideOneThatNamesSome() {
    let policy = Self.policy([Self.limited(events: ["say"], [.send]), Self.limited([.send])])
    #expect(policy.answer(.send, at: Self.chat, for: Self.peer(1)).permit.passesAll)
  }

  @Test func anEscapedStarInARuleIsAName() {
    let policy = Self.policy([Self.limited(events: ["\\*"], [.send])])
    #expect(policy.allows(.send, "*", at: Self.chat, for: Self.peer(1)))
    #expect(!policy.allows(.send, "x", at: Self.chat, for: Self.peer(1)))
  }

  @Test func aNamespaceThatNoRuleNamesIsClosedAndItsQueryMakesItNoOther() {
    let policy = Self.policy([Self.limited(namespaces: ["/", "/open*"], [.send])])
    func may(_ namespace: String?) -> Bool {
      policy.allows(.send, at: AccessPlace(.upstream("chat"), namespace: namespace), for: Self.peer(1))
    }
    #expect(may("/") && may("/opened") && may("/open?token=x") && may(nil))
    #expect(!may("/admin") && !may("/admin?/open"))
    // The rule covers the upstream all the same.
    #expect(!policy.allows(.status, at: AccessPlace(.upstream("chat"), namespace: "/admin"), for: Self.peer(2)))
  }

  @Test func aQueryThatBeginsWithACombiningSignIsOneForTheRulesToo() {
    let policy = Self.policy([Self.limited(namespaces: ["*-open"], [.send])])
    func may(_ namespace: String) -> Bool {
      policy.allows(.send, at: AccessPlace(.upstream("chat"), namespace: namespace), for: Self.peer(1))
    }
    #expect(may("/a-open") && may("/a-open?\u{301}x"))
    #expect(!may("/admin?-open") && !may("/admin?\u{301}-open"))
  }

  @Test func requestIsApartFromSendWhereARuleNamesItAndOnlyThere() {
    let policy = Self.policy([
      Self.limited([.send]), AccessRule(subject: .user(2), upstreams: ["chat"], allow: [.request]),
      Self.limited(on: ["news"], [.send]),
    ])
    #expect(policy.verbs(upstream: "chat", for: Self.peer(1)) == [.send])
    #expect(policy.verbs(upstream: "chat", for: Self.peer(2)) == [.request])
    #expect(policy.verbs(upstream: "news", for: Self.peer(1)) == [.send, .request])
    #expect(policy.generalRights(Self.peer(2)) == [.status, .subscribe, .send, .request])
  }

  @Test func aNeighbourHasToAllowItAsWellAndItsEventsCount() {
    let policy = Self.policy([Self.limited(events: ["say"], [.send])])
    let place = AccessPlace(.adhoc, neighbours: ["chat"], namespace: "/")
    #expect(policy.allows(.send, "say", at: place, for: Self.peer(1)))
    #expect(!policy.allows(.send, "other", at: place, for: Self.peer(1)))
    #expect(!policy.allows(.send, at: place, for: Self.peer(2)))
    #expect(policy.allows(.send, at: AccessPlace(.adhoc, namespace: "/"), for: Self.peer(2)))
    let strict = AccessPlace(.adhoc, neighbours: ["chat", "news"], namespace: "/")
    let both = Self.policy([
      Self.limited(events: ["say"], [.send]), Self.limited(on: ["news"], events: ["s*"], [.send]),
    ])
    #expect(both.allows(.send, "say", at: strict, for: Self.peer(1)))
    #expect(!both.allows(.send, "sing", at: strict, for: Self.peer(1)))
  }

  @Test func anAdministratorOfSomeEventsOrNamespacesIsNoFullOne() {
    #expect(!Self.policy([Self.limited(on: [], events: ["a"], [.admin])]).isAdministrator(Self.peer(1)))
    #expect(!Self.policy([Self.limited(on: [], namespaces: ["/"], [.admin])]).isAdministrator(Self.peer(1)))
  }

  static let subjects: [AccessSubject] = [.user(1_000), .user(1_001), .group(50), .group(51)]
  static let reaches: [[String]] = [[], ["chat"], ["chat*"], ["news", "c?at"]]
  static let allowances: [Set<AccessVerb>] = [
    [], [.status], [.subscribe, .send], [.status, .request], [.status, .admin],
  ]

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
    var verbs: Set<AccessVerb> = covering.filter { names.contains($0.subject) }.reduce([]) { $0.union($1.allow) }
    let namesRequest = covering.contains { $0.allow.contains(.request) }
    if !namesRequest, verbs.contains(.send) { verbs.insert(.request) }
    return verbs
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
            let place = AccessPlace(upstream.map { .upstream($0) } ?? .adhoc, namespace: "/")
            let decided = AccessVerb.allCases.filter { policy.allows($0, at: place, for: peer) }
            if Set(decided) != expected { wrong.append("\(pair) \(peer) \(upstream ?? "ad-hoc"): \(decided)") }
          }
        }
      }
    }
    #expect(wrong.first == nil)
  }
}
