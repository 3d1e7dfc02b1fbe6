import Testing

@testable import GatewayCore

/// Who asks for nothing of the past is told of no gap in it.
@Suite struct FreshSubscriberTests {
  private func gaps(_ client: HarnessClient) -> [JSONValue] {
    client.readValues().filter { $0["method"] == .string("gap") }
  }

  /// Subscribes, leaves, and waits until the unused connection is closed.
  private func closeByIdleness(_ harness: GatewayHarness) {
    let first = harness.client()
    first.call("subscribe", #"{"upstream":"chat"}"#)
    harness.upstream.channel.accept()
    harness.upstream.channel.emit("said")
    first.disconnect()
    harness.pass(.seconds(31))
    #expect(harness.upstream.channel.isClosed)
  }

  @Test func aFreshSubscriberAfterAnIdleCloseGetsNoGapAndTheEpochOfItsEvents() {
    let harness = GatewayHarness()
    closeByIdleness(harness)
    let fresh = harness.client()
    let result = HarnessClient.values(fresh.call("subscribe", #"{"upstream":"chat"}"#)).first?["result"]
    harness.upstream.channel.accept()
    #expect(gaps(fresh).isEmpty)
    let history = HarnessClient.values(harness.client().call("history", #"{"upstream":"chat"}"#)).first?["result"]
    #expect(result?["epoch"] != nil && history?["epoch"] == result?["epoch"])
  }

  @Test func aSubscriberThatComesBackAfterAnIdleCloseIsToldOfTheGap() {
    let harness = GatewayHarness()
    closeByIdleness(harness)
    let history = HarnessClient.values(harness.client().call("history", #"{"upstream":"chat"}"#)).first?["result"]
    let epoch = history?["epoch"]?.stringValue ?? ""
    let back = harness.client()
    back.call("subscribe", #"{"upstream":"chat","since":{"epoch":"\#(epoch)","seq":1}}"#)
    harness.upstream.channel.accept()
    #expect(gaps(back).map { $0["params"]?["reason"] } == [.string("upstream")])
  }

  /// The one that was there all the time has missed something, and both share the epoch.
  @Test func theGapOfAnotherSubscriberIsStillTold() {
    let harness = GatewayHarness()
    let first = harness.client()
    first.call("subscribe", #"{"upstream":"chat"}"#)
    harness.upstream.channel.accept()
    harness.upstream.channel.fail(.closed)
    let fresh = harness.client()
    fresh.call("subscribe", #"{"upstream":"chat"}"#)
    harness.pass(.seconds(60))
    harness.upstream.channel.accept()
    #expect(gaps(first).count == 1)
  }

  @Test func aFreshSubscriberAfterARestartWithHistoryOnDiskGetsNoGap() {
    let store = FakeHistoryStore()
    func scene(_ seed: UInt64) -> GatewayHarness {
      GatewayHarness(histories: .success(store), seed: seed) { configuration in
        configuration.upstreams["chat"]?.settings.history.disk = true
      }
    }
    let before = scene(1)
    closeByIdleness(before)
    before.gateway.commitHistories()
    let after = scene(2)
    let fresh = after.client()
    fresh.call("subscribe", #"{"upstream":"chat"}"#)
    after.upstream.channel.accept()
    #expect(gaps(fresh).isEmpty)
  }
}
