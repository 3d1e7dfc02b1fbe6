import Testing

@testable import GatewayCore

@Suite struct FleetTests {
  private let scene = FleetScene()
  private let fleet: Fleet
  private let specification: UpstreamSpecification

  /// Each upstream has an engine of its own here.
  init() throws {
    scene.engine.makeShare = { [scene] in
      let share = FleetMemoryEngine(scene.store, network: scene.timers, random: FakeRandom())
      share.begin()
      return share
    }
    var options = FleetOptions()
    (options.name, options.host) = ("f", "b")
    let seams = FleetSeams(time: scene.time, timers: scene.timers, random: FakeRandom(), machine: "m") { [scene] _ in
      scene.engine
    }
    fleet = try #require(Fleet(options, seams))
    var settings = UpstreamSettings()
    settings.fleet = true
    let url = UpstreamURL(scheme: "http", host: "chat.example")
    specification = UpstreamSpecification(name: "u", url: url, namespace: "/", settings: settings, owner: nil)
    _ = fleet.connector(for: specification, FleetSink())
  }

  private var place: FleetPlace { fleet.place("u", "/") }

  @Test func aHostSaysNothingMoreOfAnUpstreamThatTheFleetSharesNoLonger() throws {
    scene.turn(by: .seconds(25))
    let hosts = place.key(.hosts)
    let before = try #require(scene.store.hostRow(hosts, "b")?.beat)
    #expect(before > 0)
    fleet.keep { _ in false }
    scene.turn(by: .seconds(10))
    let left = scene.store.hostRow(hosts, "b")
    scene.turn(by: .seconds(60))
    #expect(left != nil && scene.store.hostRow(hosts, "b") == left)
  }

  private var boxed: [String] { scene.store.rows(of: place.key(.box(host: "b"))).keys.sorted() }

  /// With two durable sends, whose engine is not reached any more.
  private func leaveUnreached() throws -> FleetMemoryEngine {
    scene.turn(by: .seconds(5))
    let link = try #require(fleet.link(of: place))
    for number in [7, 8] as [UInt64] { link.box.put(number, FleetFields()) }
    scene.turn(by: .seconds(1))
    #expect(boxed == ["7", "8"])
    let engine = try #require(link.engine as? FleetMemoryEngine)
    engine.way.isOpen = false
    engine.cut()
    fleet.keep { _ in false }
    scene.turn(by: .seconds(60))
    return engine
  }

  @Test func whatAHostLeftWhileTheEngineWasNotReachedIsTakenBackAsSoonAsItIs() throws {
    let engine = try leaveUnreached()
    #expect(boxed == ["7", "8"])
    engine.way.isOpen = true
    scene.turn(by: .seconds(5))
    #expect(boxed == [])
  }

  @Test func whatWasAdoptedMeanwhileIsTakenBackAsWell() throws {
    let engine = try leaveUnreached()
    let row = try #require(scene.store.hostRow(place.key(.hosts), "b"))
    scene.run(FleetAdopt(place: place, own: scene.take("z"), host: "b", life: row.life, beat: row.beat ?? 0))
    #expect(scene.store.rows(of: place.key(.adopted)).keys.sorted() == ["b/7", "b/8"])
    engine.way.isOpen = true
    scene.turn(by: .seconds(5))
    #expect(scene.store.rows(of: place.key(.adopted)) == [:])
  }

  @Test func aRefusedRemovalOfWhatAHostLeftIsTriedAgain() throws {
    let engine = try leaveUnreached()
    engine.isRemovalRefused = true
    engine.way.isOpen = true
    scene.turn(by: .seconds(5))
    #expect(boxed == ["7", "8"])
    engine.isRemovalRefused = false
    scene.turn(by: .seconds(2))
    #expect(boxed == [])
  }

  @Test func aHostThatSharesTheUpstreamAgainKeepsTheCopyOfWhatStillWaits() throws {
    let engine = try leaveUnreached()
    _ = fleet.connector(for: specification, FleetSink())
    fleet.link(of: place)?.box.put(8, FleetFields())
    scene.turn(by: .seconds(5))
    engine.way.isOpen = true
    scene.turn(by: .seconds(5))
    #expect(boxed == ["8"])
  }

  /// With so many durable sends.
  private func box(_ count: UInt64) throws -> FleetLink {
    scene.turn(by: .seconds(5))
    let link = try #require(fleet.link(of: place))
    for number in 1...count { link.box.put(number, FleetFields()) }
    scene.turn(by: .seconds(1))
    #expect(boxed.count == Int(count))
    return link
  }

