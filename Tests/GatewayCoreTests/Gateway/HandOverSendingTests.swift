import Testing

@testable import GatewayCore

/// Sends that the other end of a link had not written when that ended in order: the next link carries them.
@Suite struct HandOverSendingTests {
  private let harness = GatewayHarness()
  private let client: HarnessClient
  private let channel: FakeChannel

  /// A subscriber of a link whose other end confirms what was written.
  init() {
    client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    channel = harness.upstream.channel
    channel.accept()
    channel.confirmed = 0
    client.read()
  }

  private func send(_ number: Int, _ more: String = "", id: Int = 1) {
    client.call("send", #"{"upstream":"chat","event":"e","args":[\#(number)]\#(more)}"#, id: id)
  }

  /// The other end has written that many, and the link is over.
  private func end(confirmed: UInt64, isFinal: Bool = true) {
    (channel.confirmed, channel.isFinal) = (confirmed, isFinal)
    channel.fail(.linkGivenAway)
  }

  /// What the next link carries.
  private func carried() -> [String] {
    harness.client(uid: 0).call("reconnect", #"{"upstream":"chat"}"#)
    harness.upstream.channel.accept()
    harness.pass(.milliseconds(100))
    return harness.upstream.channel.written
  }

  @Test func anAcceptedSendThatWasNotWrittenLeavesByTheNextLinkBeforeNewerOnes() {
    for number in 1...3 { send(number) }
    end(confirmed: 1)
    send(4)
    #expect(carried() == ["e [2]", "e [3]", "e [4]"])
  }

  @Test func whatMayHaveBeenWrittenIsNotWrittenOnceMore() {
    for number in 1...3 { send(number) }
    end(confirmed: 1, isFinal: false)
    send(4)
    #expect(carried() == ["e [4]"])
  }

  @Test func aCallThatWaitsForSentIsAnsweredWhenTheNextLinkHasIt() {
    send(1, #","delivery":"sent""#, id: 7)
    end(confirmed: 0)
    #expect(HarnessClient.values(client.read()).allSatisfy { $0["id"] == nil })
    #expect(carried() == ["e [1]"])
    let answer = HarnessClient.values(client.read()).first { $0["id"]?.integerValue == 7 }
    #expect(answer?["result"]?["state"]?.stringValue == "sent")
  }

  @Test func aCallThatIsOverMeanwhileIsNotWritten() {
    send(1, #","delivery":"sent","timeout":500"#, id: 7)
    end(confirmed: 0)
    harness.pass(.milliseconds(600))
    let answer = HarnessClient.values(client.read()).first { $0["id"]?.integerValue == 7 }
    #expect(answer?["error"]?["data"]?["type"]?.stringValue == "UpstreamDown")
    #expect(carried() == [])
  }

  @Test func whatExpiresOrGivesWayMeanwhileIsNotWritten() {
    send(1, #","ttl":500"#)
    send(2, #","coalesce":"c""#)
    end(confirmed: 0)
    send(3, #","coalesce":"c""#)
    harness.pass(.milliseconds(600))
    #expect(carried() == ["e [3]"])
  }

  @Test(arguments: [#","volatile":true"#, #","no_queue":true"#])
  func whatMayNotWaitIsNotWrittenByAnotherLink(_ more: String) {
    send(1, more)
    send(2, more + #","delivery":"sent""#, id: 7)
    end(confirmed: 0)
    let answer = HarnessClient.values(client.read()).first { $0["id"]?.integerValue == 7 }
    #expect(answer?["error"]?["data"]?["type"]?.stringValue == "UpstreamDown")
    #expect(carried() == [])
  }

  @Test func whatAClientWaitedForThatHasLeftIsNotWritten() {
    let other = harness.client()
    other.call("send", #"{"upstream":"chat","event":"e","delivery":"sent"}"#)
    other.disconnect()
    end(confirmed: 0)
    #expect(carried() == [])
  }

  @Test func aRequestThatMayHaveBeenWrittenIsAckLost() {
    client.call("request", #"{"upstream":"chat","event":"ask","timeout":5000}"#, id: 7)
    end(confirmed: 0)
    let answer = HarnessClient.values(client.read()).first { $0["id"]?.integerValue == 7 }
    #expect(answer?["error"]?["data"]?["type"]?.stringValue == "AckLost")
    #expect(carried() == [])
  }
}
