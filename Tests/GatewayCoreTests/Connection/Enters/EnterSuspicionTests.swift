import Testing

@testable import GatewayCore

/// Messages that are said at every connect, and links that break, fill up or are slow because of them.
@Suite struct EnterSuspicionTests {
  private let harness = GatewayHarness {
    $0.upstreams["chat"]?.settings.reconnect.base = .milliseconds(1)
    $0.upstreams["chat"]?.settings.reconnect.cap = .milliseconds(1)
  }

  private static let bad = #"{"upstream":"chat","enter":[{"event":"bad"}]}"#
  private static let good = #"{"upstream":"chat","enter":[{"event":"good"}]}"#

  private var channel: FakeChannel { harness.upstream.channel }
  private var connection: Connection? { harness.gateway.upstreams.pool.all.first }

  private func subscriber(_ params: String, uid: UInt32 = 1_000) -> HarnessClient {
    let client = harness.client(uid: uid)
    client.call("subscribe", params)
    return client
  }

  /// The link breaks, and the next one opens.
  private func breaks(_ failure: UpstreamFailure = UpstreamFailure(.closed, "the server hung up")) {
    channel.fail(failure)
    harness.pass(.milliseconds(10))
    channel.accept()
  }

  private func refusals(_ client: HarnessClient) -> [String] {
    client.readValues().filter { $0["method"]?.stringValue == "gap" }
      .compactMap { $0["params"]?["detail"]?.stringValue }.filter { $0.contains("refuses") }
  }

  private static let broken =
    "the server refuses the message 'bad': the link broke each time after it was said, and it is not said any more: "
    + "mend it or leave it out, and subscribe anew to have it said once more"

  @Test func aMessageAtWhichTheServerHangsUpDoesNotTakeTheLinkFromAllForEver() {
    let client = subscriber(Self.bad)
    let other = subscriber(Self.good, uid: 2)
    channel.accept()
    breaks()
    #expect(channel.written == ["bad []", "good []"])
    breaks()
    #expect(channel.written.isEmpty)
    harness.pass(.seconds(3))
    #expect(channel.written == ["bad []"])
    breaks()
    #expect(refusals(client) == [Self.broken])
    harness.pass(.seconds(10))
    #expect(channel.written == ["good []"])
    breaks()
    #expect(channel.written == ["good []"])
    #expect(refusals(other).isEmpty)
  }

  @Test func whatTheLinkOutlivesAloneIsSaidAsAllOthersAgain() {
    _ = subscriber(Self.good)
    channel.accept()
    breaks()
    breaks()
    harness.pass(.seconds(7))
    #expect(channel.written == ["good []"])
    breaks()
    #expect(channel.written == ["good []"])
  }