  @Test func thousandsOfRowsOfAnUpstreamThatTheFleetSharesNoLongerAreRemovedInPortions() throws {
    let engine = try #require(try box(UInt64(FleetRemoval.portion * 2 + 1)).engine as? FleetMemoryEngine)
    engine.largestRemoval = 0
    fleet.keep { _ in false }
    scene.turn(by: .seconds(5))
    #expect(boxed == [] && engine.largestRemoval == FleetRemoval.portion)
  }

  @Test func adoptedSendsOfAnUpstreamThatTheFleetSharesNoLongerComeBackInPortions() throws {
    let count: UInt64 = 1_000
    let agreement = try box(count).settings.agreement
    let row = try #require(scene.store.hostRow(place.key(.hosts), "b"))
    let own = scene.take("z")
    scene.run(FleetAdopt(place: place, own: own, host: "b", life: row.life, beat: row.beat ?? 0))
    var (adopted, returned, most) = (0, [UInt64](), 0)
    fleet.onSend = { _, news in
      if case .adopted = news { adopted += 1 }
      if case .returned(let number) = news { returned.append(number) }
    }
    // The other host holds on, and has written none of them.
    for _ in 0..<15 {
      scene.run(FleetBeat(place: place, own: own, agreement: agreement))
      scene.turn(by: .seconds(1))
    }
    #expect(adopted == Int(count) && returned == [])
    fleet.keep { _ in false }
    most = returned.count
    let end = scene.time.now + .seconds(1)
    while let next = scene.timers.nextDeadline, next < end {
      let before = returned.count
      if next > scene.time.now { scene.time.advance(by: next - scene.time.now) }
      scene.timers.fire()
      most = max(most, returned.count - before)
    }
    #expect(returned == Array(1...count) && most <= SortedSet<UInt64>.blockLimit)
  }

  @Test func aLifeHasANumberBehindThoseOfEarlierProcessesAlsoWhereTheFleetHasForgottenThem() throws {
    let start = UInt64(scene.time.wallMilliseconds)
    scene.turn(by: .seconds(1))
    let first = try #require(fleet.link(of: place)?.life)
    #expect(first > start)
    fleet.link(of: place)?.rename("c")
    scene.turn(by: .seconds(1))
    #expect(try #require(fleet.link(of: place)?.life) > first)
  }

  /// Another daemon has joined under the name of this host.
  private func joinANamesake() throws {
    scene.turn(by: .seconds(5))
    var details = FleetHostDetails()
    details.instance = "two"
    scene.run(FleetJoin(place: place, host: "b", life: 0, details: details))
    scene.turn(by: .seconds(5))
    try #require(fleet.takenName == "b" && fleet.host.hasPrefix("b-"))
  }

  @Test func aHostWhoseNameAnotherDaemonHasTakesItAgainWhenThatOneIsGone() throws {
    var regained: [String] = []
    fleet.onNameRegained = { regained.append($0) }
    fleet.abstain(true)
    try joinANamesake()
    let hosts = place.key(.hosts)
    for _ in 0..<10 {
      scene.turn(by: .seconds(10))
      let row = try #require(scene.store.hostRow(hosts, "b"))
      scene.run(FleetAlive(place: place, host: "b", life: row.life, details: row.details))
    }
    #expect(fleet.host.hasPrefix("b-") && regained == [])
    scene.turn(by: .seconds(60))
    #expect(fleet.host == "b" && fleet.takenName == nil && regained == ["b"])
    #expect(scene.store.hostRow(hosts, "b")?.life == fleet.link(of: place)?.life)
    #expect(scene.store.hostRow(hosts, "b")?.details.instance != "two")
  }

  @Test func aHostLeavesItsNameToAnotherDaemonThatIsOnlyRestarted() throws {
    fleet.abstain(true)
    try joinANamesake()
    let hosts = place.key(.hosts)
    for second in stride(from: 0, through: 40, by: 10) {
      var row = try #require(scene.store.hostRow(hosts, "b"))
      row.details.isStopped = second == 40
      scene.run(FleetAlive(place: place, host: "b", life: row.life, details: row.details))
      scene.turn(by: .seconds(10))
    }
    #expect(fleet.host.hasPrefix("b-"))
    scene.turn(by: .seconds(60))
    #expect(fleet.host == "b")
  }

  @Test func aHostWhoseNameAnotherDaemonHasTakesItAgainWhenItIsTold() throws {
    try joinANamesake()
    fleet.takeOwnName()
    scene.turn(by: .seconds(1))
    #expect(fleet.host == "b" && fleet.takenName == nil)
    #expect(scene.store.hostRow(place.key(.hosts), "b")?.life == fleet.link(of: place)?.life)
  }

