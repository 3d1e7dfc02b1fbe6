import Testing

@testable import GatewayCore

/// What subscribers and administrators see of the server's time.
@Suite struct ServerTimeTests {
  private let harness: GatewayHarness
  private let client: HarnessClient

  init() {
    harness = GatewayHarness { configuration in
      var settings = UpstreamSettings()
      settings.keep = .always
      settings.reconnect.base = .milliseconds(10)
      configuration.upstreams["chat"] = ConfiguredUpstream(
        url: UpstreamURL(scheme: "http", host: "chat.example"), settings: settings)
    }
    harness.upstream.channel.accept()
    client = harness.client()
    client.call("subscribe", #"{"upstream":"chat","subscription":"s"}"#)
  }

  private func tell(_ source: ClockSample.Source, lead: Int64, error: Int64 = 4) throws {
    let shown = (harness.time.wallMilliseconds + lead) * 1_000_000
    let now = harness.time.now
    harness.upstream.channel.tell(
      try #require(
        ClockSample(
          source, shown: shown - error * 1_000_000...shown + error * 1_000_000, notBefore: now, notAfter: now)))
  }

  /// The time of an event that arrives now.
  private func eventTime() -> Int64? {
    harness.upstream.channel.emit("e")
    return client.readValues().compactMap { $0["params"]?["time"]?.integerValue.map(Int64.init) }.last
  }

  private func status() -> JSONValue? {
    HarnessClient.values(client.call("status", id: 9)).first?["result"]?["connections"]?[0]?["time"]
  }

  @Test func withoutASampleEventsHaveTheLocalTimeAndStatusKnowsNothing() {
    #expect(eventTime() == harness.time.wallMilliseconds)
    #expect(status() == .null)
  }

  @Test func eventsHaveTheServersTimeAndStatusSaysHowMuchThatIsAhead() throws {
    try tell(.request, lead: -132)
    #expect(eventTime() == harness.time.wallMilliseconds - 132)
    #expect(status()?.text == #"{"offset":-132,"error":4,"samples":1,"source":"request","followed":true}"#)
    harness.time.advance(by: .seconds(60))
    #expect(eventTime() == harness.time.wallMilliseconds - 132)
    #expect(status()?.text == #"{"offset":-132,"error":10,"samples":1,"source":"request","followed":true}"#)
  }

  @Test func whatIsKnownOutlivesALinkButNotTheSettings() throws {
    try tell(.request, lead: 5_000)
    harness.upstream.channel.fail(.closed)
    harness.pass(.seconds(1))
    harness.upstream.channel.accept()
    client.read()
    // The clocks of the tests advance by fractions of a millisecond, and the wall clock loses them.
    #expect(abs(try #require(eventTime()) - harness.time.wallMilliseconds - 5_000) <= 2)
    var configuration = harness.gateway.configuration
    configuration.upstreams["chat"]?.settings.serverTime.event = "time"
    harness.loader.next = .success(configuration)
    #expect(harness.gateway.reload() == .success(["chat"]))
    harness.pass(.seconds(1))
    harness.upstream.channel.accept()
    client.read()
    #expect(status() == .null && eventTime() == harness.time.wallMilliseconds)
  }

  @Test func aChannelThatWasGivenUpTellsNothingAnyMore() throws {
    let old = harness.upstream.channel
    harness.upstream.channel.fail(.closed)
    harness.pass(.seconds(1))
    let now = harness.time.now
    old.tell(try #require(ClockSample(.request, shown: 0...1, notBefore: now, notAfter: now)))
    harness.upstream.channel.accept()
    client.read()
    #expect(eventTime() == harness.time.wallMilliseconds)
  }

  @Test func liveAndReplayedEventsAreInTheSameOrderByTimeAndByNumber() throws {
    var live: [Int64] = []
    for (lead, pause) in [(0, 5), (3_600_000, 5), (-3_600_000, 5), (20, 7_200_000), (-20, 10)] as [(Int64, Int64)] {
      try tell(.request, lead: lead)
      live.append(try #require(eventTime()))
      harness.time.advance(by: .milliseconds(pause))
      harness.time.wallMilliseconds -= 400
    }
    #expect(live == live.sorted())
    let page = HarnessClient.values(client.call("history", #"{"upstream":"chat"}"#)).first?["result"]?["events"]
    // What is older than ten minutes is gone.
    let kept = page?.elements?.compactMap { $0["time"]?.integerValue.map(Int64.init) } ?? []
    #expect(kept == Array(live.suffix(kept.count)) && kept.count == 1)
  }

  @Test func aLocalClockThatIsSetBackDoesNotTurnTimeBackBeforeTheEpochEnds() {
    let before = eventTime()
    harness.time.wallMilliseconds -= 3_600_000
    harness.time.advance(by: .seconds(1))
    #expect(eventTime() == before)
    harness.upstream.channel.fail(.closed)
    harness.pass(.seconds(1))
    harness.upstream.channel.accept()
    client.read()
    #expect(eventTime() == harness.time.wallMilliseconds)
  }
}
