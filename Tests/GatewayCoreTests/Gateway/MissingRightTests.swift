import Testing

@testable import GatewayCore

/// The rule that an error tells to ask the administrator for: following it gives the right, and takes nothing from
/// others without a word.
@Suite struct MissingRightTests {
  static let alice: UInt32 = 1_000
  private let harness = GatewayHarness()

  private func reload(_ rules: [AccessRule]) { harness.reload { $0.access = rules } }

  private static func rule(_ uid: UInt32, _ upstreams: [String], _ allow: Set<AccessVerb>) -> AccessRule {
    AccessRule(subject: .user(uid), upstreams: upstreams, allow: allow)
  }

  /// What the error says from the rule on.
  private func advice(_ method: String, _ params: String = "{}") -> String? {
    let error = HarnessClient.values(harness.client(uid: Self.alice).call(method, params)).last?["error"]
    return error?["message"]?.stringValue?.behind("; ask the administrator for ")
  }

  @Test func theFirstRuleThatAHintAsksForIsSaidToTakeTheRestFromEverybodyElse() {
    let others =
      "the others need one too, and this user for anything else (see [[access]] in gatewayd.toml(5))."
    #expect(
      advice("reload")
        == #"an [[access]] rule with allow = ["admin"]. It would be the first rule, and from then on rules alone say who may do what: "#
        + others)
    #expect(
      advice("disconnect", #"{"upstream":"chat"}"#)
        == #"an [[access]] rule with upstream = ["chat"], allow = ["admin"]. It would be the first rule for 'chat', and from then on rules alone say who may do what there: "#
        + others)
    reload([Self.rule(1, ["chat"], [.send])])
    #expect(
      advice("reload")
        == #"an [[access]] rule with allow = ["admin"]. It would be the first rule for some upstreams, and from then on rules alone say who may do what there: "#
        + others)
    #expect(
      advice("disconnect", #"{"upstream":"chat"}"#)
        == #"an [[access]] rule with upstream = ["chat"], allow = ["admin"]."#)
    reload([Self.rule(1, [], [.send])])
    #expect(advice("reload") == #"an [[access]] rule with allow = ["admin"]."#)
  }

  @Test func aHintDoesNotTakeRequestFromEverybodyWhoHasSend() {
    let asking = #"{"upstream":"chat","event":"echo"}"#
    reload([Self.rule(1, ["chat"], [.send])])
    #expect(
      advice("request", asking)
        == #"an [[access]] rule with upstream = ["chat"], events = ["echo"], allow = ["send"], which includes 'request' there."#
    )
    reload([Self.rule(1, ["chat"], [.request])])
    #expect(
      advice("request", asking)
        == #"an [[access]] rule with upstream = ["chat"], events = ["echo"], allow = ["request"]."#)
  }

  @Test func theRuleThatAHintAsksForCanBeWrittenWhereTheCallHasAURL() {
    let own = #"{"url":"http://chat.example","event":"say"}"#
    let beside = #"{"url":"http://chat.example/other","event":"say"}"#
    reload([Self.rule(1, ["chat"], [.send])])
    for target in [own, beside] {
      #expect(
        advice("send", target)
          == #"an [[access]] rule for the configured upstream of that server, with events = ["say"], allow = ["send"]."#
      )
    }
    reload([Self.rule(1, ["chat"], [.send]), Self.rule(Self.alice, ["chat"], [.status])])
    for target in [own, beside] {
      #expect(
        advice("send", target) == #"an [[access]] rule with upstream = ["chat"], events = ["say"], allow = ["send"]."#)
    }
    reload([Self.rule(1, [], [.send])])
    #expect(advice("send", beside) == #"an [[access]] rule with events = ["say"], allow = ["send"]."#)
  }
}

extension String {
  /// What follows a text that occurs in it.
  fileprivate func behind(_ text: String) -> String? {
    firstRange(ofText: text).map { String(self[$0.upperBound...]) }
  }
}
