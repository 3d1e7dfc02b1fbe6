import Testing

@testable import GatewayCore

/// A program that was to answer, and does not read fast enough to see what it is asked.
@Suite struct SlowCalleeTests {
  private let harness: GatewayHarness

  init() {
    harness = GatewayHarness { configuration in
      var settings = UpstreamSettings()
      settings.keep = .always
      configuration.upstreams["chat"] = ConfiguredUpstream(
        url: UpstreamURL(scheme: "http", host: "chat.example"), settings: settings)
    }
    harness.upstream.channel.accept()
  }

  /// Its queue has room for one event.
  private func slow(_ more: String = "") -> HarnessClient {
    let client = harness.client()
    subscribe(client, #","credit":0,"queue":1\#(more)"#)
    return client
  }

  private func subscribe(_ client: HarnessClient, _ more: String = "") {
    client.call("subscribe", #"{"upstream":"chat","answer":true,"events":["ask"]\#(more)}"#)
    client.read()
  }

  private func ask(_ ids: UInt64...) { for id in ids { harness.upstream.channel.emit("ask", #""}}""#, ack: id) } }

  private var declined: [String] { harness.upstream.channel.declined }

  @Test(arguments: [("drop_oldest", ["4 unheard", "5 unheard"]), ("pause", ["5 unheard", "6 unheard"])])
  func whatItsQueueDropsIsAnsweredForAtOnce(_ policy: String, _ expected: [String]) {
    let client = slow(#","on_slow":"\#(policy)""#)
    ask(4, 5, 6)
    #expect(declined == expected)
    client.disconnect()
    #expect(declined.count == 3)
  }

  @Test func anotherOneThatWasAskedMayStillAnswer() {
    _ = slow()
    let quick = harness.client()
    subscribe(quick)
    ask(4, 5)
    #expect(declined.isEmpty)
    let token = quick.readValues()[0]["params"]?["ack"]?.stringValue ?? ""
    quick.call("respond", #"{"ack":"\#(token)"}"#)
    #expect(harness.upstream.channel.answers == ["4 []"])
    quick.disconnect()
    #expect(declined.isEmpty)
    ask(6)
    #expect(declined == ["5 abandoned"])
  }

  @Test func itsOtherSubscriptionMayStillAnswer() {
    let client = slow()
    subscribe(client)
    ask(4, 5)
    #expect(declined.isEmpty)
    #expect(client.readValues().compactMap { $0["params"]?["ack"]?.stringValue }.count == 2)
  }

  @Test func whatWaitsWhenItsSubscriptionEndsIsAnsweredFor() {
    let client = slow(#","subscription":"s""#)
    let other = #","events":["other"]"#
    client.call("subscribe", #"{"upstream":"chat","answer":true,"subscription":"t"\#(other)}"#)
    ask(4)
    client.call("unsubscribe", #"{"subscription":"s"}"#)
    #expect(declined == ["4 unheard"])
  }

  @Test func veryManyQuestionsThatItNeverSawAreAnsweredForAPortionInEachTurn() {
    let client = harness.client()
    let count = Endings.portion + 2
    subscribe(client, #","credit":0,"queue":\#(count)"#)
    for id in 1...count { ask(UInt64(id)) }
    client.disconnect()
    #expect(declined.count == Endings.portion)
    harness.pass(.zero)
    #expect(declined.count == count && declined.allSatisfy { $0.hasSuffix(" unheard") })
  }

  @Test func onlyATokenIsTakenForOne() {
    let tails = [
      #"1,"args":[{"ack":"x"}]}}"#, #"1,"kwargs":{"ack":"x"}}}"#, #"1,"args":["\",\"ack\":\"x"]}}"#, #""}}"#,
    ]
    for tail in tails { #expect(LocalNotification.answerToken(inTail: Array((tail + "\n").utf8)) == nil, "\(tail)") }
    #expect(LocalNotification.answerToken(inTail: Array((#"1,"args":[],"ack":"a81"}}"# + "\n").utf8)) == "a81")
  }
}
