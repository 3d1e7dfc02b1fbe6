import Testing

@testable import GatewayCore

@Suite struct FleetUpReadingTests {
  private final class Notes {
    var isWanted = false
    var departures: [String] = []
  }

  /// A host that holds, connected to its server.
  private struct Holding {
    let scene = FleetScene()
    let sink = FleetSink()
    let owner = FleetOwner()
    let notes = Notes()
    let holder: FleetHolder

    init() {
      let (scene, sink, owner, notes) = (self.scene, self.sink, self.owner, self.notes)
      holder = FleetHolder(
        scene.settings, sink, engine: scene.engine, timers: scene.timers, random: FakeRandom()
      ) { FleetTops() }
      holder.onWant = { [unowned owner] wants in
        notes.isWanted = wants
        if !wants { owner.channel?.close() }
      }
      holder.onReport = { if case .gaveUp(_, _, _, let why) = $0 { notes.departures.append(why) } }
      scene.turn(by: .seconds(5))
      owner.channel = holder.connector.dial(owner: owner)
      sink.open()
      scene.turn(by: .seconds(1))
    }

    func refuseReading(_ isRefused: Bool) {
      let failure = UpstreamFailure(.refused, "r:1 refuses XREAD")
      scene.engine.refusals[scene.place] = isRefused ? failure : nil
      scene.engine.unreadableStreams = isRefused ? [scene.place.key(.up)] : []
    }

    /// Why its link is down, as it says to all.
    var trouble: String? { FleetLeaseRecord(scene.store.rows(of: scene.place.key(.lease))).trouble?.detail }
  }

  private let sentence = "what the hosts say cannot be read: r:1 refuses XREAD"

  @Test func aHolderThatMayNotReadGivesTheLinkToAHostThatMay() {
    let holding = Holding()
    let (scene, notes) = (holding.scene, holding.notes)
    scene.run(FleetJoin(place: scene.place, host: "b", life: 0, details: FleetHostDetails()))
    for _ in 0..<3 {
      scene.turn(by: .seconds(6))
      scene.run(FleetAlive(place: scene.place, host: "b", life: 1, details: FleetHostDetails()))
    }
    scene.turn(by: .seconds(6))
    holding.refuseReading(true)
    scene.turn(by: .seconds(12))
    #expect(holding.holder.holds && notes.isWanted && notes.departures == [])
    scene.turn(by: .seconds(4))
    #expect(!holding.holder.holds && !notes.isWanted)
    #expect(notes.departures == ["\(sentence); another host may be able to"])
  }

  @Test func aHolderThatMayNotReadHasNoLinkAndSaysWhyWhereNoOtherHostWouldTakeIt() {
    let holding = Holding()
    holding.refuseReading(true)
    holding.scene.turn(by: .seconds(12))
    #expect(holding.notes.isWanted && holding.trouble == nil)
    holding.scene.turn(by: .seconds(3))
    #expect(holding.holder.holds && !holding.notes.isWanted && holding.trouble == sentence)
    holding.refuseReading(false)
    holding.scene.turn(by: .seconds(3))
    #expect(holding.holder.holds && holding.notes.isWanted && holding.trouble == nil)
    #expect(holding.notes.departures == [])
  }

  @Test func aHolderToWhichNothingIsSaidKeepsTheLink() {
    let holding = Holding()
    holding.scene.turn(by: .seconds(60))
    #expect(holding.holder.holds && holding.notes.isWanted && holding.trouble == nil)
  }

  /// The engine is lost each second, before anything was read. Returns why nothing can be read.
  private func loseEachSecond(whileHolding isHolding: Bool) -> String? {
    let scene = FleetScene(delay: 2_000...2_000)
    let reading = FleetUpReading(scene.settings, engine: scene.engine, timers: scene.timers)
    reading.isHolding = { isHolding }
    reading.begin()
    for _ in 0..<15 {
      scene.engine.cut()
      scene.turn(by: .seconds(1))
    }
    return reading.failure?.detail
  }

  @Test func anEngineThatIsLostEachTimeBeforeItIsReadCannotBeRead() {
    #expect(
      loseEachSecond(whileHolding: true) == "what the hosts say cannot be read: the link to the store broke")
  }

  @Test func whereTheEngineDoesNotConfirmTheLeaseThatDecides() {
    #expect(loseEachSecond(whileHolding: false) == nil)
  }
}
