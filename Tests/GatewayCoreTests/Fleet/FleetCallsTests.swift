import Testing

@testable import GatewayCore

@Suite struct FleetCallsTests {
  private let rig: FleetWriterRig
  private var scene: FleetScene { rig.scene }
  private var sink: FleetSink { rig.sink }
  private var writer: FleetWriter { rig.writer }

  init() throws { rig = try FleetWriterRig() }

  @Test func theUnionOfInterestsIsAskedFor() {
    rig.mayWrite()
    let interest = Interest(.name(ExactText("news")))
    for (host, call) in [("b", FleetUpEntry.Call.want(interest)), ("c", .want(interest))] {
      writer.take(FleetUpEntry(host: host, life: 1, conversation: rig.conversation, number: 1, call: call))
    }
    writer.take(FleetUpEntry(host: "b", life: 1, conversation: rig.conversation, number: 2, call: .drop(interest)))
    writer.flush()
    #expect(sink.takeAll() == ["want news"])
    writer.take(FleetUpEntry(host: "c", life: 1, conversation: rig.conversation, number: 2, call: .drop(interest)))
    writer.flush()
    #expect(sink.takeAll() == ["drop news"])
  }

  @Test func aSecondHostHearsWhatTheServerHasAgreedTo() {
    rig.mayWrite()
    let interest = Interest(.name(ExactText("news")))
    want(interest, "b")
    writer.heard(reply: .answered(interest, refusal: nil))
    want(interest, "c")
    scene.settle()
    #expect(["b", "c"].allSatisfy { rig.told($0).contains(.answered(interest, refusal: nil)) })
    #expect(sink.takeAll() == ["want news"])
  }

