import Glibc
import Testing

@testable import GatewayCore

/// Random schedules of faults against the table of promises. A seed that fails is run again alone by
/// `GATEWAY_FLEET_SEED`, and more of them by `GATEWAY_FLEET_SCHEDULES`.
@Suite struct FleetHolderTests {
  /// How many of each sort.
  static let count = number("GATEWAY_FLEET_SCHEDULES") ?? 40
  /// Without faults schedules are much like each other.
  static let quietCount = max(1, count / 4)
  static let first = number("GATEWAY_FLEET_SEED") ?? 1

  private static func number(_ name: String) -> UInt64? { getenv(name).flatMap { UInt64(String(cString: $0)) } }

  private func run(_ options: FleetRig.Options, _ title: String, count: UInt64 = count) {
    var (terms, events, arrivals, repetitions, faults) = (0, 0, 0, 0, 0)
    for seed in Self.first..<(Self.first + count) {
      let rig = FleetRig(options, seed: seed)
      rig.run()
      #expect(rig.problems == [], "\(title), seed \(seed), faults \(rig.faults.map(\.rawValue))")
      terms += Int(rig.server.arrivals.map(\.term).max() ?? 0)
      (events, arrivals) = (events + rig.events, arrivals + rig.server.arrivals.count)
      (repetitions, faults) = (repetitions + rig.repetitions, faults + rig.faults.count)
      #expect(rig.server.arrivals.count > 20, "\(title), seed \(seed)")
    }
    // In one schedule the engine may be away nearly all the time.
    #expect(events > 50 * Int(count), "\(title)")
    print("\(title): \(count) schedules, \(faults) faults, \(terms) terms, \(arrivals) messages, ", terminator: "")
    print("\(repetitions) twice, \(events) events")
  }

  @Test func withoutFaultsEverythingArrivesOnceAndInOrder() {
    var options = FleetRig.Options()
    options.faults = []
    run(options, "quiet", count: Self.quietCount)
  }

  @Test func whatIsPromisedHoldsUnderFaults() { run(FleetRig.Options(), "faults") }

  @Test func whatAHolderThatLeavesInOrderHasNotWrittenTheNextOneWrites() {
    var options = FleetRig.Options()
    (options.faults, options.faultPause, options.sendPause) = ([.leave], 400, 30)
    var (requeued, lost) = (0, 0)
    for seed in Self.first..<(Self.first + Self.quietCount) {
      let rig = FleetRig(options, seed: seed)
      rig.run()
      #expect(rig.problems == [], "seed \(seed)")
      requeued += rig.requeued
      lost += rig.outcomes.count { $0.key.sort == .plain && $0.value.contains(.lost) }
    }
    // One that leaves before it knows which conversation it has begun does not say that it has written nothing in it.
    #expect(requeued > 5 * lost)
  }

  @Test func noEventIsMissingWhereTheServerRecoversSessions() {
    var options = FleetRig.Options()
    options.recovers = true
    // Another process of the engine may have forgotten some.
    options.faults.removeAll { $0 == .restartStore || $0 == .stopStore }
    run(options, "recovery")
  }

  @Test func whatIsPromisedHoldsOverFailoversWithACopy() {
    var options = FleetRig.Options()
    options.copies = 1
    options.faults += [.failOver, .failOver, .slowCopies]
    run(options, "failover")
  }

  @Test func aReplicaThatIsLateHoldsNothingUpForGood() {
    var options = FleetRig.Options()
    (options.copies, options.faultPause) = (1, 500)
    options.faults = [.slowCopies, .slowCopies, .slowCopies, .hangUp, .kill, .awayFromEngine]
    run(options, "late copies")
  }

  @Test func aServerWithoutRoomHoldsUpWhatIsSaidAndLosesNothing() {
    var options = FleetRig.Options()
    options.faults = [.fillStore, .fillStore, .kill, .cutEngine, .awayFromEngine, .hangUp]
    run(options, "full")
  }

  @Test func aDurableSendIsWrittenOnceOnALinkThoughAFailoverUndoesWhatWasConfirmed() {
    var options = FleetRig.Options()
    options.copies = 1
    options.faults = [.replace, .replace, .awayFromEngine, .cutEngine, .pause]
    run(options, "undone")
  }

  /// A schedule of its own, of a fleet with a copy.
  private func run(_ seed: UInt64, _ schedule: (FleetRig) -> Void) -> FleetRig {
    var options = FleetRig.Options()
    (options.copies, options.faults) = (1, [])
    let rig = FleetRig(options, seed: seed)
    schedule(rig)
    rig.run()
    return rig
  }

  @Test func whatHostsSayIsWrittenWhereAMasterIsOneOnceMore() {
    for seed in Self.first..<(Self.first + Self.quietCount) {
      let rig = run(seed) { rig in
        for start in [2_000, 4_000, 6_000] {
          rig.network.after(.milliseconds(start)) { [rig] in rig.store.beReplaced() }
          rig.network.after(.milliseconds(start + 500)) { [rig] in rig.failOver() }
        }
      }
      #expect(rig.problems == [], "seed \(seed)")
    }
  }