  @Test func noRoomIsBlamedForALinkThatNoMessageEnded() {
    _ = subscriber(#"{"upstream":"chat","enter":[{"event":"a"},{"event":"b"}]}"#)
    channel.accept()
    for _ in 0..<3 {
      breaks(UpstreamFailure(.fleet, "another host of the fleet took the link over"))
      #expect(channel.written == ["a []", "b []"])
    }
  }

  @Test func suspectsAreSaidOneByOne() {
    _ = subscriber(#"{"upstream":"chat","enter":[{"event":"a"},{"event":"b"}]}"#)
    channel.accept()
    breaks()
    breaks()
    harness.pass(.seconds(5))
    #expect(channel.written == ["a []"])
    harness.pass(.seconds(2))
    #expect(channel.written == ["a []", "b []"])
  }

  @Test func whatTheServerAcknowledgesIsNotSuspected() {
    _ = subscriber(#"{"upstream":"chat","enter":[{"event":"a","ack":true},{"event":"b"}]}"#)
    channel.accept()
    for ack in 0..<2 {
      channel.acknowledge(UInt64(ack))
      breaks()
    }
    #expect(channel.written == ["a []#2"])
    channel.acknowledge(2)
    harness.pass(.seconds(3))
    #expect(channel.written == ["a []#2", "b []"])
  }

  @Test func aSuspectIsNotSuspectedAnyMoreAsSoonAsTheServerAcknowledgesIt() {
    _ = subscriber(#"{"upstream":"chat","enter":[{"event":"a","ack":true},{"event":"b","ack":true}]}"#)
    channel.accept()
    breaks()
    breaks()
    harness.pass(.seconds(3))
    #expect(channel.written == ["a []#4"])
    channel.acknowledge(4)
    harness.pass(.milliseconds(100))
    #expect(channel.written == ["a []#4", "b []#5"])
  }

  @Test func aServerThatHangsUpAtEverythingForAWhileCostsNoMessageItsPlace() {
    let client = subscriber(Self.good)
    channel.accept()
    for _ in 0..<20 {
      harness.pass(.seconds(2))
      breaks()
    }
    harness.pass(.seconds(4))
    #expect(channel.written == ["good []"])
    harness.pass(.seconds(4))
    breaks()
    #expect(channel.written == ["good []"])
    #expect(refusals(client).isEmpty)
  }

  @Test func aMessageThatLinksHaveOutlivedIsNotRefusedForOneBreakAlone() {
    let client = subscriber(Self.good)
    channel.accept()
    harness.pass(.seconds(4))
    for _ in 0..<4 {
      breaks()
      harness.pass(.seconds(3))
    }
    #expect(refusals(client).isEmpty)
    harness.pass(.seconds(60))
    #expect(channel.written == ["good []"])
  }

  @Test func aLinkThatBreaksLaterBreaksForAnotherReason() {
    _ = subscriber(Self.good)
    channel.accept()
    for _ in 0..<4 {
      harness.pass(.seconds(5))
      breaks()
      #expect(channel.written == ["good []"])
    }
  }

  @Test func aProgramThatIsStartedAnewWithEachBreakDoesNotBreakTheLinkForEver() {
    let other = subscriber(#"{"upstream":"chat"}"#, uid: 2)
    channel.accept()
    for _ in 0..<2 {
      let client = subscriber(Self.bad)
      #expect(channel.written == ["bad []"])
      channel.fail(.closed)
      client.disconnect()
      harness.pass(.milliseconds(10))
      channel.accept()
    }
    _ = subscriber(Self.bad)
    #expect(channel.written.isEmpty)
    harness.pass(.seconds(3))
    #expect(channel.written == ["bad []"])
    breaks()
    harness.pass(.seconds(600))
    #expect(channel.written.isEmpty)
    #expect(refusals(other).isEmpty)
  }

  /// A program's links break so often while it has what it enters, and it ends with each of them.
  private func breaks(_ count: Int, with params: [String], uid: UInt32) {
    for _ in 0..<count {
      let client = harness.client(uid: uid)
      for one in params { client.call("subscribe", one) }
      channel.fail(.closed)
      client.disconnect()
      harness.pass(.milliseconds(10))
      channel.accept()
    }
  }

  @Test func oneUsersMessagesThatBrokeTheLinkPushOutNoneOfAnothers() {
    let stays = subscriber(#"{"upstream":"chat"}"#, uid: 3)
    channel.accept()
    breaks(2, with: [Self.many(0, 10)], uid: 1_000)
    breaks(1, with: (1...10).map { Self.many($0 * 100, 100) }, uid: 2)
    _ = subscriber(Self.many(0, 10))
    #expect(channel.written.isEmpty)
    // Of its own the last ones are known.
    breaks(2, with: [Self.many(1_090, 10)], uid: 2)
    _ = subscriber(Self.many(1_090, 10), uid: 2)
    #expect(channel.written.isEmpty)
    stays.read()
  }

  @Test func whatBrokeTheLinkIsForgottenAfterAnHour() {
    let stays = subscriber(#"{"upstream":"chat"}"#, uid: 3)
    channel.accept()
    breaks(2, with: [Self.bad], uid: 2)
    harness.pass(.seconds(3_601))
    _ = subscriber(Self.bad, uid: 2)
    #expect(channel.written == ["bad []"])
    stays.read()
  }

  @Test func whatIsEnteredAnewIsTriedOnceMoreAlone() {
    let first = subscriber(Self.bad)
    channel.accept()
    breaks()
    breaks()
    harness.pass(.seconds(3))
    breaks()
    #expect(refusals(first) == [Self.broken])
    let second = subscriber(Self.bad, uid: 2)
    #expect(channel.written.isEmpty)
    harness.pass(.seconds(3))
    #expect(channel.written == ["bad []"])
    breaks()
    #expect(refusals(second) == [Self.broken])
    harness.pass(.seconds(600))
    #expect(channel.written.isEmpty)
  }

  @Test func aSuspectWaitsUntilOthersHaveGone() {
    _ = subscriber(Self.bad)
    let other = harness.client(uid: 2)
    channel.accept()
    breaks()
    breaks()
    other.call("request", #"{"upstream":"chat","event":"o","timeout":30000}"#)
    harness.pass(.seconds(20))
    #expect(channel.written == ["o []#0"])
    channel.acknowledge(0)
    harness.pass(.milliseconds(100))
    #expect(channel.written == ["o []#0", "bad []"])
  }

  @Test func aSuspectOnALinkThatNeverRestsIsRefusedAfterFiveBreaks() {
    let client = subscriber(Self.bad)
    let other = harness.client(uid: 2)
    channel.accept()
    breaks()
    breaks()
    for pause in [1, 5, 25] {
      other.call("request", #"{"upstream":"chat","event":"o","timeout":600000}"#, id: pause)
      harness.pass(.seconds(pause + 59))
      #expect(channel.written.count == 1)
      harness.pass(.seconds(1) + Suspicion.look)
      #expect(channel.written.count == 2)
      breaks()
    }
    #expect(refusals(client) == [Self.broken])
    harness.pass(.seconds(600))
    #expect(channel.written.isEmpty)
  }

  // MARK: - Portions

  private static func many(_ first: Int, _ count: Int) -> String {
    let messages = (first..<(first + count)).map { #"{"event":"join","args":[\#($0)]}"# }
    return #"{"upstream":"chat","enter":["# + messages.joined(separator: ",") + "]}"
  }

  @Test func manyMessagesDoNotHoldUpTheLoopAndComeBeforeWhatIsQueued() {
    for user in 0..<3 { _ = subscriber(Self.many(user * 100, 100), uid: UInt32(user)) }
    let client = harness.client(uid: 9)
    client.call("send", #"{"upstream":"chat","event":"said"}"#)
    channel.accept()
    #expect(channel.written.count == Enters.portion.count)
    #expect(connection?.state != .connected)
    harness.pass(.milliseconds(1))
    #expect(channel.written == (0..<300).map { "join [\($0)]" } + ["said []"])
    #expect(connection?.state == .connected)
  }

  @Test func aServerThatDoesNotReadIsNotWrittenMoreThanItsBufferTakes() {
    _ = subscriber(Self.many(0, 3))
    let channel = channel
    channel.unsentBytes = CommandFlow.byteLimit
    channel.accept()
    #expect(channel.written.isEmpty)
    // Others wait for it no longer than for a handshake.
    harness.pass(.seconds(11))
    #expect(connection?.state == .connected)
    #expect(channel.written.isEmpty)
    channel.unsentBytes = 0
    harness.pass(.milliseconds(20))
    #expect(channel.written.count == 3)
  }

  @Test func whatIsSaidAtAConnectCountsForItsUser() {
    let harness = GatewayHarness { $0.limits.sendQueueBytes = 10_000 }
    let text = String(repeating: "x", count: 8_000)
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat","enter":[{"event":"join","args":["\#(text)"]}]}"#)
    harness.upstream.channel.accept()
    harness.upstream.channel.unsentBytes = 8_000
    harness.client(uid: 2).call("send", #"{"upstream":"chat","event":"e","args":["\#(text.prefix(2_000))"]}"#)
    harness.upstream.channel.unsentBytes = 10_000
    let send = #"{"upstream":"chat","event":"e","args":["\#(text.prefix(4_000))"]}"#
    let refused = HarnessClient.values(client.call("send", send, id: 2)).last
    #expect(refused?["error"]?["data"]?["type"]?.stringValue == "QueueFull")
    let taken = HarnessClient.values(harness.client(uid: 2).call("send", send)).last
    #expect(taken?["result"] != nil)
  }

  // MARK: - What is told

  @Test func aRefusalIsToldAgainWhenTheServerHadAcceptedInBetween() {
    let client = subscriber(#"{"upstream":"chat","enter":[{"event":"a","ack":true},{"event":"b","ack":true}]}"#)
    channel.accept()
    var ack: UInt64 = 0
    /// Answers both messages at this connect.
    func answer(_ refused: Set<String>) {
      for name in ["a", "b"] {
        if refused.contains(name) { channel.decline(ack, RemoteError("no")) } else { channel.acknowledge(ack) }
        ack += 1
      }
    }
    let detail: (String) -> String = { "the server refuses the message '\($0)': no" }
    answer([])
    breaks()
    answer(["a"])
    #expect(refusals(client) == [detail("a")])
    breaks()
    answer(["a", "b"])
    #expect(refusals(client) == [detail("b")])
    breaks()
    answer([])
    #expect(refusals(client).isEmpty)
    breaks()
    answer(["a"])
    #expect(refusals(client) == [detail("a")])
  }

  @Test func aMessageThatCouldNotBeWrittenForAWhileIsToldAgain() {
    let client = subscriber(Self.good)
    channel.accept()
    for _ in 0..<2 {
      harness.upstream.messageLimit = 1
      breaks()
      #expect(refusals(client).count == 1)
      harness.upstream.messageLimit = .max
      breaks()
      harness.pass(.seconds(6))
    }
  }
}