  @Test func aHostHearsInTheServersWordsWhatTheServerRefuses() {
    rig.mayWrite()
    let interest = Interest(.name(ExactText("news")))
    let failure = UpstreamFailure(
      .refused, "the router refused it (no.right)", serverMessage: "no.right", serverData: Array(#""no.right""#.utf8))
    want(interest, "b")
    writer.heard(reply: .answered(interest, refusal: FleetInterestRefusal(failure)))
    scene.settle()
    #expect(rig.told().contains(.answered(interest, refusal: FleetInterestRefusal(failure))))
  }

  /// A host says that it wants something, as its `number`th word.
  private func want(_ interest: Interest, _ host: String, number: UInt64 = 1, life: UInt64 = 1) {
    writer.take(
      FleetUpEntry(host: host, life: life, conversation: rig.conversation, number: number, call: .want(interest)))
    writer.flush()
  }

  @Test func aQuestionGoesToTheHostWithTheFewest() {
    rig.mayWrite()
    want(Interest(.name(ExactText("q")), answers: true), "b")
    want(Interest(.glob(ExactText("q*")), answers: true), "c")
    #expect(writer.ask(1, named: "q") == "b")
    #expect(writer.ask(2, named: "q") == "c")
    #expect(writer.ask(3, named: "q") == "b")
    #expect(writer.ask(4, named: "other") == nil)
    writer.heard(withdrawal: 3)
    scene.settle()
    #expect(rig.told().contains(.withdrew(3)) && !rig.told("c").contains(.withdrew(3)))
  }

  private func message(_ text: String) -> PreparedMessage { PreparedMessage(event: "m", body: Array(text.utf8)) }

  private func leave(_ text: String, wantsAck: Bool = false) -> PreparedLeave {
    PreparedLeave(message: message(text), wantsAck: wantsAck)
  }

  /// A host says something, as its `number`th word.
  private func say(_ number: UInt64, _ call: FleetUpEntry.Call, _ host: String, life: UInt64 = 1) {
    writer.take(FleetUpEntry(host: host, life: life, conversation: rig.conversation, number: number, call: call))
    writer.flush()
  }

  @Test func aRoomIsLeftWhenTheLastHostLeavesIt() {
    rig.mayWrite()
    say(1, .enter(message("join"), ack: nil, leave: leave("quit")), "b")
    say(1, .enter(message("join"), ack: 4, leave: nil), "c")
    // Each host has its own acknowledgement.
    #expect(sink.takeAll() == ["join", "join acknowledged"])
    say(2, .leave(leave("quit"), of: message("join")), "b")
    scene.turn(by: .milliseconds(50))
    #expect(sink.takeAll() == [])
    #expect(rig.told() == [.written(upTo: 2)])
    say(2, .leave(leave("quit", wantsAck: true), of: message("join")), "c")
    #expect(sink.takeAll() == ["quit acknowledged"])
    #expect(sink.forgotten == [sink.acks[1]])
  }

  @Test func whatAHostThatIsGoneHadEnteredIsLeftUnlessAnotherHoldsIt() {
    rig.mayWrite()
    for (number, room) in [(1, "one"), (2, "two"), (3, "three")] as [(UInt64, String)] {
      say(number, .enter(message(room), ack: nil, leave: leave("quit \(room)")), "b")
    }
    say(4, .enter(message("four"), ack: nil, leave: nil), "b")
    say(1, .enter(message("two"), ack: nil, leave: nil), "c")
    _ = sink.takeAll()
    writer.noteLife(2, of: "b")
    scene.turn(by: .milliseconds(50))
    #expect(sink.takeAll() == ["quit one", "quit three"])
    say(2, .leave(nil, of: message("two")), "c")
    #expect(sink.takeAll() == ["quit two"])
  }

  @Test func whatANewLifeOrAnotherHostEntersIsLeftBeforeAndNotAfterwards() {
    rig.mayWrite()
    say(1, .enter(message("join"), ack: nil, leave: leave("quit")), "b")
    say(1, .enter(message("join"), ack: nil, leave: leave("quit")), "b", life: 2)
    #expect(sink.takeAll() == ["join", "quit", "join"])
    // The other host's word waits already.
    writer.pause()
    say(1, .enter(message("join"), ack: nil, leave: leave("quit")), "c")
    writer.noteLife(3, of: "b")
    writer.resume()
    scene.turn(by: .milliseconds(50))
    #expect(sink.takeAll() == ["join"])
  }

  @Test func whatTheServerWouldNotTakeIsNotEntered() {
    rig.mayWrite()
    let long = String(repeating: "x", count: 101)
    say(1, .enter(message(long), ack: 4, leave: leave("quit")), "b")
    writer.noteLife(2, of: "b")
    scene.turn(by: .milliseconds(50))
    #expect(sink.takeAll() == [])
    #expect(rig.told().first == .refused(number: 1, .tooLarge(limit: 100, size: 101)))
  }

  @Test func whatTheLinkItselfHasEnteredIsNotLeft() {
    rig.mayWrite()
    rig.channel.enter(message("join"), ack: nil, leave: nil)
    say(1, .enter(message("join"), ack: nil, leave: leave("quit")), "b")
    say(2, .leave(leave("quit"), of: message("join")), "b")
    #expect(sink.takeAll() == ["join", "join"])
  }

  @Test func whatAGoneHostWantedIsTakenBackInPortions() {
    for number in 1...2_500 as ClosedRange<UInt64> {
      let interest = Interest(.name(ExactText("\(number)")))
      writer.take(
        FleetUpEntry(host: "b", life: 1, conversation: rig.conversation, number: number, call: .want(interest)))
    }
    rig.mayWrite()
    scene.turn(by: .milliseconds(50))
    #expect(sink.takeAll().count == 2_500)
    writer.noteLife(2, of: "b")
    var counts: [Int] = []
    while scene.timers.nextDeadline.map({ $0 <= scene.time.now }) ?? false {
      scene.timers.fire()
      counts.append(sink.takeAll().count)
    }
    #expect(counts.filter { $0 > 0 } == [200] + Array(repeating: 100, count: 23))
  }

  @Test func aQuestionThatAGoneHostWasAskedIsGivenUp() {
    rig.mayWrite()
    want(Interest(.all, answers: true), "b")
    #expect(writer.ask(1, named: "q") == "b")
    _ = sink.takeAll()
    writer.noteLife(2, of: "b")
    scene.turn(by: .milliseconds(50))
    #expect(sink.takeAll() == ["drop every event", "decline 1"])
    #expect(writer.ask(2, named: "q") == nil)
  }

  @Test func veryManyQuestionsThatAGoneHostWasAskedAreGivenUpAPortionInEachTurn() {
    rig.mayWrite()
    want(Interest(.all, answers: true), "b")
    for id in 1...UInt64(2 * FleetTurn.limit.count) { _ = writer.ask(id, named: "q") }
    _ = sink.takeAll()
    writer.noteLife(2, of: "b")
    writer.flush()
    #expect(sink.takeAll().count <= 1 + FleetTurn.limit.count)
    scene.turn(by: .milliseconds(50))
    #expect(sink.takeAll().last == "decline \(2 * FleetTurn.limit.count)")
  }

  @Test func aQuestionThatTheServerTookBackFromAGoneHostIsNotGivenUpAsWell() {
    rig.mayWrite()
    want(Interest(.all, answers: true), "b")
    _ = writer.ask(1, named: "q")
    _ = sink.takeAll()
    writer.noteLife(2, of: "b")
    writer.heard(withdrawal: 1)
    scene.turn(by: .milliseconds(50))
    #expect(sink.takeAll() == ["drop every event"])
  }
}
