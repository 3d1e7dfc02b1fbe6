import Testing

@testable import GatewayCore

/// Sends during which the link breaks.
@Suite struct SuspicionTests {
  private let harness = GatewayHarness {
    $0.upstreams["chat"]?.settings.reconnect.base = .milliseconds(1)
    $0.upstreams["chat"]?.settings.reconnect.cap = .milliseconds(1)
  }

  private var channel: FakeChannel { harness.upstream.channel }

  private func request(_ args: String, retries: Int = 9, more: String = "") -> String {
    #"{"upstream":"chat","event":"e","args":[\#(args)],"retries":\#(retries),"ack_timeout":60000,"timeout":600000\#(more)}"#
  }

  private func connected(uid: UInt32 = 1_000) -> HarnessClient {
    let client = harness.client(uid: uid)
    client.call("send", #"{"upstream":"chat","event":"hi"}"#)
    if channel.written.isEmpty { channel.accept() }
    return client
  }

  /// The link breaks, and the next one opens.
  private func breaks(_ failure: UpstreamFailure = UpstreamFailure(.closed, "the server hung up")) {
    channel.fail(failure)
    harness.pass(.milliseconds(10))
    channel.accept()
  }

  private static func kind(_ lines: [String]) -> String? {
    HarnessClient.values(lines).first?["error"]?["data"]?["type"]?.stringValue
  }

  @Test func oneBreakIsChance() {
    connected().call("request", request("1"))
    breaks()
    #expect(channel.written == ["e [1]#1"])
  }

  @Test func noMessageIsBlamedForALinkThatNoMessageEnded() {
    connected().call("request", request("1"))
    for ack in 1...3 {
      breaks(UpstreamFailure(.fleet, "another host of the fleet took the link over"))
      #expect(channel.written == ["e [1]#\(ack)"])
    }
  }

  @Test func whatWasUnderWayTwiceWaitsUntilOthersHaveGone() {
    let client = connected()
    client.call("request", request("1"))
    breaks()
    breaks()
    #expect(channel.written.isEmpty)
    // Those of another user go past it, and while one waits for its answer it stays where it is.
    let other = harness.client(uid: 1_001)
    other.call("request", #"{"upstream":"chat","event":"o","timeout":30000}"#)
    other.call("request", request("2"), id: 2)
    harness.pass(.seconds(20))
    #expect(channel.written == ["o []#2", "e [2]#3"])
    channel.acknowledge(2)
    harness.pass(.seconds(1))
    #expect(channel.written.count == 2)
    channel.acknowledge(3)
    harness.pass(.seconds(1))
    #expect(channel.written == ["o []#2", "e [2]#3", "e [1]#4"])
    channel.acknowledge(4, "\"at last\"")
    #expect(client.read().last == #"{"jsonrpc":"2.0","id":1,"result":{"args":["at last"]}}"#)
    #expect(harness.gateway.upstreams.pool.all[0].delivery.commands.isIdle)
  }

  @Test func itsOwnLineKeepsItsOrderBehindIt() {
    let client = connected()
    client.call("request", request("1"))
    client.call("request", request("2"), id: 2)
    breaks()
    breaks()
    client.call("request", request("3"), id: 3)
    client.call("send", #"{"upstream":"chat","event":"plain"}"#, id: 4)
    #expect(channel.written == ["plain []"])
    harness.pass(.seconds(1))
    for ack in 2...4 { channel.acknowledge(UInt64(ack)) }
    #expect(channel.written == ["plain []", "e [1]#2", "e [2]#3", "e [3]#4"])
  }

  @Test func whatStandsBehindItFollowsWhenItIsTakenBack() {
    let client = connected()
    client.call("request", request("1"))
    client.call("request", request("2"), id: 2)
    breaks()
    breaks()
    client.say(#"{"jsonrpc":"2.0","method":"rpc.cancel","params":{"id":1}}"#)
    #expect(channel.written == ["e [2]#2"])
  }

  @Test func itsPausesGrow() {
    connected().call("request", request("1"))
    breaks()
    breaks()
    for pause in [1, 5, 25, 125, 300] {
      harness.pass(.seconds(pause) - .milliseconds(20))
      #expect(channel.written.isEmpty)
      harness.pass(.milliseconds(20))
      #expect(channel.written.count == 1)
      breaks()
    }
  }

  @Test func itsLastTryEndsItAndTellsWhy() {
    let client = connected()
    client.call("request", request("1", retries: 2))
    breaks()
    breaks()
    harness.pass(.seconds(1))
    breaks()
    let error = client.readValues().last?["error"]?["data"]
    #expect(error?["type"]?.stringValue == "AckLost")
    #expect(
      error?["detail"]?.stringValue == "the server hung up; the link broke 3 times while this was under way")
  }

  @Test func aSuspectIsTriedAtItsOwnMomentThoughAnotherOneHasToWaitLonger() {
    connected().call("request", request("1"))
    breaks()
    breaks()
    harness.pass(.seconds(1))
    // Tried alone: its pause has 5 s now.
    breaks()
    harness.client(uid: 1_001).call("request", request("2"))
    breaks()
    breaks()
    harness.pass(.seconds(1))
    #expect(channel.written == ["e [2]#5"])
  }

  @Test func onlyTheOneThatWasTriedAloneIsBlamed() {
    connected().call("request", request("1"))
    breaks()
    breaks()
    harness.pass(.seconds(1))
    let other = harness.client(uid: 1_001)
    other.call("request", request("2"))
    #expect(channel.written == ["e [1]#2", "e [2]#3"])
    breaks()
    #expect(channel.written == ["e [2]#4"])
    breaks()
    #expect(channel.written == ["e [2]#5"])
  }

  @Test func aLinkThatNeverRestsDoesNotKeepItForEver() {
    let client = connected()
    client.call("request", request("1"))
    breaks()
    breaks()
    let other = harness.client(uid: 1_001)
    other.call("request", #"{"upstream":"chat","event":"long","timeout":3600000}"#)
    harness.pass(.seconds(59))
    #expect(channel.written == ["long []#2"])
    harness.pass(.seconds(3))
    #expect(channel.written == ["long []#2", "e [1]#3"])
  }

  @Test func aLinkThatWeCloseSpeaksAgainstNothing() {
    let client = connected()
    client.call("request", request("1"))
    for _ in 0..<3 {
      harness.reload { $0.upstreams["chat"]?.settings.reconnect.base += .milliseconds(1) }
      harness.pass(.seconds(1))
      channel.accept()
    }
    #expect(channel.written.count == 1)
  }

  @Test func whatTheServerRefusesAsTooLargeEndsAtOnce() {
    let client = connected()
    client.call("request", request("1"))
    client.call("request", #"{"upstream":"chat","event":"large","args":["0123456789"],"timeout":30000}"#, id: 2)
    client.call("request", #"{"upstream":"chat","event":"small","timeout":30000}"#, id: 3)
    var failure = UpstreamFailure(.closed, "too big", status: 1009)
    failure.refusedSize = MessageSize(body: 14, attachment: 14)
    breaks(failure)
    let answers = client.readValues()
    #expect(answers.compactMap { $0["id"]?.integerValue } == [2, 3])
    #expect(
      answers.compactMap { $0["error"]?["data"]?["type"]?.stringValue } == ["PayloadTooLarge", "AckLost"])
    // What else was under way is not suspected.
    breaks()
    #expect(channel.written.count == 1)
  }

  @Test func theStopDoesNotWaitForIt() {
    connected().call("request", request("1"))
    breaks()
    breaks()
    #expect(harness.gateway.upstreams.pool.all[0].isFlushed)
  }
}
