import Testing

@testable import GatewayCore

/// The text of `metrics`.
@Suite struct MetricsReadingTests {
  private func text(_ harness: GatewayHarness, _ params: String = "{}") throws -> String {
    let root = harness.client(uid: 0)
    var lines = root.call("metrics", params)
    harness.pass(.zero)
    lines += root.read()
    root.disconnect()
    return try #require(HarnessClient.values(lines).first?["result"]?["text"]?.stringValue)
  }

  /// A gateway with some of everything.
  private func busy() -> GatewayHarness {
    let harness = GatewayHarness(
      figures: ProcessFigures(turns: DurationHistogram(), descriptors: 12, descriptorLimit: 1_024))
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat","subscription":"s"}"#)
    harness.upstream.channel.accept()
    for _ in 0..<3 { harness.upstream.channel.emit("a") }
    client.call("request", #"{"upstream":"chat","event":"ask"}"#, id: 5)
    harness.pass(.milliseconds(2))
    harness.upstream.channel.acknowledge(0, "1")
    client.call("subscribe", #"{"url":"http://secret:word@down.example/?token=abc","subscription":"t"}"#)
    harness.upstream.channel.fail(.unreachable)
    return harness
  }

  @Test func theTextIsOpenMetrics() throws {
    let reader = OpenMetricsReader(try text(busy()))
    #expect(reader.problems == [])
    let samples = reader.families.values.reduce(into: [:]) { $0.merge($1.samples) { $1 } }
    #expect(samples[#"gatewayd_upstream_received_events_total{upstream="chat"}"#] == 3)
    #expect(samples[#"gatewayd_upstream_connections{upstream="chat",state="connected"}"#] == 1)
    #expect(samples[#"gatewayd_upstream_connections_down{upstream="(url)",reason="unreachable"}"#] == 1)
    #expect(samples[#"gatewayd_upstream_request_seconds_bucket{upstream="chat",le="+Inf"}"#] == 1)
    #expect(samples[#"gatewayd_upstream_request_seconds_sum{upstream="chat"}"#] == 0.002)
    #expect(samples[#"gatewayd_clients{uid="1000"}"#] == 1)
  }

  @Test func noURLIsShown() throws {
    let text = try text(busy())
    #expect(!["example", "secret", "word", "token", "abc", "://"].contains { text.contains($0) })
  }

  @Test func eachFamilyHasTheSamplesThatTheTablePromises() throws {
    let families = OpenMetricsReader(try text(busy())).families
    let daemon = MetricsTable.daemon.map { ($0.name, $0.type, $0.help, $0.labels) }
    let upstream = MetricsTable.upstream.map { ($0.name, $0.type, $0.help, ["upstream"] + $0.labels) }
    #expect(Set(families.keys) == Set((daemon + upstream).map { $0.0 }))
    // This host is in no fleet: of one there are no samples.
    let ofFleet = Set(FleetMetrics.families.map { $0.name })
    for (name, type, help, labels) in daemon + upstream {
      let family = try #require(families[name])
      let expected: Set<String> = ofFleet.contains(name) ? [] : Set(labels)
      #expect(family.type == type.rawValue && family.help == help && family.labels == expected, "\(name)")
    }
  }

  @Test func theOlderFormatNamesCountersAsTheirSamples() throws {
    let text = try text(busy(), #"{"format":"prometheus"}"#)
    #expect(text.contains("# TYPE gatewayd_upstream_attempts_total counter\ngatewayd_upstream_attempts_total{"))
    #expect(!text.contains("# EOF"))
  }

  @Test func aConnectionThatGoesWhileTheTextIsPutTogetherIsCounted() throws {
    let harness = GatewayHarness()
    let client = harness.client()
    client.call("subscribe", #"{"url":"http://a.example","subscription":"a"}"#)
    harness.upstream.channel.accept()
    for _ in 0..<5 { harness.upstream.channel.emit("e") }
    let reading = MetricsReading(.openMetrics, for: .configuration)
    #expect(!reading.read(harness.gateway))
    client.call("unsubscribe", #"{"subscription":"a"}"#)
    harness.pass(.seconds(600))
    #expect(harness.gateway.upstreams.pool.count == 0)
    while !reading.read(harness.gateway) {}
    let families = OpenMetricsReader(String(decoding: reading.text, as: UTF8.self)).families
    let samples = families["gatewayd_upstream_received_events"]?.samples
    #expect(samples?[#"gatewayd_upstream_received_events_total{upstream="(url)"}"#] == 5)
    #expect(families["gatewayd_upstream_connections"]?.samples.values.allSatisfy { $0 == 0 } ?? true)
  }

  @Test func whatIsNotWantedAnyMoreIsNotPutTogether() {
    let harness = GatewayHarness()
    var looks = 0
    let isWanted = {
      looks += 1
      return looks < 3
    }
    harness.gateway.readMetrics(.openMetrics, while: isWanted) { _ in Issue.record("it was put together") }
    harness.pass(.milliseconds(100))
    #expect(looks == 3)
  }

  @Test func countersOutliveTheirConnection() throws {
    let harness = GatewayHarness()
    let client = harness.client()
    for host in ["a", "b"] {
      client.call("subscribe", #"{"url":"http://\#(host).example","subscription":"\#(host)"}"#)
      harness.upstream.channel.accept()
      for _ in 0..<5 { harness.upstream.channel.emit("e") }
    }
    let name = #"gatewayd_upstream_received_events_total{upstream="(url)"}"#
    func count() throws -> Double? {
      OpenMetricsReader(try text(harness)).families["gatewayd_upstream_received_events"]?.samples[name]
    }
    #expect(try count() == 10)
    client.call("unsubscribe", #"{"subscription":"a"}"#)
    harness.pass(.seconds(600))
    #expect(harness.gateway.upstreams.pool.count == 1)
    #expect(try count() == 10)
  }

  @Test func manyUpstreamsAreSummedUpInTurns() throws {
    let harness = GatewayHarness { configuration in
      for number in 0..<100 {
        var settings = UpstreamSettings()
        settings.keep = .always
        configuration.upstreams["u\(number)"] = ConfiguredUpstream(
          url: UpstreamURL(scheme: "http", host: "h\(number).example"), settings: settings)
      }
    }
    #expect(harness.client(uid: 0).call("metrics").isEmpty)
    let reader = OpenMetricsReader(try text(harness))
    #expect(reader.problems == [])
    #expect(reader.families["gatewayd_upstream_attempts"]?.samples.count == 100)
  }

  @Test func manyUpstreamsThatAreGoneAreWrittenInTurns() throws {
    let names = (0..<100).map { "u\($0)" }
    let harness = GatewayHarness { configuration in
      for name in names {
        var settings = UpstreamSettings()
        settings.keep = .always
        configuration.upstreams[name] = ConfiguredUpstream(
          url: UpstreamURL(scheme: "http", host: "\(name).example"), settings: settings)
      }
    }
    harness.pass(.seconds(1))
    harness.reload { for name in names { $0.upstreams[name] = nil } }
    harness.pass(.seconds(3_600))
    #expect(harness.gateway.upstreams.pool.count == 0 && harness.gateway.upstreams.retired.count == names.count)
    #expect(harness.client(uid: 0).call("metrics").isEmpty)
    #expect(OpenMetricsReader(try text(harness)).families["gatewayd_upstream_attempts"]?.samples.count == names.count)
  }

  @Test func aClockThatIsSetDoesNotMoveTheStart() throws {
    let harness = GatewayHarness(wall: 1_795_000_000_999)
    harness.pass(.milliseconds(1_500))
    harness.time.wallMilliseconds += 86_400_000
    let samples = OpenMetricsReader(try text(harness)).families["gatewayd_start_time_seconds"]?.samples
    #expect(samples?["gatewayd_start_time_seconds"] == 1_795_000_000)
  }

  @Test func noOutboxIsToldFromOneThatFails() throws {
    let store = FakeOutboxStore()
    func figures(_ harness: GatewayHarness) throws -> [Double?] {
      let families = OpenMetricsReader(try text(harness)).families
      return ["gatewayd_outbox_available", "gatewayd_outbox_working"].map { families[$0]?.samples[$0] }
    }
    #expect(try figures(GatewayHarness()) == [0, 0])
    let harness = GatewayHarness(outbox: .open(store, []))
    #expect(try figures(harness) == [1, 1])
    store.problem = StorageProblem.none
    harness.client().call("send", #"{"upstream":"chat","event":"e","delivery":"durable"}"#)
    store.settle()
    #expect(try figures(harness) == [1, 0])
  }

  @Test func aDurableSendCountsOnceHoweverManyConnectionsItsURLHas() throws {
    let store = FakeOutboxStore()
    let harness = GatewayHarness(outbox: .open(store, []))
    let (alice, bob) = (harness.client(), harness.client(uid: 2_000))
    alice.call("send", #"{"url":"http://down.example","event":"e","delivery":"durable"}"#)
    store.settle()
    alice.call("send", #"{"url":"http://down.example","auth":{"a":1},"event":"e"}"#)
    bob.call("send", #"{"url":"http://down.example","event":"e"}"#)
    #expect(harness.gateway.upstreams.pool.count == 3)
    let families = OpenMetricsReader(try text(harness)).families
    func figure(_ name: String) -> Double? { families[name]?.samples[#"\#(name){upstream="(url)"}"#] }
    #expect(figure("gatewayd_upstream_outbox_entries") == 1)
    #expect(
      figure("gatewayd_upstream_outbox_bytes") == families["gatewayd_outbox_bytes"]?.samples["gatewayd_outbox_bytes"])
  }

  @Test func whatWasSaidInAFleetsConversationThatIsOverIsNotUnconfirmed() throws {
    let fleet = FleetGateways()
    fleet.startTwo()
    let host = try #require(fleet.hosts["b"])
    func unconfirmed() throws -> Double? {
      OpenMetricsReader(try text(host)).families["gatewayd_fleet_unconfirmed_sends"]?.samples.values.first
    }
    let program = host.client()
    fleet.kill("a")
    program.call("send", #"{"upstream":"chat","event":"e"}"#)
    fleet.turn(by: .seconds(1))
    #expect(try unconfirmed() == 1)
    // The host takes the link itself, and the server does not take it yet.
    fleet.turn(by: .seconds(8))
    #expect(try unconfirmed() == 0)
  }

  @Test func onlyAnAdministratorMayAsk() {
    let harness = GatewayHarness()
    #expect(harness.client().call("metrics").first?.contains("PermissionDenied") == true)
  }

  @Test func aTextThatFitsIntoNoLineIsRefused() throws {
    let harness = GatewayHarness { $0.limits.line = 4 << 10 }
    let lines = harness.client(uid: 0).call("metrics")
    #expect(lines.count == 1 && lines[0].contains("PayloadTooLarge") && lines[0].utf8.count < 4 << 10)
  }
}
