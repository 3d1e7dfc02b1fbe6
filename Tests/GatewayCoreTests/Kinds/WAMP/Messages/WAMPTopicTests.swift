import Testing

@testable import GatewayCore

@Suite struct WAMPTopicTests {
  @Test func spellingsThatUnicodeHoldsToBeEqualAreDifferentTopics() {
    #expect(Set([WAMPTopic(glob: "caf\u{e9}"), WAMPTopic(glob: "cafe\u{301}")]).count == 2)
  }

  @Test(arguments: [
    ("com.example.topic", "com.example.topic", WAMPMatch.exact),
    (#"com.\*.x"#, "com.*.x", .exact),
    ("*", "", .prefix),
    ("a.b.*", "a.b.", .prefix),
    ("a.*", "a.", .prefix),
    ("a.*.c", "a..c", .wildcard),
    ("*.c", ".c", .wildcard),
    ("a.*.c.*", "a..c.", .wildcard),
    ("*.*", ".", .wildcard),
    (#"a.*.c\?"#, "a..c?", .wildcard),
    ("a.b*", "a.b", .prefix),
    ("a.*x.c", "a.", .prefix),
    ("a.?.c", "a.", .prefix),
    ("a.b?", "a.b", .prefix),
    ("?", "", .prefix),
    ("a**", "a", .prefix),
    (#"a.\**"#, "a.*", .prefix),
  ])
  func aGlobBecomesTheNarrowestPatternOfTheRouter(_ glob: String, _ uri: String, _ match: WAMPMatch) {
    #expect(WAMPTopic(glob: glob) == WAMPTopic(uri: uri, match: match))
  }

  @Test func everythingIsTheEmptyPrefix() {
    #expect(WAMPTopic.all == WAMPTopic(glob: "*"))
    #expect(WAMPTopic.all.problem == nil)
  }
}

@Suite struct WAMPURITests {
  @Test(arguments: ["a", "com.example.topic", "com.exämple.Größe", "com.example.a-b_c/d", "wamp.session.on_join"])
  func looseNamesAreAllowed(_ text: String) { #expect(WAMPURI.problem(text) == nil) }

  @Test(arguments: ["", ".", "a..b", ".a", "a.", "a b", "a#b", "a\tb", "a\u{a0}b", "a\u{0}b", "a\u{7f}", "a\u{2028}b"])
  func whatARouterWouldEndTheSessionForIsRefused(_ text: String) { #expect(WAMPURI.problem(text) != nil) }

  @Test func patternsMayHaveEmptyComponents() {
    #expect(WAMPURI.problem("a..c", .wildcard) == nil)
    #expect(WAMPURI.problem("", .wildcard) == nil)
    #expect(WAMPURI.problem("a.", .prefix) == nil)
    #expect(WAMPURI.problem("a..b", .prefix) != nil)
    #expect(WAMPURI.problem("a b", .prefix) != nil)
  }

  @Test func namesHaveALimit() {
    #expect(WAMPURI.problem(String(repeating: "a", count: 1_024)) == nil)
    #expect(WAMPURI.problem(String(repeating: "a", count: 1_025)) != nil)
  }

  @Test func theRoutersOwnNamesAreReserved() {
    #expect(WAMPURI.isReserved("wamp.session.count"))
    #expect(WAMPURI.isReserved("wamp"))
    #expect(!WAMPURI.isReserved("wampus.x"))
  }
}
