import Testing

@testable import GatewayCore

@Suite struct FleetWriterTests {
  private let scene = FleetScene()
  private let sink = FleetSink()
  private let owner = FleetOwner()
  private let connector: FleetTapConnector
  private let channel: any UpstreamChannel
  private let writer: FleetWriter
  private let own: FleetOwn
  private let conversation: UInt64

  init() throws {
    own = scene.take("a")
    conversation = scene.open(own)
    connector = FleetTapConnector(sink)
    channel = connector.dial(owner: owner)
    let (tap, sink) = (try #require(connector.tap), sink)
    writer = FleetWriter(
      FleetOpened(conversation: conversation, up: .start), own, scene.place, engine: scene.engine, timers: scene.timers,
      tap: tap, confirmed: .all, tries: FleetTries(timers: scene.timers), outcomes: FleetOutcomes(),
      wall: { [scene] in scene.time.wallMilliseconds }
    ) { sink.check($0, acknowledged: $1) }
    writer.beginReading()
  }

  private func carry(_ sends: [FleetSend]) {
    let found = FleetFindings(sends)
    while !found.isEmpty { writer.carry(found.takePortion()) }
  }

  private func say(
    _ number: UInt64, _ text: String, host: String = "b", life: UInt64 = 1, ack: UInt64? = nil, row: String? = nil
  ) {
    let call = FleetUpEntry.Call.write(PreparedMessage(event: "m", body: Array(text.utf8)), ack: ack, row: row)
    writer.take(FleetUpEntry(host: host, life: life, conversation: conversation, number: number, call: call))
    writer.flush()
  }

  private func mayWrite() { writer.mayWrite(until: scene.time.now + .seconds(3)) }

  /// What the host was told.
  private func told(_ host: String = "b") -> [FleetReplyEntry.Call] {
    scene.store.records(of: scene.place.key(.replies(host: host)), after: .start)
      .compactMap { FleetReplyEntry($0.fields)?.call }
  }

  @Test func whatComesTwiceIsWrittenOnceAndAHoleIsWaitedFor() {
    mayWrite()
    say(1, "one")
    say(1, "one")
    say(3, "three")
    #expect(sink.takeAll() == ["one"])
    say(2, "two")
    say(3, "three")
    #expect(sink.takeAll() == ["two", "three"])
  }

  @Test func aHostWhoseCallWasLostIsAskedForItAndForAllBehindIt() {
    mayWrite()
    for number in [1, 3, 4] as [UInt64] { say(number, "text") }
    scene.settle()
    #expect(told().filter { if case .missing = $0 { true } else { false } } == [.missing(from: 2)])
  }

  @Test func nothingIsWrittenAfterTheLeaseOfItsMoment() {
    mayWrite()
    scene.time.advance(by: .seconds(3))
    say(1, "one")
    #expect(sink.takeAll() == [])
    mayWrite()
    #expect(sink.takeAll() == ["one"])
  }

  @Test func whatWaitsDoesNotOutliveItsConversation() {
    say(1, "one")
    writer.close(nil)
    mayWrite()
    scene.turn(by: .seconds(1))
    #expect(sink.takeAll() == [])
    #expect(told() == [])
  }

  @Test func aHostIsToldWhatTheServersMachineHas() {
    mayWrite()
    sink.cost = 10
    say(1, "one")
    say(2, "two")
    scene.turn(by: .milliseconds(50))
    #expect(told() == [])
    sink.unsentBytes = 10
    scene.turn(by: .milliseconds(50))
    #expect(told() == [.written(upTo: 1)])
    sink.unsentBytes = 0
    scene.turn(by: .milliseconds(50))
    #expect(told() == [.written(upTo: 1), .written(upTo: 2)])
  }

  @Test func anAcknowledgementGoesToTheHostThatWaitsForIt() {
    mayWrite()
    say(1, "one", host: "b", ack: 4)
    say(1, "two", host: "c", ack: 4)
    #expect(sink.takeAll() == ["one acknowledged", "two acknowledged"])
    // The tap hands it on to a holder, which is none here.
    writer.heard(reply: .acknowledged(sink.acks[1], RemoteAnswer([])))
    scene.settle()
    #expect(told("c") == [.written(upTo: 1), .acknowledged(4, RemoteAnswer([]))])
    #expect(told("b") == [.written(upTo: 1)])
  }

  @Test func whatTheServerWouldNotTakeIsNotWritten() {
    mayWrite()
    say(1, String(repeating: "x", count: 101))
    say(2, "two")
    scene.turn(by: .milliseconds(50))
    #expect(sink.takeAll() == ["two"])
    #expect(told().first == .refused(number: 1, .tooLarge(limit: 100, size: 101)))
    #expect(told().last == .written(upTo: 2))
  }

  @Test func aNewLifeForgetsWhatTheOldOneHadWaiting() {
    say(1, "old")
    say(1, "new", life: 2)
    say(2, "late", life: 1)
    mayWrite()
    #expect(sink.takeAll() == ["new"])
  }

  /// What the host was told in that life.
  private func told(_ host: String = "b", life: UInt64) -> [FleetReplyEntry.Call] {
    scene.store.records(of: scene.place.key(.replies(host: host)), after: .start)
      .compactMap { FleetReplyEntry($0.fields) }.filter { $0.life == life }.map(\.call)
  }

  @Test func aDurableSendIsWrittenOnceThoughItsHostSaysItAgainInItsNextLife() {
    mayWrite()
    say(1, "one", row: "7")
    scene.turn(by: .milliseconds(50))
    // A failover has undone the life, the row and its outcome.
    say(1, "one", life: 2, row: "7")
    say(2, "two", life: 2, row: "8")
    scene.turn(by: .milliseconds(50))
    #expect(sink.takeAll() == ["one", "two"])
    #expect(told(life: 1) == [.written(upTo: 1)])
    #expect(told(life: 2).last == .written(upTo: 2))
  }

  @Test func aDurableSendThatTheServersMachineMayNotHaveIsNotWrittenAgainForTheNextLife() {
    mayWrite()
    sink.cost = 10
    say(1, "one", row: "7")
    say(1, "one", life: 2, row: "7")
    scene.turn(by: .milliseconds(50))
    #expect(sink.takeAll() == ["one"] && told() == [])
    scene.store.set(scene.place.key(.box(host: "b")), "7", FleetBoxRow.waiting(FleetFields()).bytes)
    sink.unsentBytes = 0
    scene.turn(by: .milliseconds(50))
    #expect(told(life: 2) == [.written(upTo: 1)])
    #expect(scene.store.rows(of: scene.place.key(.box(host: "b"))) == ["7": FleetSendEnd(.sent).row.bytes])
  }

  @Test func theAnswerToWhatAnEarlierLifeHadWrittenIsForTheLifeThatSaysItAgain() {
    mayWrite()
    say(1, "known", ack: 4, row: "7")
    say(2, "asked", ack: 5, row: "8")
    writer.heard(reply: .acknowledged(sink.acks[0], RemoteAnswer([1])))
    say(1, "known", life: 2, ack: 1, row: "7")
    say(2, "asked", life: 2, ack: 2, row: "8")
    writer.heard(reply: .acknowledged(sink.acks[1], RemoteAnswer([2])))
    scene.turn(by: .milliseconds(50))
    #expect(sink.takeAll() == ["known acknowledged", "asked acknowledged"])
    #expect(told(life: 2).contains(.acknowledged(1, RemoteAnswer([1]))))
    #expect(told(life: 2).contains(.acknowledged(2, RemoteAnswer([2]))))
  }

  @Test func aRetryInTheSameLifeIsWrittenUntilItsAnswerIsKnown() {
    mayWrite()
    say(1, "one", ack: 4, row: "7")
    say(2, "one", ack: 5, row: "7")
    #expect(sink.takeAll() == ["one acknowledged", "one acknowledged"])
    writer.heard(reply: .acknowledged(sink.acks[0], RemoteAnswer([])))
    say(3, "one", ack: 6, row: "7")
    scene.settle()
    #expect(sink.takeAll() == [] && told(life: 1).contains(.acknowledged(6, RemoteAnswer([]))))
  }

  @Test func aSendThatTheServerHasRefusedIsWrittenWhenItIsSentAgain() {
    mayWrite()
    say(1, "one", ack: 4, row: "7")
    writer.heard(reply: .failed(sink.acks[0], RemoteError("no")))
    say(2, "one", ack: 5, row: "7")
    say(1, "one", life: 2, ack: 1, row: "7")
    scene.settle()
    #expect(sink.takeAll() == ["one acknowledged", "one acknowledged"])
  }

  @Test func aSendWhoseAnswerIsNotAwaitedAnyMoreIsWrittenInTheNextLife() {
    mayWrite()
    say(1, "one", ack: 4, row: "7")
    writer.take(
      FleetUpEntry(host: "b", life: 1, conversation: writer.conversation, number: 2, call: .forget(ack: 4)))
    writer.flush()
    say(1, "one", life: 2, ack: 1, row: "7")
    #expect(sink.takeAll() == ["one acknowledged", "one acknowledged"])
  }

  @Test func aRequestOfAnEarlierProcessIsNotAnsweredToTheNextOneThatUsesItsNumber() {
    mayWrite()
    say(1, "old", ack: 4)
    say(1, "new", life: 2, ack: 4)
    writer.heard(reply: .acknowledged(sink.acks[0], RemoteAnswer([1])))
    writer.heard(reply: .acknowledged(sink.acks[1], RemoteAnswer([2])))
    scene.settle()
    #expect(sink.forgotten == [sink.acks[0]])
    #expect(told(life: 1).filter { $0 != .written(upTo: 1) } == [])
    #expect(told(life: 2).filter { $0 != .written(upTo: 1) } == [.acknowledged(4, RemoteAnswer([2]))])
  }

  @Test func whatTheFleetHasWrittenIsNotWrittenAgainForItsHostWhoseAdoptionIsUndone() {
    var fields = FleetFields()
    PreparedMessage(event: "m", body: Array("kept".utf8)).add(to: &fields)
    fields.add("r", 3)
    mayWrite()
    let sends = ["7", "8"].compactMap { FleetSend(name: "b/\($0)", fields, place: scene.place) }
    carry(sends)
    writer.heard(reply: .acknowledged(sink.acks[0], RemoteAnswer([1])))
    say(1, "kept", life: 3, ack: 1, row: "7")
    say(2, "kept", life: 3, ack: 2, row: "8")
    writer.heard(reply: .acknowledged(sink.acks[1], RemoteAnswer([2])))
    carry(sends)
    // Longer than any answer is waited for.
    mayWrite()
    scene.turn(by: .seconds(2))
    #expect(sink.takeAll() == ["kept acknowledged", "kept acknowledged"])
    #expect(told(life: 3).contains(.acknowledged(1, RemoteAnswer([1]))))
    #expect(told(life: 3).contains(.acknowledged(2, RemoteAnswer([2]))))
  }

  @Test func whatIsAdoptedIsWrittenAndItsOutcomeKept() {
    var fields = FleetFields()
    PreparedMessage(event: "m", body: Array("kept".utf8)).add(to: &fields)
    scene.store.set(scene.place.key(.adopted), "b/7", FleetBoxRow.waiting(fields).bytes)
    mayWrite()
    carry(FleetSend.waiting(in: scene.store.rows(of: scene.place.key(.adopted)), of: scene.place))
    carry(FleetSend.waiting(in: scene.store.rows(of: scene.place.key(.adopted)), of: scene.place))
    #expect(sink.takeAll() == ["kept"])
    scene.turn(by: .milliseconds(50))
    var sent = FleetFields()
    sent.add("s", "sent")
    #expect(scene.store.rows(of: scene.place.key(.adopted)) == [:])
    #expect(scene.store.rows(of: scene.place.key(.box(host: "b"))) == ["7": FleetBoxRow.finished(sent).bytes])
  }

  @Test func whatItsHostHadWrittenBeforeItWasAdoptedIsNotWrittenOnceMore() {
    var fields = FleetFields()
    PreparedMessage(event: "m", body: Array("kept".utf8)).add(to: &fields)
    mayWrite()
    sink.cost = 10
    say(1, "kept", row: "7")
    scene.store.set(scene.place.key(.adopted), "b/7", FleetBoxRow.waiting(fields).bytes)
    writer.noteLife(2, of: "b")
    carry(FleetSend.waiting(in: scene.store.rows(of: scene.place.key(.adopted)), of: scene.place))
    sink.unsentBytes = 0
    scene.turn(by: .milliseconds(50))
    #expect(sink.takeAll() == ["kept"])
    #expect(scene.store.rows(of: scene.place.key(.box(host: "b"))) == ["7": FleetSendEnd(.sent).row.bytes])
  }

  @Test func whatAHostHasSentUnderItsNewNameIsNotWrittenOnceMoreForItsOldOne() {
    var fields = FleetFields()
    PreparedMessage(event: "m", body: Array("kept".utf8)).add(to: &fields)
    mayWrite()
    say(1, "kept", host: "renamed", row: "x-7")
    scene.turn(by: .milliseconds(50))
    scene.store.set(scene.place.key(.adopted), "b/x-7", FleetBoxRow.waiting(fields).bytes)
    carry(FleetSend.waiting(in: scene.store.rows(of: scene.place.key(.adopted)), of: scene.place))
    mayWrite()
    scene.turn(by: .milliseconds(50))
    #expect(sink.takeAll() == ["kept"])
    #expect(scene.store.rows(of: scene.place.key(.adopted)) == [:])
  }

  @Test func whatTheEngineDoesNotLetAHostBeToldIsToldWhenItDoes() {
    scene.engine.refused = [.done]
    mayWrite()
    for (number, row) in [(1, "7"), (2, "8")] as [(UInt64, String)] {
      say(number, "m", row: row)
      scene.turn(by: .milliseconds(50))
    }
    writer.heal()
    scene.turn(by: .milliseconds(50))
    #expect(told() == [])
    scene.engine.refused = []
    writer.heal()
    scene.turn(by: .milliseconds(50))
    #expect(told() == [.written(upTo: 1), .written(upTo: 2)])
  }

  /// Tells a host thousands of answers, of which the engine has only those of before.
  private func tellThousands(_ host: String) {
    for number in 1...1_500 as ClosedRange<UInt64> {
      let call = FleetUpEntry.Call.want(Interest(.name(ExactText("\(number)"))))
      writer.take(FleetUpEntry(host: host, life: 1, conversation: conversation, number: number, call: call))
    }
    mayWrite()
    scene.settle()
    for number in 1...1_500 {
      writer.heard(reply: .answered(Interest(.name(ExactText("\(number)"))), refusal: nil))
    }
  }

  private func answered(_ host: String) -> [FleetReplyEntry.Call] {
    told(host).filter { if case .answered = $0 { true } else { false } }
  }

  private let allAnswers = (1...1_500).map {
    FleetReplyEntry.Call.answered(Interest(.name(ExactText("\($0)"))), refusal: nil)
  }

  @Test func thousandsOfRepliesAreToldAgainInPortionsAndWhatIsNewBehindThem() {
    writer.engineLost()
    tellThousands("b")
    #expect(answered("b") == [])
    let before = scene.engine.asked
    writer.heal()
    #expect(scene.engine.asked - before == FleetTurn.limit.count)
    let new = Interest(.name(ExactText("new")))
    writer.take(FleetUpEntry(host: "b", life: 1, conversation: conversation, number: 1_501, call: .want(new)))
    writer.flush()
    writer.heard(reply: .answered(new, refusal: nil))
    #expect(scene.settleCountingCalls() <= FleetTurn.limit.count)
    #expect(answered("b") == allAnswers + [.answered(new, refusal: nil)])
  }

  @Test func thousandsOfRepliesToAHostThatCouldNotBeToldAreToldInPortions() {
    scene.engine.refused = [.done]
    tellThousands("b")
    scene.settle()
    writer.heal()
    scene.settle()
    #expect(answered("b") == [])
    scene.engine.refused = []
    writer.heal()
    let most = scene.settleCountingCalls()
    #expect(most > 1 && most <= FleetTurn.limit.count + 1)
    #expect(answered("b") == allAnswers)
  }

  @Test func whatTheServerDoesNotTakeIsNotAllReadFromTheEngine() {
    var isTold = false
    writer.onRoom = { isTold = true }
    let text = String(repeating: "x", count: 100)
    for number in 1...UInt64(FleetCallQueue.limit.count + 1) {
      let call = FleetUpEntry.Call.write(PreparedMessage(event: "m", body: Array(text.utf8)), ack: nil, row: nil)
      writer.take(FleetUpEntry(host: "b", life: 1, conversation: conversation, number: number, call: call))
    }
    #expect(writer.isFull && !isTold)
    mayWrite()
    #expect(!writer.isFull && isTold)
  }

  @Test func manyCallsAreDealtWithInPortions() {
    for number in 1...UInt64(FleetTurn.limit.count) * 2 {
      let call = FleetUpEntry.Call.forget(ack: number)
      writer.take(FleetUpEntry(host: "b", life: 1, conversation: conversation, number: number, call: call))
    }
    say(UInt64(FleetTurn.limit.count) * 2 + 1, "last")
    mayWrite()
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
      writer.take(FleetUpEntry(host: "b", life: 1, conversation: conversation, number: number, call: call))
    }
    // Whatever asks for it in a turn, and however often.
    mayWrite()
    writer.flush()
    mayWrite()
    #expect(sink.takeAll() == ["1", "2"])
    scene.timers.fire()
    writer.flush()
    #expect(sink.takeAll() == ["3"])
    scene.timers.fire()
    #expect(sink.takeAll() == ["4", "5"])
    scene.turn(by: .milliseconds(50))
    #expect(told().last == .written(upTo: 5))
  }

