import Testing

@testable import GatewayCore

/// What `status` says of a fleet.
@Suite struct FleetDocumentTests {
  private let fleet = FleetGateways()

  private func status(_ host: String) -> JSONValue {
    HarnessClient.values(fleet.hosts[host]?.client(uid: 0).call("status") ?? []).last?["result"] ?? .null
  }

  /// The host's connections of that role.
  private func connections(_ host: String, _ role: FleetRole) -> [JSONValue] {
    (status(host)["connections"]?.elements ?? []).filter { $0["fleet"]?["role"]?.stringValue == role.rawValue }
  }

  @Test func aHostThatDoesNotReachRedisSaysSoOfTheWholeDaemon() {
    fleet.start("a")
    #expect(status("a")["daemon"]?["fleet"]?["redis"]?["state"]?.stringValue == "working")
    fleet.store.stop()
    fleet.turn(by: .seconds(1))
    let shown = status("a")["daemon"]?["fleet"]
    #expect(shown?["host"]?.stringValue == "a" && shown?["redis"]?["state"]?.stringValue == "unreachable")
    #expect(shown?["redis"]?["detail"]?.stringValue == "the link to the store broke")
  }

  @Test func theLinkThatAnotherHostHasTakenIsNotNeededAnyMore() {
    fleet.start("a")
    fleet.turn(by: .seconds(5))
    fleet.accept("a")
    fleet.start("b")
    fleet.turn(by: .seconds(20))
    #expect(connections("a", .holder).map { $0["needed"]?.boolValue } == [true])
    fleet.hosts["a"]?.client(uid: 0).call("fleet.move", #"{"upstream":"chat","host":"b"}"#)
    fleet.turn(by: .seconds(5))
    #expect(connections("b", .holder).map { $0["needed"]?.boolValue } == [true])
    let left = connections("a", .holder)
    #expect(left.map { $0["needed"]?.boolValue } == [false] && left[0]["state"]?.stringValue == "disconnected")
  }
}
