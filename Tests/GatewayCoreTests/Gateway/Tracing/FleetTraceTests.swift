import Testing

@testable import GatewayCore

/// `trace` of an upstream that hosts share.
@Suite struct FleetTraceTests {
  private let fleet = FleetGateways()

  private func trace(_ host: String, _ params: String = #"{"upstream":"chat"}"#) throws -> (HarnessClient, [String]) {
    let admin = try #require(fleet.hosts[host]).client(uid: 0)
    return (admin, texts(admin.call("trace", params)))
  }

  private func texts(_ lines: [String]) -> [String] {
    HarnessClient.values(lines).filter { $0["method"]?.stringValue == "trace" }
      .compactMap { $0["params"]?["text"]?.stringValue }
  }

  /// The host's links to the server.
  private func links(_ host: String) -> [FleetTapConnector] {
    (fleet.hosts[host]?.gateway.upstreams.pool.all ?? []).compactMap { $0.connector as? FleetTapConnector }
  }

  /// Something goes over the host's link to the server.
  private func pass(_ text: String, on host: String) {
    for link in links(host) { link.connector.observer?.observed(TraceFact(.incoming, .engine, text)) }
  }

  private func at(_ host: String) -> String {
    "HOLDER \(host): it has the fleet's link, and a trace on that host shows what goes over it"
  }

  @Test func aTraceOfAFleetsUpstreamShowsTheLinkOfTheHolder() throws {
    fleet.start("a")
    fleet.turn(by: .seconds(5))
    let (admin, first) = try trace("a")
    #expect(first == [])
    pass("PING", on: "a")
    #expect(texts(admin.read()) == ["PING"])
    admin.call("untrace", #"{"trace":"t1"}"#)
    #expect(links("a").count == 1 && links("a").allSatisfy { $0.connector.observer == nil })
  }

  @Test func aTraceBeginsBeforeTheHostHolds() throws {
    fleet.start("a")
    let (admin, _) = try trace("a")
    fleet.turn(by: .seconds(5))
    _ = admin.read()
    pass("PING", on: "a")
    #expect(texts(admin.read()) == ["PING"])
  }

  @Test func theLinkOfTheHolderIsTracedByItsIDToo() throws {
    fleet.start("a")
    fleet.turn(by: .seconds(5))
    let connections = try #require(fleet.hosts["a"]?.gateway.upstreams.pool.all)
    let held = try #require(connections.first { $0.specification.isHeld })
    let (admin, _) = try trace("a", #"{"connection":"\#(held.id)"}"#)
    pass("PING", on: "a")
    #expect(texts(admin.read()) == ["PING"])
  }

  @Test func aTraceGoesOnWithOtherSettings() throws {
    fleet.start("a")
    fleet.turn(by: .seconds(5))
    let (admin, _) = try trace("a")
    fleet.hosts["a"]?.reload { $0.upstreams["chat"]?.settings.handshake = .seconds(11) }
    fleet.turn(by: .seconds(5))
    _ = admin.read()
    pass("PING", on: "a")
    #expect(texts(admin.read()) == ["PING"])
  }

  @Test func aTraceOnAnotherHostSaysAtOnceWhichOneHasTheLink() throws {
    fleet.start("a")
    fleet.turn(by: .seconds(5))
    fleet.start("b")
    fleet.turn(by: .seconds(5))
    let (_, told) = try trace("b")
    #expect(told == [at("a")])
  }

  @Test func aTraceSaysWhereTheLinkIsWhenItHasMoved() throws {
    fleet.startTwo()
    let (left, _) = try trace("a")
    let (taking, _) = try trace("b")
    fleet.hosts["a"]?.client(uid: 0).call("fleet.move", #"{"upstream":"chat","host":"b"}"#)
    fleet.turn(by: .seconds(5))
    #expect(texts(left.read()).last == at("b"))
    _ = taking.read()
    pass("PING", on: "b")
    #expect(texts(taking.read()) == ["PING"])
  }

  @Test func aTraceOnAHostWhoseLeaseIsOverSaysThatTheLinkMayBeElsewhere() throws {
    fleet.startTwo()
    fleet.store.stop()
    fleet.turn(by: .seconds(20))
    let (_, told) = try trace("a")
    #expect(told == ["HOLDER unknown: this host has not read from the fleet's Redis which host has the link"])
  }

  @Test func aTraceSaysThatAHostWithoutRedisDoesNotKnowWhereTheLinkIs() throws {
    fleet.store.stop()
    fleet.start("a")
    fleet.turn(by: .seconds(1))
    let (_, told) = try trace("a")
    #expect(told == ["HOLDER unknown: this host has not read from the fleet's Redis which host has the link"])
  }
}