  @Test func theUnionOfInterestsIsAskedFor() {
    mayWrite()
    let interest = Interest(.name(ExactText("news")))
    for (host, call) in [("b", FleetUpEntry.Call.want(interest)), ("c", .want(interest))] {
      writer.take(FleetUpEntry(host: host, life: 1, conversation: conversation, number: 1, call: call))
    }
    writer.take(FleetUpEntry(host: "b", life: 1, conversation: conversation, number: 2, call: .drop(interest)))
    writer.flush()
    #expect(sink.takeAll() == ["want news"])
    writer.take(FleetUpEntry(host: "c", life: 1, conversation: conversation, number: 2, call: .drop(interest)))
    writer.flush()
    #expect(sink.takeAll() == ["drop news"])
  }

  @Test func aSecondHostHearsWhatTheServerHasAgreedTo() {
    mayWrite()
    let interest = Interest(.name(ExactText("news")))
    want(interest, "b")
    writer.heard(reply: .answered(interest, refusal: nil))
    want(interest, "c")
    scene.settle()
    #expect(["b", "c"].allSatisfy { told($0).contains(.answered(interest, refusal: nil)) })
    #expect(sink.takeAll() == ["want news"])
  }

  /// A host says that it wants something, as its `number`th word.
  private func want(_ interest: Interest, _ host: String, number: UInt64 = 1, life: UInt64 = 1) {
    writer.take(
      FleetUpEntry(host: host, life: life, conversation: conversation, number: number, call: .want(interest)))
    writer.flush()
  }

