@testable import GatewayCore
import Testing

@testable import gatewayd

/// `[[access]]`: whom and what a rule names.
struct ConfigurationAccessTests {
  static let verbs = #""status", "subscribe", "send", "request", "admin""#

  static let broken = [
    broken("allow = [\"send\"]", "1: access must say whom it is for, by user or by group"),
    broken(
      "user = \"ann\"\ngroup = \"ops\"\nallow = [\"send\"]",
      "1: access must say only once whom it is for, not by user and group"),
    broken("user = \"eve\"\nallow = [\"send\"]", #"2: access.user names the user "eve", which does not exist"#),
    broken("gid = \"eve\"\nallow = [\"send\"]", #"2: access.gid names the group "eve", which does not exist"#),
    broken("uid = -1\nallow = [\"send\"]", "2: access.uid must be the name or number of a user, not -1"),
    broken(
      "gid = 4294967295\nallow = [\"send\"]", "2: access.gid must be the name or number of a group, not 4294967295"),
    broken(
      "user = \"4294967295\"\nallow = [\"send\"]", #"2: access.user names the user "4294967295", which does not exist"#),
    broken("user = true\nallow = [\"send\"]", "2: access.user must be the name or number of a user, not a boolean"),
    broken("user = \"\"\nallow = [\"send\"]", #"2: access.user must be the name or number of a user, not """#),
    broken("user = \"ann\"", "1: access has no allow, so that the rule allows nothing"),
    broken("user = \"ann\"\nallow = []", "3: access.allow must be a list of \(verbs), not an empty one"),
    broken("user = \"ann\"\nallow = [\"read\"]", "3: access.allow must be one of \(verbs), not \"read\""),
    broken("user = \"ann\"\nallow = \"send\"", "3: access.allow must be a list of \(verbs), not a string"),
    broken(
      "user = \"ann\"\nallow = [\"send\"]\nupstream = [\"caht\"]",
      #"4: access.upstream names "caht", but there is no such upstream, did you mean "chat"?"#),
    broken(
      "user = \"ann\"\nallow = [\"send\"]\nupstream = [\n\"chat\",\n\"nowhere\",\n\"n*\"]",
      #"6: access.upstream names "nowhere", but there is no such upstream"#),
    broken(
      "user = \"ann\"\nallow = [\"send\"]\nupstream = []",
      "4: access.upstream must be a list of names of upstreams, not an empty one"),
    broken(
      "user = \"ann\"\nallow = [\"send\"]\nupstream = \"chat\"",
      "4: access.upstream must be a list of names of upstreams, not a string"),
    broken(
      "user = \"ann\"\nallow = [\"send\"]\nevents = []",
      "4: access.events must be a list of names or globs of events, not an empty one"),
    broken(
      "user = \"ann\"\nallow = [\"send\"]\nevents = [\"\"]", "4: access.events must have names of 1 to 256 bytes"),
    broken(
      "user = \"ann\"\nallow = [\"send\"]\nnamespaces = \"/\"",
      "4: access.namespaces must be a list of names or globs of namespaces, not a string"),
    BrokenConfiguration(
      "[access]\nuser = \"ann\"",
      "g.toml:1: access must be an array of tables, each written as [[access]], not a table"),
    BrokenConfiguration("access = [1]", "g.toml:1: access must be a table, not an integer"),
  ]

  private static func broken(_ rule: String, _ problem: String) -> BrokenConfiguration {
    BrokenConfiguration("[[access]]\n\(rule)\n[upstream.chat]\nurl = \"http://h\"", "g.toml:\(problem)")
  }

  @Test(arguments: broken)
  func mistakeInARuleIsNamed(_ broken: BrokenConfiguration) {
    #expect(problems(broken.text) == broken.problems)
  }

  @Test func aRuleSaysWhereItStandsAndNamesItsNamespacesAndEvents() throws {
    let text = """
      [upstream.chat]
      url = "http://h"
      [[access]]
      uid = 7
      allow = ["send"]
      [[access]]
      user = "ann"
      upstream = ["chat"]
      namespaces = ["/", "/a*"]
      events = ["alarm.*", "say"]
      allow = ["send", "request"]
      """
    let rules = try configure(text).get().access
    #expect(
      rules.last
        == AccessRule(
          subject: .user(1001), upstreams: ["chat"], namespaces: ["/", "/a*"], events: ["alarm.*", "say"],
          allow: [.send, .request]))
    #expect(
      rules.map(\.label.text) == [
        "[[access]] 1 (user 7)",
        #"[[access]] 2 (user "ann", upstream "chat", namespaces "/", "/a*", events "alarm.*", "say")"#,
      ])
  }

  @Test func rulesAreReadInOrderWithTheirAccountsLookedUp() throws {
    let text = """
      [upstream.chat]
      url = "http://h"
      [[access]]
      user = "ann"
      allow = ["status", "send"]
      [[access]]
      group = "ops"
      upstream = ["chat", "c*", "\\\\chat"]
      allow = ["admin"]
      [[access]]
      uid = 7
      allow = ["send"]
      [[access]]
      gid = "8"
      allow = ["send"]
      """
    #expect(
      try configure(text).get().access == [
        AccessRule(subject: .user(1001), upstreams: [], allow: [.status, .send]),
        AccessRule(subject: .group(27), upstreams: ["chat", "c*", "\\chat"], allow: [.admin]),
        AccessRule(subject: .user(7), upstreams: [], allow: [.send]),
        AccessRule(subject: .group(8), upstreams: [], allow: [.send]),
      ])
  }
}
