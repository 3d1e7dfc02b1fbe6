import Testing

@testable import GatewayCore

/// What globs cost others, and what a user may have of them.
@Suite struct GlobSharesTests {
  private static func globs(_ range: Range<Int>) -> String {
    "[" + range.map { "\"*a\($0)\"" }.joined(separator: ",") + "]"
  }

  private static func params(_ globs: String, _ id: Int) -> String {
    #"{"upstream":"chat","subscription":"s\#(id)","events":\#(globs)}"#
  }

  @Test func aSubscriptionAtTheLimitOfGlobsCanBeReplaced() {
    let harness = GatewayHarness()
    let client = harness.client()
    for id in 0..<4 { client.call("subscribe", Self.params(Self.globs(id * 256..<(id + 1) * 256), id)) }
    #expect(client.call("subscribe", Self.params(Self.globs(2_000..<2_001), 4))[0].contains("QuotaExceeded"))
    let replaced = client.call("subscribe", Self.params(Self.globs(2_000..<2_256), 0))
    #expect(replaced[0].contains(#""result""#))
    #expect(client.call("subscribe", Self.params(Self.globs(3_000..<3_001), 4))[0].contains("QuotaExceeded"))
  }

  @Test(arguments: ["subscribe", "history"])
  func theErrorForGlobsThatNoFilterMayHaveNamesTheParam(_ method: String) {
    let client = GatewayHarness().client()
    let tooLong = "[\"*" + String(repeating: "a", count: EventFilter.globLengthLimit) + "\"]"
    for events in [Self.globs(0..<257), tooLong] {
      let error = HarnessClient.values(client.call(method, #"{"upstream":"chat","events":\#(events)}"#))[0]["error"]
      #expect(error?["data"]?["type"] == .string("InvalidParams") && error?["data"]?["param"] == .string("events"))
    }
  }

  @Test func longGlobsAreMoreWorkThanAsManyShortOnes() {
    let harness = GatewayHarness()
    let client = harness.client()
    let work = harness.gateway.seams.work
    let name = String(repeating: "a", count: 1_000)
    for (id, length, isMuch) in [(0, 8, false), (1, 200, true)] {
      let globs = (0..<20).map { "\"*\(String(repeating: "b", count: length))\($0)\"" }.joined(separator: ",")
      client.call("subscribe", Self.params("[\(globs)]", id))
      if id == 0 { harness.upstream.channel.accept() }
      harness.upstream.channel.emit(name)
      #expect(work.isMuch == isMuch)
    }
  }

  @Test func aLongNameThatMeetsManyGlobsIsWorkThatOthersNeedNotWaitFor() {
    let harness = GatewayHarness()
    let client = harness.client()
    client.call("subscribe", Self.params(Self.globs(0..<256), 0))
    harness.upstream.channel.accept()
    let work = harness.gateway.seams.work
    harness.upstream.channel.emit("short")
    #expect(!work.isMuch)
    harness.upstream.channel.emit(String(repeating: "a", count: 1_000))
    #expect(work.isMuch)
    work.begin()
    harness.upstream.channel.emit("short")
    #expect(!work.isMuch)
  }
}
