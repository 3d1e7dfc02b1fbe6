import Testing

@testable import GatewayCore

/// A `subscribe` behind a place that was reached elsewhere, and not here yet.
@Suite struct ToldPastTests {
  private let harness = GatewayHarness()

  init() { harness.upstream.pastLimit = .seconds(10) }

  private var channel: FakeChannel { harness.upstream.channel }

  private func subscribe(_ client: HarnessClient, _ epoch: String, _ sequence: Int, id: String = "s") -> [String] {
    let since = #"{"epoch":"\#(epoch)","seq":\#(sequence)}"#
    return told(client.call("subscribe", #"{"upstream":"chat","subscription":"\#(id)","since":\#(since)}"#))
  }

  private func emit(_ epoch: String, _ sequences: ClosedRange<UInt64>) {
    for sequence in sequences {
      channel.place(EventPlace(epoch: epoch, sequence: sequence, time: 7))
      channel.emit("e")
    }
  }

  /// What a client was told, in few words.
  private func told(_ lines: [String]) -> [String] {
    HarnessClient.values(lines).map { line in
      if line["result"] != nil { return "answer" }
      if line["error"] != nil { return "error" }
      if line["method"] == .string("gap") { return "gap" }
      return "\(line["params"]?["seq"]?.integerValue ?? 0)"
    }
  }

  @Test func whoIsAheadOfAHostThatHasJustStartedIsToldNothingTwice() {
    let client = harness.client()
    #expect(subscribe(client, "e1", 2) == [])
    #expect(channel.pastRequests == 1)
    emit("e1", 1...3)
    channel.accept()
    #expect(told(client.read()) == [])
    channel.toldPast()
    #expect(told(client.read()) == ["answer", "3"])
    emit("e1", 4...4)
    #expect(told(client.read()) == ["4"])
  }

  @Test func whoIsAheadOfAHostThatIsBehindByAMomentIsToldNothingTwice() {
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    emit("e1", 1...1)
    channel.accept()
    let other = harness.client()
    #expect(subscribe(other, "e1", 2) == [])
    emit("e1", 2...3)
    channel.toldPast()
    #expect(told(other.read()) == ["answer", "3"])
  }

  @Test func aPlaceThatThereNeverWasIsAGapWhenThePastIsTold() {
    let client = harness.client()
    #expect(subscribe(client, "e9", 2) == [])
    emit("e1", 1...1)
    channel.toldPast()
    #expect(told(client.read()) == ["answer", "gap", "1"])
  }

  @Test func aPlaceThatIsKnownWaitsForNothing() {
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    emit("e1", 1...2)
    #expect(subscribe(harness.client(), "e1", 1) == ["answer", "2"])
    #expect(channel.pastRequests == 0)
  }

  @Test func anAttemptThatFailsEndsTheWaiting() {
    let client = harness.client()
    #expect(subscribe(client, "e1", 2) == [])
    channel.fail(.fleet)
    #expect(told(client.read()) == ["answer", "gap"])
  }

  @Test func noCallWaitsForLongerThanItsLimit() {
    let client = harness.client()
    #expect(subscribe(client, "e1", 2) == [])
    harness.pass(.seconds(9))
    #expect(told(client.read()) == [])
    harness.pass(.seconds(2))
    #expect(told(client.read()) == ["answer", "gap"])
  }

  @Test func aConversationThatEndsLeavesTheWaitingToTheNextOne() {
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    emit("e1", 1...1)
    channel.accept()
    let other = harness.client()
    #expect(subscribe(other, "e2", 2) == [])
    channel.fail(.fleet)
    harness.pass(.seconds(2))
    #expect(harness.upstream.channels.count == 2 && channel.pastRequests == 1)
    emit("e2", 2...3)
    channel.toldPast()
    #expect(told(other.read()) == ["answer", "3"])
  }
}