  @Test func aQuestionGoesToTheHostWithTheFewest() {
    mayWrite()
    want(Interest(.name(ExactText("q")), answers: true), "b")
    want(Interest(.glob(ExactText("q*")), answers: true), "c")
    #expect(writer.ask(1, named: "q") == "b")
    #expect(writer.ask(2, named: "q") == "c")
    #expect(writer.ask(3, named: "q") == "b")
    #expect(writer.ask(4, named: "other") == nil)
    writer.heard(withdrawal: 3)
    scene.settle()
    #expect(told().contains(.withdrew(3)) && !told("c").contains(.withdrew(3)))
  }

  private func message(_ text: String) -> PreparedMessage { PreparedMessage(event: "m", body: Array(text.utf8)) }

  private func leave(_ text: String, wantsAck: Bool = false) -> PreparedLeave {
    PreparedLeave(message: message(text), wantsAck: wantsAck)
  }

  /// A host says something, as its `number`th word.
  private func say(_ number: UInt64, _ call: FleetUpEntry.Call, _ host: String, life: UInt64 = 1) {
    writer.take(FleetUpEntry(host: host, life: life, conversation: conversation, number: number, call: call))
    writer.flush()
  }

  @Test func aRoomIsLeftWhenTheLastHostLeavesIt() {
    mayWrite()
    say(1, .enter(message("join"), ack: nil, leave: leave("quit")), "b")
    say(1, .enter(message("join"), ack: 4, leave: nil), "c")
    // Each host has its own acknowledgement.
    #expect(sink.takeAll() == ["join", "join acknowledged"])
    say(2, .leave(leave("quit"), of: message("join")), "b")
    scene.turn(by: .milliseconds(50))
    #expect(sink.takeAll() == [])
    #expect(told() == [.written(upTo: 2)])
    say(2, .leave(leave("quit", wantsAck: true), of: message("join")), "c")
    #expect(sink.takeAll() == ["quit acknowledged"])
    #expect(sink.forgotten == [sink.acks[1]])
  }

