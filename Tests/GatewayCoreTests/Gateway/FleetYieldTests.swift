import Testing

@testable import GatewayCore

/// A holder that does not reach the server.
@Suite struct FleetYieldTests {
  private let fleet = FleetGateways()

  private func holder(_ hosts: String...) -> [String] {
    hosts.filter { host in
      let status = HarnessClient.values(fleet.hosts[host]?.client(uid: 0).call("status") ?? []).last
      return status?["result"]?["connections"]?.elements?.contains { $0["fleet"]?["role"]?.stringValue == "holder" }
        ?? false
    }
  }

  @Test func theLeaseGoesToAHostThatMayReachTheServer() {
    fleet.start("a")
    fleet.turn(by: .seconds(5))
    fleet.start("b")
    #expect(holder("a", "b") == ["a"])
    fleet.turn(by: .seconds(20))
    fleet.accept("b")
    #expect(fleet.hosts["b"]?.upstream.channels.isEmpty == false)
    let client = fleet.hosts["a"]?.client()
    client?.call("send", #"{"upstream":"chat","event":"one"}"#)
    fleet.turn(by: .seconds(1))
    #expect(fleet.written("b") == ["one []"])
  }

  @Test func aHolderYieldsAlsoWhereAllHostsWereReloadedWithAnotherURL() {
    fleet.startTwo()
    for host in ["a", "b"] {
      fleet.hosts[host]?.reload { $0.upstreams["chat"]?.url = UpstreamURL(scheme: "http", host: "moved.example") }
      fleet.turn(by: .seconds(1))
    }
    if let channel = fleet.hosts["a"]?.upstream.channels.last, !channel.isClosed, !channel.isFailed {
      channel.fail(.unreachable)
    }
    fleet.turn(by: .seconds(30))
    #expect(fleet.store.text(fleet.place.key(.lease), "own") == "2@b")
  }

  @Test func aHolderThatIsAloneKeepsTheLease() {
    fleet.start("a")
    fleet.turn(by: .seconds(60))
    #expect(fleet.store.text(fleet.place.key(.lease), "own") == "1@a")
  }

  @Test func hostsThatDoNotReachTheServerEitherTakeTurnsAfterAMinuteOnly() {
    fleet.start("a")
    fleet.start("b")
    fleet.turn(by: .seconds(60))
    #expect(fleet.store.text(fleet.place.key(.lease), "term") == "2")
    fleet.turn(by: .seconds(60))
    #expect(fleet.store.text(fleet.place.key(.lease), "term") == "3")
  }
}
