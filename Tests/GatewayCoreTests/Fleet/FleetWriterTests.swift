import Testing

@testable import GatewayCore

@Suite struct FleetWriterTests {
  private let rig: FleetWriterRig
  private var scene: FleetScene { rig.scene }
  private var sink: FleetSink { rig.sink }
  private var writer: FleetWriter { rig.writer }

  init() throws { rig = try FleetWriterRig() }

  @Test func whatComesTwiceIsWrittenOnceAndAHoleIsWaitedFor() {
    rig.mayWrite()
    rig.say(1, "one")
    rig.say(1, "one")
    rig.say(3, "three")
    #expect(sink.takeAll() == ["one"])
    rig.say(2, "two")
    rig.say(3, "three")
    #expect(sink.takeAll() == ["two", "three"])
  }

  @Test func aHostWhoseCallWasLostIsAskedForItAndForAllBehindIt() {
    rig.mayWrite()
    for number in [1, 3, 4] as [UInt64] { rig.say(number, "text") }
    scene.settle()
    #expect(rig.told().filter { if case .missing = $0 { true } else { false } } == [.missing(from: 2)])
  }

  @Test func nothingIsWrittenAfterTheLeaseOfItsMoment() {
    rig.mayWrite()
    scene.time.advance(by: .seconds(3))
    rig.say(1, "one")
    #expect(sink.takeAll() == [])
    rig.mayWrite()
    #expect(sink.takeAll() == ["one"])
  }

  @Test func whatWaitsDoesNotOutliveItsConversation() {
    rig.say(1, "one")
    writer.close(nil)
    rig.mayWrite()
    scene.turn(by: .seconds(1))
    #expect(sink.takeAll() == [])
    #expect(rig.told() == [])
  }

  @Test func aHostIsToldWhatTheServersMachineHas() {
    rig.mayWrite()
    sink.cost = 10
    rig.say(1, "one")
    rig.say(2, "two")
    scene.turn(by: .milliseconds(50))
    #expect(rig.told() == [])
    sink.unsentBytes = 10
    scene.turn(by: .milliseconds(50))
    #expect(rig.told() == [.written(upTo: 1)])
    sink.unsentBytes = 0
    scene.turn(by: .milliseconds(50))
    #expect(rig.told() == [.written(upTo: 1), .written(upTo: 2)])
  }

  @Test func whatTheServersMachineHasWhenItHangsUpIsWritten() {
    rig.mayWrite()
    sink.cost = 10
    rig.say(1, "one", row: "1")
    rig.say(2, "two", row: "2")
    sink.unsentBytes = 10
    // The look that comes by itself comes too late.
    writer.linkEnds()
    writer.close(UpstreamFailure(.closed, "gone"))
    scene.turn(by: .seconds(1))
    #expect(rig.told() == [.written(upTo: 1)])
  }

  @Test func anAcknowledgementGoesToTheHostThatWaitsForIt() {
    rig.mayWrite()
    rig.say(1, "one", host: "b", ack: 4)
    rig.say(1, "two", host: "c", ack: 4)
    #expect(sink.takeAll() == ["one acknowledged", "two acknowledged"])
    // The tap hands it on to a holder, which is none here.
    writer.heard(reply: .acknowledged(sink.acks[1], RemoteAnswer([])))
    scene.settle()
    #expect(rig.told("c") == [.written(upTo: 1), .acknowledged(4, RemoteAnswer([]))])
    #expect(rig.told("b") == [.written(upTo: 1)])
  }

  @Test func whatTheServerWouldNotTakeIsNotWritten() {
    rig.mayWrite()
    rig.say(1, String(repeating: "x", count: 101))
    rig.say(2, "two")
    scene.turn(by: .milliseconds(50))
    #expect(sink.takeAll() == ["two"])
    #expect(rig.told().first == .refused(number: 1, .tooLarge(limit: 100, size: 101)))
    #expect(rig.told().last == .written(upTo: 2))
  }

  @Test func aNewLifeForgetsWhatTheOldOneHadWaiting() {
    rig.say(1, "old")
    rig.say(1, "new", life: 2)
    rig.say(2, "late", life: 1)
    rig.mayWrite()
    #expect(sink.takeAll() == ["new"])
  }

