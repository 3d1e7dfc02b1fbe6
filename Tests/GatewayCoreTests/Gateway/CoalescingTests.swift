import Testing

@testable import GatewayCore

/// Sends with `coalesce`: of those that wait with one value, the newest is written.
@Suite struct CoalescingTests {
  private let harness = GatewayHarness()

  private func send(_ client: HarnessClient, _ args: String, _ more: String = "", id: Int = 1) -> [JSONValue] {
    HarnessClient.values(
      client.call("send", #"{"upstream":"chat","event":"e","args":[\#(args)],"coalesce":"k"\#(more)}"#, id: id))
  }

  @Test func theNewestIsWrittenInItsOwnPlace() {
    let client = harness.client()
    _ = send(client, "1")
    client.call("send", #"{"upstream":"chat","event":"other"}"#)
    #expect(send(client, "2")[0]["result"]?["state"]?.stringValue == "accepted")
    harness.upstream.channel.accept()
    #expect(harness.upstream.channel.written == ["other []", "e [2]"])
    _ = send(client, "3")
    _ = send(client, "4")
    #expect(harness.upstream.channel.written == ["other []", "e [2]", "e [3]", "e [4]"])
  }

  @Test func whoWaitsForTheOlderOneIsToldThatItWasDropped() {
    let client = harness.client()
    _ = send(client, "1", #","delivery":"acked""#, id: 7)
    let told = send(client, "2", id: 8)
    #expect(told.map { $0["id"]?.integerValue } == [7, 8])
    #expect(told[0]["result"]?["state"]?.stringValue == "dropped")
    #expect(told[0]["result"]?["reason"]?.stringValue == "coalesced")
  }

  @Test func aReplacedRequestIsCancelled() {
    let client = harness.client()
    client.call("request", #"{"upstream":"chat","event":"e","coalesce":"k"}"#)
    let error = send(client, "2", id: 8)[0]["error"]?["data"]
    #expect(error?["type"]?.stringValue == "Cancelled")
    #expect(error?["reason"]?.stringValue == "coalesced")
  }

  @Test(arguments: ["", #","delivery":"durable""#])
  func spellingsOfAValueThatUnicodeHoldsToBeOneAreDifferentValues(_ delivery: String) {
    let store = FakeOutboxStore()
    let harness = GatewayHarness(outbox: .open(store, []))
    let client = harness.client()
    for (number, value) in ["\u{e9}", "e\u{301}", "\u{e9}"].enumerated() {
      client.call("send", #"{"upstream":"chat","event":"e","args":[\#(number)],"coalesce":"\#(value)"\#(delivery)}"#)
      store.settle()
    }
    harness.upstream.channel.accept()
    #expect(harness.upstream.channel.written == ["e [1]", "e [2]"])
  }

  @Test func anotherUsersSendStays() {
    _ = send(harness.client(uid: 1), "1")
    _ = send(harness.client(uid: 2), "2")
    harness.upstream.channel.accept()
    #expect(harness.upstream.channel.written == ["e [1]", "e [2]"])
  }

  @Test func aFullQueueStillTakesAReplacement() {
    let harness = GatewayHarness { $0.limits.sendQueue = 1 }
    let client = harness.client()
    client.call("send", #"{"upstream":"chat","event":"e","args":[1],"coalesce":"k"}"#)
    let lines = client.call("send", #"{"upstream":"chat","event":"e","args":[2],"coalesce":"k"}"#)
    #expect(HarnessClient.values(lines)[0]["error"] == nil)
    let full = client.call("send", #"{"upstream":"chat","event":"e","args":[3]}"#)
    #expect(HarnessClient.values(full)[0]["error"]?["data"]?["type"]?.stringValue == "QueueFull")
    harness.upstream.channel.accept()
    #expect(harness.upstream.channel.written == ["e [2]"])
  }

  @Test func whatWasWrittenBeforeIsNotReplaced() {
    let client = harness.client()
    _ = send(client, "1", #","retries":3"#)
    harness.upstream.channel.accept()
    harness.upstream.channel.fail(.closed)
    _ = send(client, "2")
    harness.pass(.seconds(2))
    harness.upstream.channel.accept()
    #expect(harness.upstream.channel.written == ["e [1]#1", "e [2]"])
  }
}
