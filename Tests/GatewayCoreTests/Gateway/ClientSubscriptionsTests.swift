import Testing

@testable import GatewayCore

@Suite struct ClientSubscriptionsTests {
  @Test func spellingsOfAnIDThatUnicodeHoldsToBeOneAreDifferentSubscriptions() {
    let harness = GatewayHarness()
    let client = harness.client()
    func call(_ method: String, _ id: String) {
      let upstream = method == "subscribe" ? #""upstream":"chat","# : ""
      client.call(method, #"{\#(upstream)"subscription":"\#(id)"}"#)
    }
    for id in ["\u{e9}", "e\u{301}", "\u{e9}"] { call("subscribe", id) }
    #expect(client.session?.subscriptions.count == 2)
    call("unsubscribe", "\u{e9}")
    #expect(client.session?.subscriptions.all.map { Array($0.subscription.id.utf8) } == [Array("e\u{301}".utf8)])
  }
}