  @Test func whatAHostThatIsGoneHadEnteredIsLeftUnlessAnotherHoldsIt() {
    mayWrite()
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
    mayWrite()
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
    mayWrite()
    let long = String(repeating: "x", count: 101)
    say(1, .enter(message(long), ack: 4, leave: leave("quit")), "b")
    writer.noteLife(2, of: "b")
    scene.turn(by: .milliseconds(50))
    #expect(sink.takeAll() == [])
    #expect(told().first == .refused(number: 1, .tooLarge(limit: 100, size: 101)))
  }

  @Test func whatTheLinkItselfHasEnteredIsNotLeft() {
    mayWrite()
    channel.enter(message("join"), ack: nil, leave: nil)
    say(1, .enter(message("join"), ack: nil, leave: leave("quit")), "b")
    say(2, .leave(leave("quit"), of: message("join")), "b")
    #expect(sink.takeAll() == ["join", "join"])
  }

  @Test func whatAGoneHostWantedIsTakenBackInPortions() {
    for number in 1...2_500 as ClosedRange<UInt64> {
      let interest = Interest(.name(ExactText("\(number)")))
      writer.take(FleetUpEntry(host: "b", life: 1, conversation: conversation, number: number, call: .want(interest)))
    }
    mayWrite()
    scene.turn(by: .milliseconds(50))
    #expect(sink.takeAll().count == 2_500)
    writer.noteLife(2, of: "b")
    var counts: [Int] = []
    while scene.timers.nextDeadline.map({ $0 <= scene.time.now }) ?? false {
      scene.timers.fire()
      counts.append(sink.takeAll().count)
    }
    #expect(counts.filter { $0 > 0 } == [1_000, 1_000, 500])
  }

