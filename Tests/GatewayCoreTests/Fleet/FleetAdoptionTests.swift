import Testing

@testable import GatewayCore

/// What the host that holds does about hosts that fell silent.
@Suite struct FleetAdoptionTests {
  private let scene = FleetScene()
  private let sink = FleetSink()
  private let owner = FleetOwner()
  /// The host that falls silent.
  private var row: FleetHostRow? { scene.store.hostRow(scene.place.key(.hosts), "b") }

  /// A holder with a link to a server, in a fleet with a copy; host `b` has joined and says nothing more.
  private func hold() -> FleetHolder {
    let holder = FleetHolder(
      scene.settings, sink, engine: scene.engine, timers: scene.timers, random: FakeRandom()
    ) { FleetTops() }
    scene.engine.copies = 1
    scene.run(FleetJoin(place: scene.place, host: "b", life: 0, details: FleetHostDetails()))
    scene.turn(by: .seconds(5))
    open(holder)
    return holder
  }

  private func open(_ holder: FleetHolder) {
    owner.channel = holder.connector.dial(owner: owner)
    sink.open()
    scene.turn(by: .seconds(1))
  }

  /// What the server hears when host `c` says something.
  private func hear(_ holder: FleetHolder) throws -> [String] {
    let conversation = try #require(holder.writer?.conversation)
    let call = FleetUpEntry.Call.write(PreparedMessage(event: "m", body: Array("one".utf8)), ack: nil, row: nil)
    let entry = FleetUpEntry(host: "c", life: 1, conversation: conversation, number: 1, call: call)
    _ = scene.store.append(entry.fields, to: scene.place.key(.up), at: nil)
    scene.turn(by: .seconds(1))
    return sink.takeAll()
  }

  @Test func aNewHolderAdoptsNoHostThatAnotherOneHasAdopted() {
    func holder(_ host: String) -> FleetHolder {
      var settings = scene.settings
      settings.host = host
      return FleetHolder(settings, FleetSink(), engine: scene.engine, timers: scene.timers, random: FakeRandom()) {
        FleetTops()
      }
    }
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

  @Test func aDeadHostIsAdoptedOnceUntilItComesBack() {
    let holder = FleetHolder(
      scene.settings, FleetSink(), engine: scene.engine, timers: scene.timers, random: FakeRandom()
    ) { FleetTops() }
    let rest = scene.settings.adopt + scene.settings.adopt / 2
    let join = FleetJoin(place: scene.place, host: "b", life: 0, details: FleetHostDetails())
    scene.run(join)
    scene.turn(by: rest)
    #expect(holder.holds && row?.life == 2)
    scene.turn(by: rest * 5)
    #expect(row?.life == 2)
    scene.run(join)
    scene.turn(by: rest * 5)
    #expect(row?.life == 4)
  }

  @Test func whatTheFleetHasIsTakenInPortionsAndInItsOrderBeforeWhatHostsSay() throws {
    let holder = hold()
    for number in 1...1_000 as ClosedRange<UInt64> {
      var fields = FleetFields()
      fields.add("i", number)
      PreparedMessage(event: "m", body: Array("\(number)".utf8)).add(to: &fields)
      scene.store.set(scene.place.key(.adopted), "b/\(number)", FleetBoxRow.waiting(fields).bytes)
    }
    sink.owner?.channelEnded(sink, UpstreamFailure(.closed, "gone"))
    // Nothing gets to the server's machine.
    sink.cost = 1
    owner.channel = holder.connector.dial(owner: owner)
    sink.open()
    var counts = [0]
    while holder.writer?.isReading != true, let next = scene.timers.nextDeadline {
      if next > scene.time.now { scene.time.advance(by: next - scene.time.now) }
      scene.timers.fire()
      counts.append(holder.adopted.count)
    }
    #expect(zip(counts, counts.dropFirst()).allSatisfy { $1 - $0 <= SortedSet<FleetSend>.blockLimit })
    #expect(holder.adopted.count == 1_000)
    let before = sink.takeAll()
    let after = try hear(holder)
    let expected = (1...1_000).map { "\($0)" }
    #expect(before + after == expected + ["one"])
  }

  @Test func anAdoptionIsMadeAgainThatAFailoverUndoesInALaterConversation() {
    let holder = hold()
    scene.turn(by: scene.settings.adopt * 2)
    #expect(row?.isAdopted == true && row?.life == 2)
    sink.owner?.channelEnded(sink, UpstreamFailure(.closed, "gone"))
    open(holder)
    let undone = Array("1:7:".utf8) + FleetHostDetails().fields.packed
    scene.store.set(scene.place.key(.hosts), "b", undone)
    scene.turn(by: scene.settings.adopt / 3)
    #expect(holder.writer != nil && row?.isAdopted == true && row?.life == 2)
  }

  @Test func theHolderWritesOnAfterAnAdoptionThatWasNotConfirmedInTime() throws {
    let holder = hold()
    scene.engine.uncopied = [.adopt]
    scene.turn(by: scene.settings.adopt * 2)
    #expect(row?.isAdopted == true)
    #expect(try hear(holder) == ["one"])
  }

  @Test func theHolderWritesOnWhereTheEngineIsReachedAgainJustWhenItIsToBeAskedOnceMore() throws {
    let holder = hold()
    scene.engine.uncopied = [.adopt]
    while row?.isAdopted != true, let next = scene.timers.nextDeadline { scene.turn(by: next - scene.time.now) }
    let pause = FleetRefusal.pause.milliseconds
    scene.engine.way.reach = pause...pause
    scene.engine.cut()
    scene.turn(by: FleetRefusal.pause * 2)
    #expect(scene.engine.server != nil && row?.isAdopted == true)
    #expect(try hear(holder) == ["one"])
  }
}