  @Test func whatTheServerDoesNotTakeIsNotAllReadFromTheEngine() {
    var isTold = false
    writer.onRoom = { isTold = true }
    let text = String(repeating: "x", count: 100)
    for number in 1...UInt64(FleetCallQueue.limit.count + 1) {
      let call = FleetUpEntry.Call.write(PreparedMessage(event: "m", body: Array(text.utf8)), ack: nil, row: nil)
      writer.take(FleetUpEntry(host: "b", life: 1, conversation: rig.conversation, number: number, call: call))
    }
    #expect(writer.isFull && !isTold)
    rig.mayWrite()
    #expect(!writer.isFull && isTold)
  }

  @Test func manyCallsAreDealtWithInPortions() {
    for number in 1...UInt64(FleetTurn.limit.count) * 2 {
      let call = FleetUpEntry.Call.forget(ack: number)
      writer.take(FleetUpEntry(host: "b", life: 1, conversation: rig.conversation, number: number, call: call))
    }
    rig.say(UInt64(FleetTurn.limit.count) * 2 + 1, "last")
    rig.mayWrite()
    #expect(sink.takeAll() == [])
    scene.turn(by: .milliseconds(1))
    #expect(sink.takeAll() == ["last"])
  }

  @Test func longCallsDoNotAllLeaveInOneTurnToAServerThatTakesThemAtOnce() {
    let half = FleetTurn.limit.bytes / 2
    let sizes = [half - 8, half - 8, half * 4, 1, half]
    for (number, size) in zip(UInt64(1)..., sizes) {
      let text = Array("\(number)".utf8)
      let message = PreparedMessage(event: "m", body: text, attachments: [[UInt8](repeating: 0, count: size)])
      let call = FleetUpEntry.Call.write(message, ack: nil, row: nil)
      writer.take(FleetUpEntry(host: "b", life: 1, conversation: rig.conversation, number: number, call: call))
    }
    // Whatever asks for it in a turn, and however often.
    rig.mayWrite()
    writer.flush()
    rig.mayWrite()
    #expect(sink.takeAll() == ["1", "2"])
    scene.timers.fire()
    writer.flush()
    #expect(sink.takeAll() == ["3"])
    scene.timers.fire()
    #expect(sink.takeAll() == ["4", "5"])
    scene.turn(by: .milliseconds(50))
    #expect(rig.told().last == .written(upTo: 5))
  }

  @Test func thousandsOfSendsThatTheServerHasAtOnceAreToldInPortions() {
    rig.mayWrite()
    sink.cost = 1
    for number in 1...1_500 as ClosedRange<UInt64> { rig.say(number, "m", row: "\(number)") }
    scene.turn(by: .milliseconds(50))
    #expect(rig.told() == [])
    sink.unsentBytes = 0
    scene.turn(by: .milliseconds(50))
    let portion = UInt64(FleetTurn.noteLimit)
    #expect(rig.told() == (1...1_500 / portion).map { .written(upTo: portion * $0) })
  }

  private func sends(_ count: Int) -> [FleetSend] {
    (1...count).compactMap { number in
      var fields = FleetFields()
      fields.add("i", UInt64(number))
      PreparedMessage(event: "m", body: Array("\(number)".utf8)).add(to: &fields)
      return FleetSend(name: "b/x-\(number)", fields, place: scene.place)
    }
  }

  @Test func thousandsOfSendsOfAHostThatDiedAreWrittenAndNotedInPortionsOfBoth() {
    rig.mayWrite()
    rig.carry(sends(1_000))
    var written = sink.takeAll()
    var most = written.count
    while scene.timers.nextDeadline.map({ $0 <= scene.time.now }) ?? false {
      let before = scene.engine.asked
      scene.timers.fire()
      let more = sink.takeAll()
      most = max(most, more.count + scene.engine.asked - before)
      written += more
    }
    #expect(written == (1...1_000).map { "\($0)" })
    #expect(most == FleetTurn.limit.count)
  }

  @Test func whatTheServersMachineHadOfThousandsWhenItHungUpIsNotedInPortions() {
    rig.mayWrite()
    sink.cost = 1
    rig.carry(sends(1_000))
    scene.turn(by: .milliseconds(50))
    #expect(sink.takeAll().count == 1_000)
    // It has not said so of the last one.
    sink.unsentBytes = 1
    var isOver = false
    let before = scene.engine.asked
    writer.linkEnds()
    sink.unsentBytes = 0
    writer.close(UpstreamFailure(.closed, "gone")) { isOver = true }
    #expect(scene.engine.asked - before == FleetTurn.noteLimit && !isOver)
    #expect(scene.settleCountingCalls() == FleetTurn.noteLimit)
    #expect(scene.engine.asked - before == 999 && isOver)
  }
}