  /// A host that only does not reach the engine is adopted, and a failover undoes that.
  private func undoAnAdoption(_ schedule: (FleetRig) -> Void = { _ in }) {
    let hosts = FleetPlace(fleet: "f", upstream: "u").key(.hosts)
    for seed in Self.first..<(Self.first + Self.quietCount) {
      var wasAdopted = false
      let rig = run(seed) { rig in
        var host: FleetRigHost?
        schedule(rig)
        rig.network.after(.seconds(2)) { [rig] in
          host = rig.hosts.first { !$0.holder.holds }
          host?.engine.way.isOpen = false
          host?.engine.cut()
        }
        rig.network.after(.milliseconds(2_500)) { [rig] in rig.store.beReplaced() }
        rig.network.after(.milliseconds(6_500)) { [rig] in
          wasAdopted = host.flatMap { rig.store.hostRow(hosts, $0.name) }?.isAdopted == true
          rig.failOver()
          host?.engine.way.isOpen = true
        }
      }
      #expect(rig.problems == [] && wasAdopted, "seed \(seed)")
    }
  }

  @Test func whatAHostSaysIsWrittenWhoseAdoptionIsUndone() { undoAnAdoption() }

  @Test func whatAHostSaysIsWrittenWhoseAdoptionIsUndoneInALaterConversation() {
    undoAnAdoption { rig in rig.network.after(.milliseconds(5_600)) { [rig] in rig.server.hangUp() } }
  }

  @Test func whatAHostSaysIsWrittenThatIsRestartedAfterAFailoverHasUndoneItsLife() {
    for seed in Self.first..<(Self.first + Self.quietCount) {
      let rig = run(seed) { rig in
        var host: FleetRigHost?
        rig.network.after(.seconds(2)) { [rig] in
          rig.store.beReplaced()
          host = rig.hosts.first { !$0.holder.holds }.map(rig.restart)
        }
        rig.network.after(.seconds(3)) { [rig] in
          host?.kill()
          rig.failOver()
          host = host.map(rig.restart)
        }
      }
      // What only a master had that was replaced is lost with the host.
      let problems = rig.problems.filter { !$0.hasSuffix("is lost") }
      #expect(problems == [], "seed \(seed)")
    }
  }

  @Test func whoIsStoppedBetweenTheLookAtTheClockAndTheCallWritesThatOneCallLate() {
    var options = FleetRig.Options()
    options.faults = []
    options.stop = .seconds(3)
    for seed in Self.first..<(Self.first + Self.quietCount) {
      let rig = FleetRig(options, seed: seed)
      rig.run()
      #expect(rig.problems == [] && rig.late.count == 1, "seed \(seed): \(rig.problems), \(rig.late)")
    }
  }

  @Test func aConversationThatOpensCountsTheHostsThatLive() {
    var options = FleetRig.Options()
    options.faults = []
    let rig = FleetRig(options, seed: Self.first)
    rig.turn(by: .seconds(4))
    rig.hosts.first { !$0.holder.holds }?.kill()
    rig.turn(by: .seconds(8))
    rig.server.hangUp()
    rig.turn(by: .seconds(1))
    let place = FleetPlace(fleet: "f", upstream: "u")
    let opened = rig.store.records(of: place.key(.events), after: .start).compactMap { record -> Int? in
      guard case .marker(let marker)? = FleetEntry(record.fields), case .open(let hosts) = marker.kind else {
        return nil
      }
      return hosts
    }
    #expect(opened.count > 1 && opened.last == 2)
  }

  @Test func aConversationBeginsThatTheEngineRefusedWithAllElseForAMoment() {
    let scene = FleetScene()
    let (sink, owner) = (FleetSink(), FleetOwner())
    let holder = FleetHolder(
      scene.settings, sink, engine: scene.engine, timers: scene.timers, random: FakeRandom()
    ) { FleetTops() }
    scene.turn(by: .seconds(5))
    (scene.engine.refused, scene.engine.unreadable) = ([.open], [scene.place.key(.lease)])
    owner.channel = holder.connector.dial(owner: owner)
    sink.open()
    scene.turn(by: .milliseconds(500))
    #expect(holder.holds && holder.writer == nil)
    (scene.engine.refused, scene.engine.unreadable) = ([], [])
    scene.turn(by: .seconds(5))
    #expect(holder.holds && holder.writer?.isReading == true)
  }

