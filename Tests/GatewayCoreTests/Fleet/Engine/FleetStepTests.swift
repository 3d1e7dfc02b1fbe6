import Testing

@testable import GatewayCore

@Suite struct FleetStepTests {
  private let store = FleetStore()
  private let time = FakeTime()
  private let place = FleetPlace(fleet: "f", upstream: "u")
  private let engine: FleetMemoryEngine
  private let timers: Timers

  init() {
    timers = Timers(time: time)
    engine = FleetMemoryEngine(store, network: timers, random: FakeRandom())
    engine.begin()
    settle()
  }

  private func settle() { while timers.nextDeadline.map({ $0 <= time.now }) ?? false { timers.fire() } }

  private func run<Step: FleetStep>(_ step: Step) -> FleetOutcome<Step.Result>? {
    var outcome: FleetOutcome<Step.Result>?
    engine.run(step) { outcome = $0 }
    settle()
    return outcome
  }

  private func take(_ host: String, _ seen: FleetSight = FleetSight(), sequence: UInt64 = 0) -> FleetTaken? {
    guard case .done(let taken) = run(FleetTake(place: place, host: host, seen: seen, run: "run1", sequence: sequence))
    else { return nil }
    return taken
  }

  @Test func aLeaseIsTakenOnlyAsItWasSeen() {
    #expect(take("a")?.term == 1)
    #expect(take("b") == nil)
    let own = FleetOwn(term: 1, host: "a")
    #expect(run(FleetBeat(place: place, own: own)) == .done(FleetBeaten(beat: 1)))
    #expect(take("b", FleetSight(own: own.text, beat: "0")) == nil)
    let taken = take("b", FleetSight(own: own.text, beat: "1"))
    #expect(taken == FleetTaken(term: 2, conversation: 2, sequence: 0, epoch: "", isSameRun: true))
    #expect(run(FleetBeat(place: place, own: own)) == .fenced)
    #expect(run(FleetRelease(place: place, own: own)) == .fenced)
  }

  @Test func anEventBehindATakeOverIsFenced() {
    _ = take("a")
    let own = FleetOwn(term: 1, host: "a")
    let opened = run(FleetOpen(place: place, own: own, run: "run1", epoch: "e1", sequence: 0, session: "s"))
    #expect(opened == .done(FleetOpened(conversation: 2, up: .start)))
    var fields = FleetFields()
    fields.add("o", "17")
    #expect(append(fields, FleetPosition(2, 1)) == .done(FleetPosition(2, 1)))
    #expect(append(fields, FleetPosition(2, 1)) == .fenced)
    let taken = take("b", FleetSight(own: own.text, beat: "0"))
    #expect(
      taken
        == FleetTaken(
          term: 2, conversation: 3, sequence: 1, epoch: "e1", resumption: Resumption(session: "s", offset: "17"),
          isSameRun: true))
    #expect(append(fields, FleetPosition(2, 2)) == .fenced)
  }

  private func append(_ fields: FleetFields, _ position: FleetPosition) -> FleetOutcome<FleetPosition>? {
    var outcome: FleetOutcome<FleetPosition>?
    engine.append(fields, to: place.key(.events), at: position) { outcome = $0 }
    settle()
    return outcome
  }

  @Test func anEmptiedServerLeavesNumbersOut() {
    let skipped: UInt64 = 1 << 20
    #expect(take("a", sequence: 40)?.sequence == 40 + skipped)
  }

  @Test func aHostThatWasAdoptedIsFenced() {
    _ = take("a")
    let details = FleetHostDetails()
    #expect(
      run(FleetJoin(place: place, host: "b", life: 0, details: details)) == .done(FleetJoined(life: 1, names: [])))
    var fields = FleetFields()
    fields.add("b", "x")
    let put = FleetPut(place: place, host: "b", life: 1, name: "7", row: .waiting(fields))
    #expect(run(put) == .done(true))
    #expect(run(FleetAlive(place: place, host: "b", life: 1, details: details)) == .done(1))
    let own = FleetOwn(term: 1, host: "a")
    #expect(run(FleetAdopt(place: place, own: own, host: "b", life: 1, beat: 0)) == .done(nil))
    #expect(
      run(FleetAdopt(place: place, own: own, host: "b", life: 1, beat: 1)) == .done(FleetAdopted(life: 2, rows: 1)))
    #expect(run(put) == .fenced)
    #expect(run(FleetAlive(place: place, host: "b", life: 1, details: details)) == .fenced)
    #expect(
      run(FleetJoin(place: place, host: "b", life: 1, details: details)) == .done(FleetJoined(life: 3, names: [])))
    #expect(store.rows(of: place.key(.adopted)) == ["b/7": FleetBoxRow.waiting(fields).bytes])
    #expect(store.hostRow(place.key(.hosts), "b")?.details == details)
  }

  @Test func outcomesAndTheReplyGoInOneStep() {
    _ = take("a")
    let own = FleetOwn(term: 1, host: "a")
    _ = run(FleetJoin(place: place, host: "b", life: 0, details: FleetHostDetails()))
    _ = run(FleetPut(place: place, host: "b", life: 1, name: "7", row: .waiting(FleetFields())))
    let reply = FleetRecord(position: FleetPosition(2, 1), fields: FleetReplyEntry(.written(upTo: 3)).fields)
    let outcome = FleetBoxRow.finished(FleetFields())
    let done = FleetDone(place: place, own: own, host: "b", reply: reply, outcomes: ["7": outcome, "8": outcome])
    #expect(run(done) == .done(true))
    #expect(run(done) == .done(false))
    #expect(store.rows(of: place.key(.box(host: "b"))) == ["7": outcome.bytes])
    #expect(store.records(of: place.key(.replies(host: "b")), after: .start) == [reply])
    let joined = run(FleetJoin(place: place, host: "b", life: 1, details: FleetHostDetails()))
    #expect(joined == .done(FleetJoined(life: 2, names: ["7"])))
  }

  @Test func whatAnEngineWasAskedIsAnsweredWhenItIsLost() {
    engine.way.delay = 5...5
    var heard: [FleetOutcome<FleetBeaten>] = []
    engine.run(FleetBeat(place: place, own: FleetOwn(term: 1, host: "a"))) { heard.append($0) }
    engine.cut()
    #expect(heard == [.unanswered])
    #expect(engine.server == nil)
    settle()
    #expect(engine.server?.run == "run1")
  }
}
