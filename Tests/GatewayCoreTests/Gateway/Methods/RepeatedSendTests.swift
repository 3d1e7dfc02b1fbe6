import Testing

@testable import GatewayCore

/// A durable send with the key of one that the disk does not have yet.
@Suite struct RepeatedSendTests {
  private let store = FakeOutboxStore()
  private let harness: GatewayHarness
  private let first: HarnessClient
  private let second: HarnessClient

  init() {
    harness = GatewayHarness(outbox: .open(store, []))
    first = harness.client()
    second = harness.client()
    first.call("subscribe", #"{"upstream":"chat"}"#)
    harness.upstream.channel.accept()
    first.read()
  }

  /// Both clients make the same call; the second with these params besides. The first has made it before.
  private func repeated(_ more: String = "") {
    let params = #"{"upstream":"chat","event":"e","delivery":"durable","key":"k""#
    for (client, more) in [(first, ""), (second, more)] {
      #expect(client.call("send", params + more + "}", id: 2).isEmpty)
    }
  }

  private func answer(_ client: HarnessClient) -> JSONValue? {
    harness.pass(.milliseconds(1))
    return client.readValues().first { $0["id"]?.integerValue == 2 }
  }

  @Test func itIsAnsweredWhenTheDiskHasTheFirst() {
    repeated()
    store.settle()
    let (one, other) = (answer(first)?["result"], answer(second)?["result"])
    #expect(one?["state"]?.stringValue == "durable" && one?["duplicate"] == nil)
    #expect(other?["duplicate"]?.boolValue == true && other?["id"] == one?["id"] && one?["id"] != nil)
    #expect(harness.upstream.channel.written.count == 1)
  }

  @Test func itTakesThePlaceOfAFirstOneThatTheDiskDidNotTake() {
    repeated()
    store.problem = StorageProblem(.full, "no room")
    store.settle()
    #expect(answer(first)?["error"]?["data"]?["type"]?.stringValue == "InternalError")
    store.problem = nil
    #expect(answer(second) == nil)
    store.settle()
    let result = answer(second)?["result"]
    #expect(result?["state"]?.stringValue == "durable" && result?["duplicate"] == nil)
    #expect(harness.upstream.channel.written.count == 1)
  }

  @Test func itWaitsNoLongerThanItsTime() {
    repeated(#","timeout":500"#)
    harness.pass(.milliseconds(600))
    #expect(answer(second)?["error"]?["data"]?["type"]?.stringValue == "InternalError")
    store.settle()
    #expect(answer(first)?["result"]?["state"]?.stringValue == "durable")
    #expect(second.read().isEmpty)
  }

  @Test func whoLeavesMeanwhileIsForgotten() {
    repeated()
    second.disconnect()
    store.settle()
    #expect(answer(first)?["result"]?["state"]?.stringValue == "durable")
    #expect(harness.upstream.channel.written.count == 1)
  }

  @Test func whatHasNoAnswerIsNotKeptWaiting() {
    repeated()
    second.say(
      #"{"jsonrpc":"2.0","method":"send","params":{"upstream":"chat","event":"e","delivery":"durable","key":"k"}}"#)
    #expect(second.session?.openCallCount == 1)
  }
}
