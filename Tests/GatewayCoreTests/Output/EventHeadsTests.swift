import Testing

@testable import GatewayCore

@Suite struct EventHeadsTests {
  private let heads = EventHeads()

  @Test func equalIdsShareOneHeadUntilTheLastIsGivenBack() {
    let (first, second) = (heads.take("s1"), heads.take("s1"))
    #expect(first.baseAddress == second.baseAddress)
    #expect(Array(first) == LocalNotification.eventHead(subscription: "s1"))
    heads.giveBack(first)
    #expect(heads.count == 1)
    #expect(Array(second) == LocalNotification.eventHead(subscription: "s1"))
    heads.giveBack(second)
    #expect(heads.count == 0)
  }

  @Test func idsThatOnlyLookAlikeHaveHeadsOfTheirOwn() {
    let (composed, decomposed) = (heads.take("\u{e9}"), heads.take("e\u{301}"))
    #expect(composed.baseAddress != decomposed.baseAddress)
    #expect(Array(composed) != Array(decomposed))
    heads.giveBack(composed)
    heads.giveBack(decomposed)
    #expect(heads.count == 0)
  }
}
