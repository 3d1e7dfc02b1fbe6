import Testing

@testable import GatewayCore

/// A daemon whose link first tells what came before, and programs that were told some of it elsewhere.
final class ToldPastRig {
  let harness = GatewayHarness()

  init() { harness.upstream.pastLimit = .seconds(10) }

  var channel: FakeChannel { harness.upstream.channel }

  func subscribe(_ client: HarnessClient, _ epoch: String, _ sequence: Int, call: Int = 1) -> [String] {
    let since = #"{"epoch":"\#(epoch)","seq":\#(sequence)}"#
    let params = #"{"upstream":"chat","subscription":"s","since":\#(since)}"#
    return told(client.call("subscribe", params, id: call))
  }

  func emit(_ epoch: String, _ sequences: ClosedRange<UInt64>) {
    for sequence in sequences {
      channel.place(EventPlace(epoch: epoch, sequence: sequence, time: 7))
      channel.emit("e")
    }
  }

  /// What was asked for before a client had its answer, and once more what was asked for behind it.
  func tellPast() {
    channel.toldPast()
    channel.toldPast()
    channel.isRecovered = true
  }

  /// What a client was told, in few words.
  func told(_ lines: [String]) -> [String] {
    HarnessClient.values(lines).map { line in
      if line["result"] != nil { return "answer" }
      if line["error"] != nil { return "error" }
      if line["method"] == .string("gap") { return "gap" }
      return "\(line["params"]?["seq"]?.integerValue ?? 0)"
    }
  }

  /// The connection is closed because nobody uses it, and other hosts go on.
  func closeByIdleness() {
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    emit("e1", 1...3)
    channel.accept()
    channel.toldPast()
    client.disconnect()
    harness.pass(.seconds(31))
    #expect(channel.isClosed)
  }

  /// A subscription behind a place of an epoch that is not known, on a host that reached nothing within its limit.
  func subscribeUnreached(_ epoch: String, _ sequence: Int) -> HarnessClient {
    let client = harness.client()
    #expect(subscribe(client, epoch, sequence) == [])
    harness.pass(.seconds(11))
    let lines = client.read()
    #expect(told(lines) == ["answer"])
    #expect(lines.first?.contains(#""epoch":"\#(epoch)","seq":\#(sequence)"#) == true)
    return client
  }
}
