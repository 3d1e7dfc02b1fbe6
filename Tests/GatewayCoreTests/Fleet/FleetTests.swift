import Testing

@testable import GatewayCore

@Suite struct FleetTests {
  /// Each upstream has an engine of its own there.
  @Test func aHostSaysNothingMoreOfAnUpstreamThatTheFleetSharesNoLonger() throws {
    let scene = FleetScene()
    scene.engine.makeShare = {
      let share = FleetMemoryEngine(scene.store, network: scene.timers, random: FakeRandom())
      share.begin()
      return share
    }
    var options = FleetOptions()
    (options.name, options.host) = ("f", "b")
    let seams = FleetSeams(time: scene.time, timers: scene.timers, random: FakeRandom(), machine: "m") { _ in
      scene.engine
    }
    let fleet = try #require(Fleet(options, seams))
    var settings = UpstreamSettings()
    settings.fleet = true
    let url = UpstreamURL(scheme: "http", host: "chat.example")
    let specification = UpstreamSpecification(name: "u", url: url, namespace: "/", settings: settings, owner: nil)
    _ = fleet.connector(for: specification, FleetSink())
    scene.turn(by: .seconds(25))
    let hosts = fleet.place("u", "/").key(.hosts)
    let before = try #require(scene.store.hostRow(hosts, "b")?.beat)
    #expect(before > 0)
    fleet.keep { _ in false }
    scene.turn(by: .seconds(10))
    let left = scene.store.hostRow(hosts, "b")
    scene.turn(by: .seconds(60))
    #expect(left != nil && scene.store.hostRow(hosts, "b") == left)
  }
}
