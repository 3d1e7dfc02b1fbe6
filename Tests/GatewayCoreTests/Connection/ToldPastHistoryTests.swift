import Testing

@testable import GatewayCore

/// A `history` behind a place that was reached elsewhere, and not here yet.
@Suite struct ToldPastHistoryTests {
  private let rig = ToldPastRig()
  private var harness: GatewayHarness { rig.harness }
  private var channel: FakeChannel { rig.channel }

  @Test func theHistoryIsAnsweredWhenTheHostHasReadIt() {
    harness.client().call("subscribe", #"{"upstream":"chat"}"#)
    let client = harness.client()
    #expect(client.call("history", #"{"upstream":"chat"}"#) == [])
    rig.emit("e1", 1...3)
    rig.tellPast()
    harness.pass(.milliseconds(10))
    #expect(client.read().first?.contains(#""epoch":"e1","seq":3,"complete":true"#) == true)
  }

  private func history(_ client: HarnessClient, _ epoch: String, _ sequence: Int) -> [String] {
    client.call("history", #"{"upstream":"chat","since":{"epoch":"\#(epoch)","seq":\#(sequence)}}"#)
  }

  @Test func historyOfAHostThatIsBehindIsAnsweredWhenThePastIsTold() {
    let other = harness.client()
    other.call("subscribe", #"{"upstream":"chat"}"#)
    let client = harness.client()
    #expect(history(client, "e1", 2) == [])
    rig.emit("e1", 1...3)
    channel.accept()
    rig.tellPast()
    harness.pass(.milliseconds(10))
    let lines = client.read()
    #expect(lines.count == 1 && lines.first?.contains(#""seq":3,"complete":true"#) == true)
    #expect(lines.first?.contains(#"[{"seq":3,"#) == true)
  }

  @Test func theHistoryOfAHostThatNobodyUsesIsReadBeforeItIsAnswered() {
    let client = harness.client()
    #expect(client.call("history", #"{"upstream":"chat"}"#) == [])
    rig.emit("e1", 1...3)
    channel.toldPast()
    harness.pass(.milliseconds(10))
    let lines = client.read()
    #expect(lines.first?.contains(#""epoch":"e1","seq":3,"complete":true"#) == true, "\(lines)")
  }

  @Test func historyBehindAPlaceOfAHostThatNobodyUsesIsReadBeforeItIsAnswered() {
    let client = harness.client()
    #expect(history(client, "e1", 2) == [])
    rig.emit("e1", 1...3)
    channel.toldPast()
    harness.pass(.milliseconds(10))
    let lines = client.read()
    #expect(lines.first?.contains(#"[{"seq":3,"#) == true, "\(lines)")
    #expect(lines.first?.contains(#""epoch":"e1","seq":3,"complete":true"#) == true, "\(lines)")
  }

  @Test func historyOfAHostThatWasNotUsedHasWhatCameSince() {
    rig.closeByIdleness()
    let client = harness.client()
    #expect(history(client, "e1", 2) == [])
    rig.emit("e1", 4...5)
    channel.toldPast()
    harness.pass(.milliseconds(10))
    let lines = client.read()
    #expect(lines.first?.contains(#"[{"seq":3,"#) == true, "\(lines)")
    #expect(lines.first?.contains(#""seq":5,"complete":true"#) == true, "\(lines)")
  }

  @Test func historyThatWasNotReadOnIsNotCalledComplete() {
    rig.closeByIdleness()
    let client = harness.client()
    #expect(history(client, "e1", 2) == [])
    harness.pass(.seconds(11))
    let lines = client.read()
    #expect(lines.first?.contains(#"[{"seq":3,"#) == true, "\(lines)")
    #expect(lines.first?.contains(#""epoch":"e1","seq":3,"complete":false,"missing":["upstream"]"#) == true, "\(lines)")
  }

  @Test func historyOfAHostThatIsNotToConnectClaimsNothing() {
    harness.client().call("subscribe", #"{"upstream":"chat"}"#)
    channel.accept()
    harness.client(uid: 0).call("disconnect", #"{"upstream":"chat"}"#)
    let lines = harness.client().call("history", #"{"upstream":"chat"}"#)
    #expect(lines.first?.contains(#""complete":false,"missing":["upstream"]"#) == true, "\(lines)")
  }

  @Test func historyThatWaitsInVainLeavesItsCallerAtTheSamePlace() {
    let other = harness.client()
    other.call("subscribe", #"{"upstream":"chat"}"#)
    let client = harness.client()
    #expect(history(client, "e1", 2) == [])
    harness.pass(.seconds(11))
    let lines = client.read()
    let answer = #""events":[],"epoch":"e1","seq":2,"complete":false,"missing":["upstream"],"detail":"#
    #expect(lines.count == 1 && lines.first?.contains(answer) == true)
  }

  @Test func historyThatIsCancelledWaitsNoLonger() {
    let other = harness.client()
    other.call("subscribe", #"{"upstream":"chat"}"#)
    let client = harness.client()
    client.call("history", #"{"upstream":"chat","since":{"epoch":"e1","seq":2}}"#, id: 7)
    #expect(rig.told(client.call("rpc.cancel", #"{"id":7}"#, id: 8)).sorted() == ["answer", "error"])
    channel.toldPast()
    #expect(client.read() == [])
  }
}
