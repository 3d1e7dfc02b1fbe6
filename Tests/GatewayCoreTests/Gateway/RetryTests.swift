import Testing

@testable import GatewayCore

/// Sends with `retries`: written again until they are acknowledged, in order, settled once.
@Suite struct RetryTests {
  private let harness = GatewayHarness()

  private static func kind(_ lines: [String]) -> String? {
    HarnessClient.values(lines).first?["error"]?["data"]?["type"]?.stringValue
  }

  private static func request(_ args: String, retries: Int = 3, more: String = "") -> String {
    #"{"upstream":"chat","event":"e","args":[\#(args)],"retries":\#(retries),"ack_timeout":100,"timeout":60000\#(more)}"#
  }

  private var written: [String] { harness.upstream.channel.written }

  /// A client whose connection is up.
  private func connected(uid: UInt32 = 1_000) -> HarnessClient {
    let client = harness.client(uid: uid)
    client.call("send", #"{"upstream":"chat","event":"hi"}"#)
    if written.isEmpty { harness.upstream.channel.accept() }
    return client
  }

  @Test func withoutAnAcknowledgementItIsWrittenAgainWithANewIdAndThenFails() {
    let client = connected()
    client.call("request", Self.request("1"))
    harness.pass(.milliseconds(399))
    #expect(written == ["hi []", "e [1]#0", "e [1]#1", "e [1]#2", "e [1]#3"])
    #expect(client.read().isEmpty)
    harness.pass(.seconds(5))
    #expect(Self.kind(client.read()) == "AckTimeout")
    #expect(written.count == 5)
  }

  @Test func oneIsUnderWayAtATime() {
    let client = connected()
    for number in 1...3 { client.call("request", Self.request("\(number)"), id: number) }
    #expect(written == ["hi []", "e [1]#0"])
    harness.upstream.channel.acknowledge(0)
    #expect(written == ["hi []", "e [1]#0", "e [2]#1"])
    harness.pass(.milliseconds(100))
    harness.upstream.channel.acknowledge(2)
    harness.upstream.channel.acknowledge(3)
    #expect(written == ["hi []", "e [1]#0", "e [2]#1", "e [2]#2", "e [3]#3"])
    #expect(client.readValues().compactMap { $0["id"]?.integerValue } == [1, 2, 3])
    #expect(harness.gateway.upstreams.pool.all[0].delivery.commands.isIdle)
  }

  @Test func sendsWithoutRetriesAndOfOtherUsersAreNotHeldUp() {
    let client = connected()
    let other = connected(uid: 1_001)
    client.call("request", Self.request("1"))
    client.call("request", Self.request("2"), id: 2)
    client.call("send", #"{"upstream":"chat","event":"plain"}"#, id: 3)
    other.call("request", Self.request("3"))
    #expect(written == ["hi []", "hi []", "e [1]#0", "plain []", "e [3]#1"])
  }

  @Test func aLateAcknowledgementOfAnEarlierTryIsASuccess() {
    let client = connected()
    client.call("request", Self.request("1"))
    harness.pass(.milliseconds(250))
    harness.upstream.channel.acknowledge(0, #""late""#)
    #expect(client.read() == [#"{"jsonrpc":"2.0","id":1,"result":{"args":["late"]}}"#])
    harness.upstream.channel.acknowledge(2, #""again""#)
    harness.pass(.seconds(1))
    #expect(client.read().isEmpty)
    #expect(written.count == 4)
  }

  @Test func aLostLinkPutsItBackBeforeWhatFollowsIt() {
    let client = connected()
    client.call("request", Self.request("1"))
    client.call("request", Self.request("2"), id: 2)
    harness.upstream.channel.fail(.closed)
    client.call("send", #"{"upstream":"chat","event":"plain"}"#, id: 3)
    client.call("request", Self.request("3"), id: 4)
    #expect(client.readValues().allSatisfy { $0["error"] == nil })
    harness.pass(.seconds(2))
    harness.upstream.channel.accept()
    #expect(written == ["e [1]#1", "plain []"])
    for ack in 1...3 { harness.upstream.channel.acknowledge(UInt64(ack)) }
    #expect(written == ["e [1]#1", "plain []", "e [2]#2", "e [3]#3"])
    #expect(client.readValues().compactMap { $0["id"]?.integerValue } == [1, 2, 4])
  }

  @Test func everyWriteCountsAlsoOverReconnects() {
    let client = connected()
    client.call("request", Self.request("1", retries: 1))
    harness.upstream.channel.fail(.closed)
    harness.pass(.seconds(2))
    harness.upstream.channel.accept()
    harness.upstream.channel.fail(.closed)
    #expect(Self.kind(client.read()) == "AckLost")
  }

  @Test func theTimeOfTheCallBoundsAllTries() {
    let client = connected()
    client.call("request", Self.request("1").replacing("60000", with: "150"))
    client.call("request", Self.request("2").replacing("60000", with: "120"), id: 2)
    harness.pass(.milliseconds(130))
    let first = client.readValues()[0]
    #expect(first["id"]?.integerValue == 2)
    #expect(first["error"]?["data"]?["type"]?.stringValue == "UpstreamDown")
    harness.pass(.milliseconds(30))
    #expect(Self.kind(client.read()) == "AckTimeout")
    harness.pass(.seconds(1))
    #expect(written == ["hi []", "e [1]#0", "e [1]#1"])
  }

  @Test func aTimeToLiveEndsTheTries() {
    let client = connected()
    client.call("request", Self.request("1", more: #","ttl":150"#))
    harness.pass(.seconds(1))
    #expect(Self.kind(client.read()) == "AckTimeout")
    #expect(written == ["hi []", "e [1]#0", "e [1]#1"])
  }

  @Test func whatWasWrittenBeforeIsNeverCalledUnsent() {
    let client = connected()
    client.call("request", Self.request("1"))
    harness.upstream.channel.fail(.closed)
    harness.pass(.seconds(2))
    harness.upstream.channel.fail(UpstreamFailure(.refused, "refused", serverMessage: "no"))
    #expect(Self.kind(client.read()) == "AckLost")
  }

  @Test func anAcceptedSendIsTriedInTheBackground() {
    let client = connected()
    let answer = client.call("send", #"{"upstream":"chat","event":"e","retries":1,"ack_timeout":100}"#)
    #expect(HarnessClient.values(answer)[0]["result"]?["state"]?.stringValue == "accepted")
    client.disconnect()
    harness.pass(.milliseconds(150))
    #expect(written == ["hi []", "e []#0", "e []#1"])
    harness.pass(.seconds(1))
    let lost = harness.facts.contains { if case .sendFailed(_, _, "lost") = $0 { true } else { false } }
    #expect(lost)
  }

  @Test func aClientThatLeavesEndsItsTriesAndFreesTheLine() {
    let client = connected()
    let other = harness.client()
    client.call("request", Self.request("1"))
    other.call("request", Self.request("2"))
    client.disconnect()
    #expect(written == ["hi []", "e [1]#0", "e [2]#1"])
    harness.pass(.milliseconds(150))
    #expect(written.last == "e [2]#2")
  }

  @Test func aServerThatReadsNothingGetsNoFurtherCopies() {
    let client = connected()
    client.call("request", Self.request("1"))
    harness.upstream.channel.unsentBytes = 64 << 20
    harness.pass(.seconds(2))
    #expect(written.count == 2)
    harness.upstream.channel.unsentBytes = 0
    harness.pass(.milliseconds(100))
    #expect(written.count == 3)
  }

  @Test func anAckTimeoutWithoutRetriesEndsTheCall() {
    let client = connected()
    client.call("request", #"{"upstream":"chat","event":"e","ack_timeout":100,"timeout":60000}"#)
    harness.pass(.milliseconds(101))
    #expect(Self.kind(client.read()) == "AckTimeout")
    #expect(written == ["hi []", "e []#0"])
  }

  @Test(arguments: [#""volatile":true"#, #""no_queue":true"#, #""delivery":"sent""#])
  func whatContradictsRetriesIsRefused(_ other: String) {
    let lines = harness.client().call("send", #"{"upstream":"chat","event":"e","retries":1,\#(other)}"#)
    #expect(Self.kind(lines) == "InvalidParams")
  }
}