  @Test func thousandsOfSendsThatTheServerHasAtOnceAreToldInPortions() {
    mayWrite()
    sink.cost = 1
    for number in 1...1_500 as ClosedRange<UInt64> { say(number, "m", row: "\(number)") }
    scene.turn(by: .milliseconds(50))
    #expect(told() == [])
    sink.unsentBytes = 0
    scene.turn(by: .milliseconds(50))
    let portion = UInt64(FleetWriter.seenPortion)
    #expect(told() == [.written(upTo: portion), .written(upTo: portion * 2), .written(upTo: 1_500)])
  }

  @Test func aQuestionThatAGoneHostWasAskedIsGivenUp() {
    mayWrite()
    want(Interest(.all, answers: true), "b")
    #expect(writer.ask(1, named: "q") == "b")
    _ = sink.takeAll()
    writer.noteLife(2, of: "b")
    scene.turn(by: .milliseconds(50))
    #expect(sink.takeAll() == ["drop every event", "decline 1"])
    #expect(writer.ask(2, named: "q") == nil)
  }

  @Test func veryManyQuestionsThatAGoneHostWasAskedAreGivenUpAPortionInEachTurn() {
    mayWrite()
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
    mayWrite()
    want(Interest(.all, answers: true), "b")
    _ = writer.ask(1, named: "q")
    _ = sink.takeAll()
    writer.noteLife(2, of: "b")
    writer.heard(withdrawal: 1)
    scene.turn(by: .milliseconds(50))
    #expect(sink.takeAll() == ["drop every event"])
  }
}
