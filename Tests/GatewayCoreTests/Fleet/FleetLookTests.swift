import Testing

@testable import GatewayCore

/// Hosts in such numbers that nobody looks at all of them at once.
@Suite struct FleetLookTests {
  private let scene = FleetScene()

  private func join(_ count: Int, _ details: FleetHostDetails = FleetHostDetails()) {
    for number in 0..<count {
      scene.run(FleetJoin(place: scene.place, host: "h\(number)", life: 0, details: details))
    }
  }

  private func holder() -> FleetHolder {
    FleetHolder(
      scene.settings, FleetSink(), engine: scene.engine, timers: scene.timers, random: FakeRandom()
    ) { FleetTops() }
  }

  @Test func sixHundredHostsAreLookedAtInPortions() {
    join(600)
    var seen: [String: FleetHostRow] = [:]
    var (portions, all): ([Int], [String]?) = ([], nil)
    FleetLook(place: scene.place, engine: scene.engine).begin {
      portions.append($0.count)
      seen.merge($0) { $1 }
    } _: {
      all = $0
    }
    scene.settle()
    #expect(portions == [256, 256, 88])
    #expect(all?.count == 600 && seen.count == 600)
  }

  @Test func aLookThatTheEngineDoesNotAnswerEnds() {
    join(600)
    var ends: [[String]?] = []
    FleetLook(place: scene.place, engine: scene.engine).begin { _ in
      scene.engine.distrust()
    } _: {
      ends.append($0)
    }
    scene.turn(by: .seconds(1))
    #expect(ends == [nil])
  }

  @Test func theHolderSaysHowManyHostsLive() {
    join(600)
    let holder = holder()
    scene.turn(by: .seconds(10))
    #expect(holder.holds)
    #expect(scene.store.text(scene.place.key(.lease), "hosts") == "600")
    #expect(scene.store.text(scene.place.key(.lease), "may") == "600")
    // None of them says a word, and all are adopted.
    scene.turn(by: scene.settings.adopt * 2)
    #expect(scene.store.text(scene.place.key(.lease), "hosts") == "0")
  }

  @Test func hundredsOfHostsThatDieTogetherAreAdoptedInTurns() {
    join(600)
    let hosts = FleetHosts(scene.settings, engine: scene.engine, timers: scene.timers)
    var told: [Int64: Set<String>] = [:]
    var turn: Int64 = 0
    hosts.onSilent = { host, _ in told[turn, default: []].insert(host) }
    hosts.begin()
    scene.turn(by: scene.settings.adopt - .milliseconds(1))
    #expect(told.isEmpty)
    // One call fires what is due, and not what that makes due.
    for _ in 0..<600 where told.values.reduce(0, { $0 + $1.count }) < 600 {
      if let next = scene.timers.nextDeadline, next > scene.time.now { scene.time.advance(by: next - scene.time.now) }
      turn += 1
      scene.timers.fire()
    }
    #expect(told.values.allSatisfy { $0.count <= FleetHosts.toldAtOnce })
    #expect(told.values.reduce(into: Set()) { $0.formUnion($1) }.count == 600)
  }

  @Test func aTermDoesNotBeginWithTheHostsThatTheLastOneCounted() {
    join(3)
    let hosts = FleetHosts(scene.settings, engine: scene.engine, timers: scene.timers)
    hosts.begin()
    scene.turn(by: .seconds(1))
    #expect(hosts.livingCount == 3)
    hosts.end()
    #expect(hosts.livingCount == 0)
  }

  @Test func theFleetSpeaksTheLowestVersionOfThoseThatAreNotSilent() {
    join(300, FleetHostDetails(version: 2))
    let hosts = FleetHosts(scene.settings, engine: scene.engine, timers: scene.timers)
    #expect(hosts.version(1...3) == nil)
    hosts.begin()
    scene.turn(by: .seconds(1))
    #expect(hosts.version(1...3) == 2)
    scene.turn(by: scene.settings.adopt)
    #expect(hosts.version(1...3) == 3)
    hosts.end()
    #expect(hosts.version(1...3) == nil && hosts.rows.isEmpty)
  }
}