  /// The key is deleted, and the server's clock was set back, or a stranger's entry stood far ahead.
  @Test func whatHostsSayIsWrittenWhereTheirStreamBeginsAnewBelowWhatWasRead() throws {
    let (scene, sink, owner) = (FleetScene(), FleetSink(), FleetOwner())
    let up = scene.place.key(.up)
    let holder = FleetHolder(
      scene.settings, sink, engine: scene.engine, timers: scene.timers, random: FakeRandom()
    ) { FleetTops() }
    scene.turn(by: .seconds(5))
    owner.channel = holder.connector.dial(owner: owner)
    sink.open()
    scene.turn(by: .seconds(1))
    let conversation = try #require(holder.writer?.conversation)
    func say(_ number: UInt64, _ text: String) {
      let call = FleetUpEntry.Call.write(PreparedMessage(event: "m", body: Array(text.utf8)), ack: nil, row: nil)
      let entry = FleetUpEntry(host: "b", life: 1, conversation: conversation, number: number, call: call)
      _ = scene.store.append(entry.fields, to: up, at: nil)
    }
    say(1, "one")
    scene.turn(by: .seconds(1))
    var fields = FleetFields()
    fields.add("a", "b")
    _ = scene.store.append(fields, to: up, at: FleetPosition(99_999_999_999_999, 0))
    scene.turn(by: scene.settings.lease)
    #expect(sink.takeAll() == ["one"])
    scene.store.content.streams[up] = nil
    say(1, "one")
    say(2, "two")
    scene.turn(by: scene.settings.lease)
    #expect(sink.takeAll() == ["two"])
    say(3, "three")
    scene.turn(by: .milliseconds(1))
    #expect(sink.takeAll() == ["three"] && holder.writer?.conversation == conversation)
  }

  @Test func aSendThatTheServersMachineHasWhenItHangsUpIsNotWrittenOnceMore() throws {
    let (scene, sink, owner) = (FleetScene(), FleetSink(), FleetOwner())
    let holder = FleetHolder(
      scene.settings, sink, engine: scene.engine, timers: scene.timers, random: FakeRandom()
    ) { FleetTops() }
    scene.turn(by: .seconds(5))
    func say() throws {
      owner.channel = holder.connector.dial(owner: owner)
      sink.open()
      scene.turn(by: .seconds(1))
      let conversation = try #require(holder.writer?.conversation)
      let call = FleetUpEntry.Call.write(PreparedMessage(event: "m", body: Array("one".utf8)), ack: nil, row: "1")
      let entry = FleetUpEntry(host: "b", life: 1, conversation: conversation, number: 1, call: call)
      _ = scene.store.append(entry.fields, to: scene.place.key(.up), at: nil)
      scene.turn(by: .seconds(1))
    }
    sink.cost = 10
    try say()
    #expect(sink.takeAll() == ["one"])
    // It acknowledges with its last words.
    sink.unsentBytes = 0
    sink.owner?.channelEnds(sink)
    sink.owner?.channelEnded(sink, UpstreamFailure(.closed, "gone"))
    scene.turn(by: .seconds(1))
    try say()
    #expect(sink.takeAll() == [])
  }

  /// A holder that has written 250 sends of a host that died, and whose server hangs up when its machine has them.
  private func hangUpBehindMany() throws -> (FleetScene, FleetSink, FleetOwner, FleetHolder) {
    let (scene, sink, owner) = (FleetScene(), FleetSink(), FleetOwner())
    for number in 1...250 {
      var fields = FleetFields()
      fields.add("i", UInt64(number))
      PreparedMessage(event: "m", body: Array("\(number)".utf8)).add(to: &fields)
      scene.store.set(scene.place.key(.adopted), "b/x-\(number)", FleetBoxRow.waiting(fields).bytes)
    }
    let holder = FleetHolder(
      scene.settings, sink, engine: scene.engine, timers: scene.timers, random: FakeRandom()
    ) { FleetTops() }
    scene.turn(by: .seconds(5))
    sink.cost = 10
    owner.channel = holder.connector.dial(owner: owner)
    sink.open()
    scene.turn(by: .seconds(1))
    #expect(sink.takeAll().count == 250)
    sink.unsentBytes = 0
    sink.owner?.channelEnds(sink)
    sink.owner?.channelEnded(sink, UpstreamFailure(.closed, "gone"))
    return (scene, sink, owner, holder)
  }

  @Test func hostsAreToldThatTheLinkHasEndedBehindWhatTheServersMachineHadOfIt() throws {
    let (scene, _, _, holder) = try hangUpBehindMany()
    #expect(holder.writer == nil)
    func isDown() -> Bool { scene.events.contains { $0.contains("down") } }
    while !isDown(), scene.timers.nextDeadline.map({ $0 <= scene.time.now }) ?? false { scene.timers.fire() }
    #expect(isDown())
    #expect(scene.store.rows(of: scene.place.key(.adopted)) == [:])
  }

  @Test func aServerThatIsReachedAgainAtOnceIsNotToldOnceMoreWhatItsMachineHad() throws {
    let (scene, sink, owner, holder) = try hangUpBehindMany()
    owner.channel = holder.connector.dial(owner: owner)
    sink.open()
    scene.turn(by: .seconds(1))
    #expect(holder.writer?.isReading == true)
    #expect(sink.takeAll() == [])
  }

  @Test func anEmptiedEngineIsFilledAgain() {
    var options = FleetRig.Options()
    options.faults = [.flush, .pause, .cutEngine, .leave, .hangUp]
    run(options, "flush")
  }
}
