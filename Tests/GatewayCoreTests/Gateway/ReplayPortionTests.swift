import Testing

@testable import GatewayCore

/// Many globs over events of which no two share a name: what was missed is looked for over several turns.
@Suite struct ReplayPortionTests {
  private static let count = 2_000
  /// Every third event, and many globs that no event fits.
  private static let globs = ["*0", "*3", "*6"] + (0..<250).map { "nothing.of.*.this.kind.\($0)" }
  private static let events = #""events":["# + globs.map { "\"\($0)\"" }.joined(separator: ",") + "]"

  private let harness: GatewayHarness
  private let client: HarnessClient
  private let epoch: String

  init() {
    harness = GatewayHarness { configuration in
      var settings = UpstreamSettings()
      settings.keep = .always
      settings.history.events = Self.count
      configuration.upstreams["chat"] = ConfiguredUpstream(
        url: UpstreamURL(scheme: "http", host: "chat.example"), settings: settings)
    }
    harness.upstream.channel.accept()
    client = harness.client()
    let reply = HarnessClient.values(client.call("history", #"{"upstream":"chat"}"#)).first
    epoch = reply?["result"]?["epoch"]?.stringValue ?? "none"
    emit(1...Self.count)
    client.read()
  }

  private func emit(_ numbers: ClosedRange<Int>) {
    for number in numbers { harness.upstream.channel.emit("event.\(number)") }
  }

  /// What the events are, as far as `names` wants them.
  private func wanted(_ numbers: ClosedRange<Int>) -> [Int] { numbers.filter { [0, 3, 6].contains($0 % 10) } }

  private func sequences(_ lines: [String]) -> [Int] {
    HarnessClient.values(lines).compactMap { value in
      value["method"]?.stringValue == "event" ? value["params"]?["seq"]?.integerValue : nil
    }
  }

  /// Lets turns pass until something is answered. Returns how many that took, and what came.
  private func turns() -> (count: Int, lines: [String]) {
    for count in 1...10_000 {
      harness.pass(.zero)
      let lines = client.read()
      if !lines.isEmpty { return (count, lines) }
    }
    return (.max, [])
  }

  private func result(_ lines: [String]) -> JSONValue? { HarnessClient.values(lines).first?["result"] }

  @Test func aSubscriptionIsAnsweredSomeTurnsLaterWithAllThatItMissed() {
    let asked = client.call("subscribe", #"{"upstream":"chat","since":{"epoch":"\#(epoch)","seq":0},\#(Self.events)}"#)
    #expect(asked.isEmpty)
    let (count, lines) = turns()
    #expect(count > 3)
    #expect(result(lines)?["recovered"]?.boolValue == true)
    #expect(sequences(lines) == wanted(1...Self.count))
    emit(3...3)
    #expect(sequences(client.read()) == [Self.count + 1])
  }

  @Test func whatComesMeanwhileIsInItsPlaceAndWhatGoesIsAGap() {
    client.call("subscribe", #"{"upstream":"chat","since":{"epoch":"\#(epoch)","seq":0},\#(Self.events)}"#)
    harness.pass(.zero)
    emit((Self.count + 1)...(Self.count + 100))
    let (_, lines) = turns()
    let gap = HarnessClient.values(lines).first { $0["method"]?.stringValue == "gap" }?["params"]
    #expect(gap?["count"]?.integerValue == wanted(1...100).count)
    #expect(sequences(lines) == wanted(101...(Self.count + 100)))
  }

  @Test func theLastOnesAreFoundFromTheEndWithoutALookAtAll() {
    let lines = client.call("subscribe", #"{"upstream":"chat","last":4,\#(Self.events)}"#)
    #expect(sequences(lines + client.read()) == wanted(1...Self.count).suffix(4))
  }

  @Test func aHistoryIsAnsweredInTheSameWay() {
    #expect(client.call("history", #"{"upstream":"chat","limit":10000,\#(Self.events)}"#).isEmpty)
    let (count, lines) = turns()
    #expect(count > 3)
    let events = result(lines)?["events"]?.elements ?? []
    #expect(events.compactMap { $0["seq"]?.integerValue } == wanted(1...Self.count))
  }

  @Test func othersAreServedInBetween() {
    client.call("subscribe", #"{"upstream":"chat","since":{"epoch":"\#(epoch)","seq":0},\#(Self.events)}"#, id: 1)
    let other = harness.client()
    harness.pass(.zero)
    #expect(HarnessClient.values(other.call("ping", "{}")).count == 1)
    #expect(client.read().isEmpty)
  }

  @Test func aCallThatIsTakenBackLeavesNothing() {
    client.call("subscribe", #"{"upstream":"chat","since":{"epoch":"\#(epoch)","seq":0},\#(Self.events)}"#, id: 1)
    client.call("history", #"{"upstream":"chat",\#(Self.events)}"#, id: 2)
    harness.pass(.zero)
    client.disconnect()
    harness.pass(.seconds(1))
    let connection = HarnessClient.values(harness.client().call("status", "{}")).last?["result"]?["connections"]?[0]
    #expect(connection?["leases"]?.integerValue == 0)
    #expect(connection?["subscriptions"]?.integerValue == 0)
  }
}
