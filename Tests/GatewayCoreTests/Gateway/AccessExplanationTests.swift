import Testing

@testable import GatewayCore

/// `access.explain`: the rule that decides, with its place.
@Suite struct AccessExplanationTests {
  private let harness = GatewayHarness {
    var say = AccessRule(subject: .user(1_000), upstreams: ["chat"], events: ["say"], allow: [.send])
    say.label = AccessRuleLabel(text: "[[access]] 1 (say)")
    var ops = AccessRule(subject: .group(50), upstreams: ["chat"], namespaces: ["/"], allow: [.subscribe])
    ops.label = AccessRuleLabel(text: "[[access]] 2 (ops)")
    $0.access = [say, ops]
  }

  private func explain(_ params: String) -> JSONValue? {
    HarnessClient.values(harness.client(uid: 0).call("access.explain", "{\(params)}")).last
  }

  private func says(_ params: String, _ isAllowed: Bool, _ rule: String) {
    let result = explain(params)?["result"]
    #expect(result?["allowed"]?.boolValue == isAllowed)
    #expect(result?["rule"]?.stringValue == rule)
  }

  @Test func theRuleThatAllowsItIsNamedWithItsPlace() {
    says(#""user":"alice","upstream":"chat","event":"say","right":"send""#, true, "[[access]] 1 (say)")
    says(#""uid":1000,"upstream":"chat","right":"request""#, true, "[[access]] 1 (say)")
    says(#""user":"alice","upstream":"chat","event":"any","right":"subscribe""#, true, "[[access]] 2 (ops)")
  }

  @Test func whatIsMissingIsNamedWithTheRulesThatDecide() {
    says(
      #""user":"alice","upstream":"chat","event":"sing","right":"send""#, false,
      #"of the rules for 'chat' none gives this user the right 'send' on the event "sing" in the namespace "/": [[access]] 1 (say), [[access]] 2 (ops)"#
    )
    says(
      #""uid":1001,"upstream":"chat","right":"send""#, false,
      #"of the rules for 'chat' none gives this user the right 'send' in the namespace "/": [[access]] 1 (say), [[access]] 2 (ops)"#
    )
    says(
      #""user":"alice","url":"http://chat.example/other","right":"subscribe""#, false,
      #"of the rules for 'chat' none gives this user the right 'subscribe' in the namespace "/other": [[access]] 1 (say), [[access]] 2 (ops)"#
    )
  }

  @Test func whatHoldsWithoutARuleIsSaidToo() {
    says(#""uid":0,"upstream":"chat","right":"admin""#, true, "root and the daemon's own user may do everything")
    says(
      #""uid":7,"url":"http://other.example","right":"send""#, true,
      "no rule is for upstreams used by URL: whoever can open the socket may do this")
    says(
      #""uid":7,"url":"http://other.example","right":"admin""#, false,
      "no rule is for upstreams used by URL: only root and the daemon's own user have the right 'admin'")
    harness.reload { $0.adhoc = false }
    #expect(explain(#""uid":7,"url":"http://other.example","right":"send""#)?["result"]?["allowed"]?.boolValue == false)
  }

  @Test(arguments: [
    #""user":"bob","upstream":"chat","right":"send""#, #""upstream":"chat","right":"send""#,
    #""user":"alice","uid":1,"upstream":"chat","right":"send""#, #""uid":1,"upstream":"chat","right":"fly""#,
    #""uid":1,"right":"send""#,
  ])
  func aQuestionThatIsNotClearIsRefused(_ params: String) {
    #expect(explain(params)?["error"]?["data"]?["type"]?.stringValue == "InvalidParams")
  }

  @Test func onlyAnAdministratorAsks() {
    let lines = harness.client(uid: 1_000).call("access.explain", #"{"uid":0,"upstream":"chat","right":"send"}"#)
    #expect(OutboxScene.error(lines) == "PermissionDenied")
  }
}