  @Test func theNameThatAHostHadForAWhileIsForgottenWhenNothingOfItIsNeeded() throws {
    try joinANamesake()
    let (hosts, temporary) = (place.key(.hosts), fleet.host)
    fleet.takeOwnName()
    scene.turn(by: .seconds(10))
    #expect(scene.store.rows(of: hosts).keys.sorted() == ["b", temporary])
    scene.turn(by: .seconds(120))
    #expect(scene.store.rows(of: hosts).keys.sorted() == ["b"])
  }

  @Test func theNameThatAHostHadForAWhileStaysAsLongAsASendOfItIsToBeWritten() throws {
    try joinANamesake()
    let (hosts, temporary) = (place.key(.hosts), fleet.host)
    let box = place.key(.box(host: temporary))
    let agreement = try #require(fleet.link(of: place)).settings.agreement
    let own = scene.take("z")
    fleet.takeOwnName()
    let row = try #require(scene.store.hostRow(hosts, temporary))
    let put = FleetPut(
      place: place, host: temporary, life: row.life, name: "7", row: .waiting(FleetFields()))
    scene.run(put)
    scene.run(FleetAdopt(place: place, own: own, host: temporary, life: row.life, beat: row.beat ?? 0))
    #expect(scene.store.rows(of: place.key(.adopted)).keys.sorted() == ["\(temporary)/7"])
    // The other host holds on, and this one has asked twice.
    for _ in 0..<22 {
      scene.run(FleetBeat(place: place, own: own, agreement: agreement))
      scene.turn(by: .seconds(1))
    }
    #expect(scene.store.hostRow(hosts, temporary) != nil)
    scene.run(FleetDone(place: place, own: own, host: temporary, outcomes: ["7": FleetSendEnd(.sent).row]))
    scene.turn(by: .seconds(120))
    #expect(scene.store.rows(of: hosts).keys.sorted() == ["b"] && scene.store.rows(of: box) == [:])
  }

  @Test func takingALinkAndGivingItUpIsReportedWithTheOtherHost() {
    var reports: [FleetReport] = []
    fleet.onReport = { reports.append($0) }
    scene.turn(by: .seconds(5))
    guard case .took("u", "/", term: 1, _, from: nil)? = reports.first, reports.count == 1 else {
      return #expect(reports == [])
    }
    scene.run(FleetMove(place: place, own: FleetOwn(term: 1, host: "b"), host: "z"))
    scene.turn(by: .seconds(2))
    #expect(reports.dropFirst() == [.gaveUp(upstream: "u", namespace: "/", term: 1, why: "z is to have it")])
    scene.take("z")
    scene.turn(by: .seconds(5))
    #expect(reports.count == 3)
    guard case .took("u", "/", term: 3, _, from: "z")? = reports.last else { return #expect(reports.last == nil) }
    scene.take("y")
    scene.turn(by: .seconds(2))
    #expect(
      reports.dropFirst(3) == [
        .gaveUp(
          upstream: "u", namespace: "/", term: 3, why: "another host has taken it, or the fleet's server has lost it")
      ])
  }

  @Test func aHostThatStopsSaysSoAndIsNoHostThatMayHold() throws {
    scene.turn(by: .seconds(5))
    var isStopped = false
    fleet.stop(within: .seconds(1)) { isStopped = true }
    #expect(!isStopped)
    scene.turn(by: .milliseconds(900))
    let row = try #require(scene.store.hostRow(place.key(.hosts), "b"))
    #expect(isStopped && row.details.isStopped && !row.details.mayHold && !row.isAdopted)
    #expect(scene.store.text(place.key(.lease), "holder") == "")
  }

  @Test func aHostThatStopsTakesNoOtherNameBecauseItsNextProcessIsThereAlready() throws {
    scene.turn(by: .seconds(5))
    var next = FleetHostDetails()
    next.instance = "next"
    scene.run(FleetJoin(place: place, host: "b", life: 1 << 48, details: next))
    fleet.stop(within: .seconds(1)) {}
    scene.turn(by: .seconds(5))
    #expect(fleet.host == "b")
    #expect(scene.store.hostRow(place.key(.hosts), "b")?.details == next)
    #expect(scene.store.rows(of: place.key(.hosts)).keys.sorted() == ["b"])
  }

