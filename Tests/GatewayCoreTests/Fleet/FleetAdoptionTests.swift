import Testing

@testable import GatewayCore

/// What the host that holds does about hosts that fell silent.
@Suite struct FleetAdoptionTests {
  @Test func aNewHolderAdoptsNoHostThatAnotherOneHasAdopted() throws {
    let scene = FleetScene()
    func holder(_ host: String) -> FleetHolder {
      var settings = scene.settings
      settings.host = host
      return FleetHolder(settings, FleetSink(), engine: scene.engine, timers: scene.timers, random: FakeRandom()) {
        FleetTops()
      }
    }
    var row: FleetHostRow? { scene.store.hostRow(scene.place.key(.hosts), "b") }
    let rest = scene.settings.adopt + scene.settings.adopt / 2
    let first = holder("a")
    scene.run(FleetJoin(place: scene.place, host: "b", life: 0, details: FleetHostDetails()))
    scene.turn(by: rest)
    #expect(first.holds && row?.life == 2 && row?.isAdopted == true)
    first.leave()
    scene.turn(by: .seconds(2))
    let second = holder("c")
    scene.turn(by: rest * 5)
    #expect(second.holds && row?.life == 2)
  }

  @Test func aDeadHostIsAdoptedOnceUntilItComesBack() throws {
    let scene = FleetScene()
    let holder = FleetHolder(
      scene.settings, FleetSink(), engine: scene.engine, timers: scene.timers, random: FakeRandom()
    ) { FleetTops() }
    var life: UInt64? { scene.store.hostRow(scene.place.key(.hosts), "b")?.life }
    let rest = scene.settings.adopt + scene.settings.adopt / 2
    let join = FleetJoin(place: scene.place, host: "b", life: 0, details: FleetHostDetails())
    scene.run(join)
    scene.turn(by: rest)
    #expect(holder.holds && life == 2)
    scene.turn(by: rest * 5)
    #expect(life == 2)
    scene.run(join)
    scene.turn(by: rest * 5)
    #expect(life == 4)
  }

  @Test func theHolderWritesOnAfterAnAdoptionThatWasNotConfirmedInTime() throws {
    let scene = FleetScene()
    let sink = FleetSink()
    let holder = FleetHolder(
      scene.settings, sink, engine: scene.engine, timers: scene.timers, random: FakeRandom()
    ) { FleetTops() }
    scene.engine.copies = 1
    scene.run(FleetJoin(place: scene.place, host: "b", life: 0, details: FleetHostDetails()))
    scene.turn(by: .seconds(5))
    let owner = FleetOwner()
    owner.channel = holder.connector.dial(owner: owner)
    sink.open()
    scene.turn(by: .seconds(1))
    let conversation = try #require(holder.writer?.conversation)
    scene.engine.uncopied = [.adopt]
    scene.turn(by: scene.settings.adopt * 2)
    #expect(scene.store.hostRow(scene.place.key(.hosts), "b")?.isAdopted == true)
    let call = FleetUpEntry.Call.write(PreparedMessage(event: "m", body: Array("one".utf8)), ack: nil, row: nil)
    let entry = FleetUpEntry(host: "c", life: 1, conversation: conversation, number: 1, call: call)
    _ = scene.store.append(entry.fields, to: scene.place.key(.up), at: nil)
    scene.turn(by: .seconds(1))
    #expect(sink.takeAll() == ["one"])
  }
}
