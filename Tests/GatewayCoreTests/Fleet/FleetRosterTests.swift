import Testing

@testable import GatewayCore

@Suite struct FleetRosterTests {
  @Test func theHolderIsKnownToLiveSoonAfterAHostsStart() {
    let scene = FleetScene()
    scene.run(FleetJoin(place: scene.place, host: "b", life: 0, details: FleetHostDetails()))
    scene.run(FleetJoin(place: scene.place, host: "c", life: 0, details: FleetHostDetails()))
    let own = scene.take("b")
    let link = FleetLink(scene.settings, engine: scene.engine, timers: scene.timers)
    scene.turn(by: .seconds(1))
    #expect(["b", "c"].map { link.roster.isAlive($0) } == [nil, nil])
    scene.run(FleetBeat(place: scene.place, own: own))
    scene.turn(by: .seconds(1))
    #expect(["b", "c"].map { link.roster.isAlive($0) } == [true, nil])
    scene.run(FleetAlive(place: scene.place, host: "c", life: 1, details: FleetHostDetails()))
    scene.turn(by: .milliseconds(2_500))
    #expect(link.roster.isAlive("c") == true)
  }

  private let scene = FleetScene()
  private let roster: FleetRoster

  init() {
    roster = FleetRoster(scene.settings, engine: scene.engine, timers: scene.timers)
    roster.engineGained()
  }

  private func join(_ host: String, _ details: FleetHostDetails = FleetHostDetails()) {
    scene.run(FleetJoin(place: scene.place, host: host, life: 0, details: details))
  }

  private func alive(_ host: String, _ life: UInt64 = 1) {
    scene.run(FleetAlive(place: scene.place, host: host, life: life, details: FleetHostDetails()))
  }

  private func look(atHosts: Bool = true) {
    if atHosts { roster.refresh {} } else { roster.readLease {} }
    scene.settle()
  }

  @Test func aHostThatWasToldToLookNoMoreDoesNotGoOnBecauseALookWasUnderWay() {
    scene.settle()
    roster.engineGained()
    roster.stop()
    scene.settle()
    join("b")
    scene.turn(by: .seconds(60))
    #expect(roster.hosts.isEmpty)
  }

  @Test func aHostThatIsSeenOnceIsUnknownUntilItIsHeardOrSilentForTooLong() {
    join("b")
    look()
    #expect(roster.isAlive("b") == nil)
    #expect(roster.present == ["b"])
    alive("b")
    look()
    #expect(roster.isAlive("b") == true)
    scene.turn(by: .seconds(29))
    #expect(roster.isAlive("b") == true)
    #expect(roster.silence(of: "b") == .seconds(29))
    scene.turn(by: .seconds(2))
    #expect(roster.isAlive("b") == false)
    #expect(roster.present == [])
    #expect(roster.isAlive("c") == false)
  }

  @Test func aHostThatWasAdoptedIsNotTakenForAliveAgain() {
    let own = scene.take("a")
    join("b")
    alive("b")
    look()
    alive("b")
    look()
    #expect(roster.isAlive("b") == true)
    scene.run(FleetAdopt(place: scene.place, own: own, host: "b", life: 1, beat: 2))
    look()
    #expect(roster.isAlive("b") == false)
    #expect(roster.heirs(of: "a") == [])
    join("b")
    look()
    #expect(roster.isAlive("b") == true)
  }

  @Test func itIsStillToldHowLongAgoAHostWasHeardOnceItWasAdopted() {
    let own = scene.take("a")
    join("b")
    look()
    alive("b")
    look()
    scene.turn(by: .seconds(31))
    scene.run(FleetAdopt(place: scene.place, own: own, host: "b", life: 1, beat: 1))
    look()
    scene.turn(by: .seconds(60))
    #expect(roster.isAlive("b") == false)
    #expect(roster.silence(of: "b") == .seconds(91))
  }

  /// What it has said between two looks was said before its end, and not when the second one sees it.
  @Test func aHolderThatWasKilledIsNotSaidToHaveBeenHeardInTheMomentInWhichSomebodyAsks() {
    let own = scene.take("b")
    join("b")
    look()
    alive("b")
    scene.run(FleetBeat(place: scene.place, own: own))
    scene.turn(by: .seconds(2))
    let killed = scene.time.now
    scene.turn(by: .milliseconds(3_400))
    scene.take("c")
    scene.turn(by: .milliseconds(600))
    look()
    let silence = roster.silence(of: "b") ?? .zero
    #expect(silence >= scene.time.now - killed && silence <= .seconds(6))
    #expect(roster.isAlive("b") == true)
  }

  @Test func aHostThatWasStoppedInOrderIsNotAliveUntilItsNextProcessIs() {
    join("b")
    look()
    alive("b")
    look()
    #expect(roster.isAlive("b") == true && roster.heirs(of: "a") == ["b"])
    var stopped = FleetHostDetails(mayHold: false)
    stopped.isStopped = true
    scene.run(FleetAlive(place: scene.place, host: "b", life: 1, details: stopped))
    look()
    #expect(roster.isAlive("b") == false && roster.heirs(of: "a") == [] && roster.presentCount == 0)
    #expect(!roster.isSilent("b"))
    join("b")
    look()
    #expect(roster.isAlive("b") == true && roster.heirs(of: "a") == ["b"])
  }

  @Test func whatCouldNotBeHeardIsNotSilent() {
    join("b")
    alive("b")
    look()
    scene.turn(by: .seconds(25))
    roster.engineLost()
    scene.turn(by: .seconds(25))
    roster.engineGained()
    #expect(roster.isAlive("b") != false)
  }