  @Test func aHostThatSharesAnUpstreamNoLongerIsNotTakenForAliveThere() {
    scene.turn(by: .seconds(5))
    fleet.keep { _ in false }
    scene.turn(by: .milliseconds(100))
    #expect(scene.store.hostRow(place.key(.hosts), "b")?.details.isStopped == true)
  }

  @Test func aPasswordFileThatCannotBeReadAtTheStartIsReported() throws {
    var options = FleetOptions()
    (options.name, options.host, options.password) = ("f", "b", .file("/no/password"))
    options.redis = [try #require(RedisAddress("redis://127.0.0.1"))]
    let seams = FleetSeams(
      dialer: FakeTransportDialer(), credentials: FakeCredentials(), time: scene.time, timers: scene.timers,
      random: FakeRandom(), machine: "m")
    let fleet = try #require(Fleet(options, seams))
    var reasons: [DownReason] = []
    fleet.onReport = { if case .missed(let reason, _) = $0 { reasons.append(reason) } }
    scene.turn(by: .seconds(3))
    #expect(reasons == [.auth])
  }

  @Test func aHostThatSharesNothingAnyMoreIsNotSaidToHaveLeftItsLinksToOthers() throws {
    scene.turn(by: .seconds(5))
    fleet.keep { _ in false }
    scene.turn(by: .seconds(6))
    var result: Result<[FleetPlace], FleetRetirementProblem>?
    fleet.retire(within: .seconds(5)) { result = $0 }
    scene.turn(by: .seconds(6))
    #expect(try result?.get() == [])
    #expect(!fleet.abstains)
  }

  @Test func aHostLeavesAlsoWhereOnlyTheServerOfAnotherUpstreamIsNotReached() throws {
    scene.turn(by: .seconds(5))
    #expect(fleet.holder(of: place)?.holds == true)
    scene.run(FleetJoin(place: place, host: "z", life: 0, details: FleetHostDetails()))
    scene.engine.way.isOpen = false
    scene.engine.cut()
    var result: Result<[FleetPlace], FleetRetirementProblem>?
    fleet.retire(within: .seconds(5)) { result = $0 }
    scene.turn(by: .seconds(1))
    #expect(result == nil && scene.store.text(place.key(.lease), "holder") == "")
    scene.take("z")
    scene.turn(by: .seconds(1))
    #expect(try result?.get() == [place])
  }

  /// What `retire` says, and which problem that is.
  private func retire(with details: FleetHostDetails, for duration: Duration) -> FleetOrderProblem? {
    scene.turn(by: .seconds(5))
    scene.run(FleetJoin(place: place, host: "z", life: 0, details: details))
    var problem: FleetOrderProblem?
    fleet.retire(within: .seconds(5)) { if case .failure(let failure) = $0 { problem = failure.problem } }
    scene.turn(by: duration)
    return problem
  }

  @Test func aHostThatLeavesTakesBackWhatNoOtherHostTakes() {
    // Of an earlier version, which was killed.
    #expect(retire(with: FleetHostDetails(), for: .seconds(10)) == .cameBack("b"))
    #expect(scene.store.text(place.key(.lease), "holder") == "b" && !fleet.abstains)
    let error = LocalError(FleetOrderProblem.cameBack("b"), of: "u", to: nil)
    #expect(error.message.hasPrefix("No other host has taken the link of 'u' in time, and b has it again;"))
  }

  @Test(arguments: [false, true])
  func aSecondOrderToLeaveHearsWhatBecomesOfTheFirst(_ isReloaded: Bool) {
    scene.turn(by: .seconds(5))
    scene.run(FleetJoin(place: place, host: "z", life: 0, details: FleetHostDetails()))
    var problems: [FleetOrderProblem?] = []
    func leave() {
      fleet.retire(within: .seconds(5)) {
        if case .failure(let failure) = $0 { problems.append(failure.problem) } else { problems.append(nil) }
      }
    }
    leave()
    scene.turn(by: .seconds(1))
    #expect(fleet.abstains && scene.store.text(place.key(.lease), "holder") == "")
    leave()
    #expect(problems == [])
    if isReloaded { fleet.rejoin() } else { scene.turn(by: .seconds(10)) }
    let problem: FleetOrderProblem = isReloaded ? .isWantedAgain : .cameBack("b")
    #expect(problems == [problem, problem])
    #expect(!fleet.abstains)
  }

  @Test func aHostWhoseOnlyHeirWasKilledAMomentAgoDoesNotLeave() {
    var details = FleetHostDetails()
    details.answers = true
    #expect(retire(with: details, for: .seconds(3)) == .noAnswer)
    #expect(fleet.holder(of: place)?.lease.own?.term == 1 && !fleet.abstains)
  }
}