  @Test func whileTheEngineIsAwayWhatWasSeenLastIsKnownButNothingOfThePresentServer() {
    let own = scene.take("b")
    join("b")
    look()
    alive("b")
    look()
    let seen = roster.record
    roster.engineLost()
    scene.turn(by: .seconds(25))
    // Another attempt has failed.
    roster.engineLost()
    scene.turn(by: .seconds(25))
    #expect(roster.record == nil && roster.leaseLeft == nil)
    #expect(roster.lastRecord == seen && roster.lastRecord?.own == own)
    #expect(roster.isAlive("b") == true && roster.presentCount == 1)
    #expect(roster.silence(of: "b") == .seconds(50))
    roster.engineGained()
    #expect(roster.record == nil && roster.lastRecord == seen)
    scene.settle()
    #expect(roster.record == roster.lastRecord && roster.record?.own == own)
  }

  @Test func theLeaseRunsOutWithoutAnotherBeat() {
    #expect(roster.leaseLeft == nil)
    let own = scene.take("b")
    look()
    #expect(roster.leaseLeft == .seconds(3))
    scene.turn(by: .seconds(2))
    #expect(roster.leaseLeft == .seconds(1))
    scene.run(FleetBeat(place: scene.place, own: own))
    look()
    #expect(roster.leaseLeft == .seconds(3))
    scene.turn(by: .seconds(5))
    #expect(roster.leaseLeft == .zero)
    scene.run(FleetRelease(place: scene.place, own: own))
    look()
    #expect(roster.leaseLeft == nil)
    #expect(roster.record?.own == own)
  }

  @Test func ofVeryManyHostsAHostLooksAtTheOthersOnlyWhenSomebodyAsks() {
    scene.run(FleetBeat(place: scene.place, own: scene.take("b"), census: FleetCensus(living: 300)))
    join("b")
    scene.turn(by: .seconds(20))
    #expect(roster.hosts.isEmpty && roster.presentCount == 300)
    #expect(roster.isAlive("b") == nil)
    look()
    #expect(roster.present == ["b"])
    alive("b")
    scene.turn(by: .seconds(20))
    #expect(roster.isAlive("b") == true)
    scene.turn(by: .seconds(60))
    #expect(roster.hosts.isEmpty && roster.presentCount == 300)
  }

  @Test func theMoreHostsThereAreTheMoreSeldomEachLooksAtTheLease() {
    let own = scene.take("b")
    scene.run(FleetBeat(place: scene.place, own: own, census: FleetCensus(living: 5_000)))
    scene.turn(by: .seconds(2))
    scene.run(FleetBeat(place: scene.place, own: own, sequence: 7, census: FleetCensus(living: 5_000)))
    scene.turn(by: .seconds(3))
    #expect(roster.record?.sequence == 0)
    #expect(roster.leaseLeft == nil)
    scene.turn(by: .seconds(2))
    #expect(roster.record?.sequence == 7)
  }

  @Test func heirsMayHoldAndLive() {
    join("a")
    join("b")
    join("c", FleetHostDetails(mayHold: false))
    look()
    #expect(roster.heirs(of: "a") == ["b"])
    #expect(roster.heirs(of: "b") == ["a"])
  }

  @Test func ofManyHostsAFewThatMayHoldHaveLowRanksAlsoUnseen() {
    let census = FleetCensus(living: 1_000, willing: 3, prefers: true)
    scene.run(FleetBeat(place: scene.place, own: scene.take("x"), census: census))
    look(atHosts: false)
    let ranks = (0..<50).map { roster.rank(of: "edge-\($0)", prefers: false) }
    #expect(Set(ranks.map(\.place)) == [0, 1, 2])
    #expect(ranks.allSatisfy { $0.yields })
    #expect(roster.rank(of: "edge-1", prefers: true) == .first)
  }

  @Test func hostsThatPreferToHoldAreFirstAndWhoHoldsIsNotAsked() {
    #expect(roster.rank(of: "b", prefers: false) == .first)
    var preferring = FleetHostDetails()
    preferring.prefers = true
    var reluctant = FleetHostDetails()
    (reluctant.prefers, reluctant.isReluctant) = (true, true)
    for host in ["a", "b", "c"] { join(host) }
    join("d", FleetHostDetails(mayHold: false))
    join("e", reluctant)
    join("p", preferring)
    look()
    #expect(["p", "a", "b", "c"].map { roster.rank(of: $0, prefers: $0 == "p").place } == [0, 1, 2, 3])
    #expect(["p", "a", "b", "c"].map { roster.rank(of: $0, prefers: $0 == "p").yields } == [false, true, true, true])
    scene.take("p")
    look()
    #expect(roster.rank(of: "a", prefers: false) == .first)
    #expect(roster.rank(of: "b", prefers: false) == FleetRank(place: 1, yields: false))
  }

  @Test func theFleetSpeaksTheLowestVersionThatIsKnownHere() {
    #expect(roster.version(1...3) == 3)
    join("a", FleetHostDetails(version: 3))
    join("b", FleetHostDetails(version: 2))
    look()
    #expect(roster.version(1...3) == 2)
    #expect(roster.version(3...4) == 3)
    // The older one is gone for good.
    for _ in 0..<40 {
      scene.run(FleetAlive(place: scene.place, host: "a", life: 1, details: FleetHostDetails(version: 3)))
      scene.turn(by: .seconds(1))
    }
    #expect(roster.version(1...3) == 3)
  }
}
