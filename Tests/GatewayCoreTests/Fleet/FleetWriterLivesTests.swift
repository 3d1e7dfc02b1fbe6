import Testing

@testable import GatewayCore

/// What is written of hosts that live again, have died, or have another name.
@Suite struct FleetWriterLivesTests {
  private let rig: FleetWriterRig
  private var scene: FleetScene { rig.scene }
  private var sink: FleetSink { rig.sink }
  private var writer: FleetWriter { rig.writer }

  init() throws { rig = try FleetWriterRig() }

  @Test func aDurableSendIsWrittenOnceThoughItsHostSaysItAgainInItsNextLife() {
    rig.mayWrite()
    rig.say(1, "one", row: "7")
    scene.turn(by: .milliseconds(50))
    // A failover has undone the life, the row and its outcome.
    rig.say(1, "one", life: 2, row: "7")
    rig.say(2, "two", life: 2, row: "8")
    scene.turn(by: .milliseconds(50))
    #expect(sink.takeAll() == ["one", "two"])
    #expect(rig.told(life: 1) == [.written(upTo: 1)])
    #expect(rig.told(life: 2).last == .written(upTo: 2))
  }

  @Test func aDurableSendThatTheServersMachineMayNotHaveIsNotWrittenAgainForTheNextLife() {
    rig.mayWrite()
    sink.cost = 10
    rig.say(1, "one", row: "7")
    rig.say(1, "one", life: 2, row: "7")
    scene.turn(by: .milliseconds(50))
    #expect(sink.takeAll() == ["one"] && rig.told() == [])
    scene.store.set(scene.place.key(.box(host: "b")), "7", FleetBoxRow.waiting(FleetFields()).bytes)
    sink.unsentBytes = 0
    scene.turn(by: .milliseconds(50))
    #expect(rig.told(life: 2) == [.written(upTo: 1)])
    #expect(scene.store.rows(of: scene.place.key(.box(host: "b"))) == ["7": FleetSendEnd(.sent).row.bytes])
  }

  @Test func theAnswerToWhatAnEarlierLifeHadWrittenIsForTheLifeThatSaysItAgain() {
    rig.mayWrite()
    rig.say(1, "known", ack: 4, row: "7")
    rig.say(2, "asked", ack: 5, row: "8")
    writer.heard(reply: .acknowledged(sink.acks[0], RemoteAnswer(Array("1".utf8))))
    rig.say(1, "known", life: 2, ack: 1, row: "7")
    rig.say(2, "asked", life: 2, ack: 2, row: "8")
    writer.heard(reply: .acknowledged(sink.acks[1], RemoteAnswer(Array("2".utf8))))
    scene.turn(by: .milliseconds(50))
    #expect(sink.takeAll() == ["known acknowledged", "asked acknowledged"])
    #expect(rig.told(life: 2).contains(.acknowledged(1, RemoteAnswer(Array("1".utf8)))))
    #expect(rig.told(life: 2).contains(.acknowledged(2, RemoteAnswer(Array("2".utf8)))))
  }

  @Test func aRetryInTheSameLifeIsWrittenUntilItsAnswerIsKnown() {
    rig.mayWrite()
    rig.say(1, "one", ack: 4, row: "7")
    rig.say(2, "one", ack: 5, row: "7")
    #expect(sink.takeAll() == ["one acknowledged", "one acknowledged"])
    writer.heard(reply: .acknowledged(sink.acks[0], RemoteAnswer([])))
    rig.say(3, "one", ack: 6, row: "7")
    scene.settle()
    #expect(sink.takeAll() == [] && rig.told(life: 1).contains(.acknowledged(6, RemoteAnswer([]))))
  }

  @Test func aSendThatTheServerHasRefusedIsWrittenWhenItIsSentAgain() {
    rig.mayWrite()
    rig.say(1, "one", ack: 4, row: "7")
    writer.heard(reply: .failed(sink.acks[0], RemoteError("no")))
    rig.say(2, "one", ack: 5, row: "7")
    rig.say(1, "one", life: 2, ack: 1, row: "7")
    scene.settle()
    #expect(sink.takeAll() == ["one acknowledged", "one acknowledged"])
  }

  @Test func aSendWhoseAnswerIsNotAwaitedAnyMoreIsWrittenInTheNextLife() {
    rig.mayWrite()
    rig.say(1, "one", ack: 4, row: "7")
    writer.take(
      FleetUpEntry(host: "b", life: 1, conversation: writer.conversation, number: 2, call: .forget(ack: 4)))
    writer.flush()
    rig.say(1, "one", life: 2, ack: 1, row: "7")
    #expect(sink.takeAll() == ["one acknowledged", "one acknowledged"])
  }

  @Test func aRequestOfAnEarlierProcessIsNotAnsweredToTheNextOneThatUsesItsNumber() {
    rig.mayWrite()
    rig.say(1, "old", ack: 4)
    rig.say(1, "new", life: 2, ack: 4)
    writer.heard(reply: .acknowledged(sink.acks[0], RemoteAnswer(Array("1".utf8))))
    writer.heard(reply: .acknowledged(sink.acks[1], RemoteAnswer(Array("2".utf8))))
    scene.settle()
    #expect(sink.forgotten == [sink.acks[0]])
    #expect(rig.told(life: 1).filter { $0 != .written(upTo: 1) } == [])
    #expect(rig.told(life: 2).filter { $0 != .written(upTo: 1) } == [.acknowledged(4, RemoteAnswer(Array("2".utf8)))])
  }

  @Test func whatTheFleetHasWrittenIsNotWrittenAgainForItsHostWhoseAdoptionIsUndone() {
    var fields = FleetFields()
    PreparedMessage(event: "m", body: Array("kept".utf8)).add(to: &fields)
    fields.add("r", 3)
    rig.mayWrite()
    let sends = ["7", "8"].compactMap { FleetSend(name: "b/\($0)", fields, place: scene.place) }
    rig.carry(sends)
    writer.heard(reply: .acknowledged(sink.acks[0], RemoteAnswer(Array("1".utf8))))
    rig.say(1, "kept", life: 3, ack: 1, row: "7")
    rig.say(2, "kept", life: 3, ack: 2, row: "8")
    writer.heard(reply: .acknowledged(sink.acks[1], RemoteAnswer(Array("2".utf8))))
    rig.carry(sends)
    // Longer than any answer is waited for.
    rig.mayWrite()
    scene.turn(by: .seconds(2))
    #expect(sink.takeAll() == ["kept acknowledged", "kept acknowledged"])
    #expect(rig.told(life: 3).contains(.acknowledged(1, RemoteAnswer(Array("1".utf8)))))
    #expect(rig.told(life: 3).contains(.acknowledged(2, RemoteAnswer(Array("2".utf8)))))
  }

  @Test func whatIsAdoptedIsWrittenAndItsOutcomeKept() {
    var fields = FleetFields()
    PreparedMessage(event: "m", body: Array("kept".utf8)).add(to: &fields)
    scene.store.set(scene.place.key(.adopted), "b/7", FleetBoxRow.waiting(fields).bytes)
    rig.mayWrite()
    rig.carry(FleetSend.waiting(in: scene.store.rows(of: scene.place.key(.adopted)), of: scene.place))
    rig.carry(FleetSend.waiting(in: scene.store.rows(of: scene.place.key(.adopted)), of: scene.place))
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
    rig.mayWrite()
    sink.cost = 10
    rig.say(1, "kept", row: "7")
    scene.store.set(scene.place.key(.adopted), "b/7", FleetBoxRow.waiting(fields).bytes)
    writer.noteLife(2, of: "b")
    rig.carry(FleetSend.waiting(in: scene.store.rows(of: scene.place.key(.adopted)), of: scene.place))
    sink.unsentBytes = 0
    scene.turn(by: .milliseconds(50))
    #expect(sink.takeAll() == ["kept"])
    #expect(scene.store.rows(of: scene.place.key(.box(host: "b"))) == ["7": FleetSendEnd(.sent).row.bytes])
  }

  @Test func whatAHostHasSentUnderItsNewNameIsNotWrittenOnceMoreForItsOldOne() {
    var fields = FleetFields()
    PreparedMessage(event: "m", body: Array("kept".utf8)).add(to: &fields)
    rig.mayWrite()
    rig.say(1, "kept", host: "renamed", row: "x-7")
    scene.turn(by: .milliseconds(50))
    scene.store.set(scene.place.key(.adopted), "b/x-7", FleetBoxRow.waiting(fields).bytes)
    rig.carry(FleetSend.waiting(in: scene.store.rows(of: scene.place.key(.adopted)), of: scene.place))
    rig.mayWrite()
    scene.turn(by: .milliseconds(50))
    #expect(sink.takeAll() == ["kept"])
    #expect(scene.store.rows(of: scene.place.key(.adopted)) == [:])
  }

  // MARK: - Sends that the fleet has under two names of their host

  /// The fleet adopts rows of the send `1`.
  /// - Parameter retries: nil asks the server for no acknowledgement; else it is awaited for a second.
  private func adopt(_ names: [String], retries: UInt64? = nil) {
    var fields = FleetFields()
    PreparedMessage(event: "m", body: Array("kept".utf8)).add(to: &fields)
    if let retries {
      fields.add("r", retries)
      fields.add("l", "1000")
    }
    for name in names { scene.store.set(scene.place.key(.adopted), name, FleetBoxRow.waiting(fields).bytes) }
    rig.carry(names.compactMap { FleetSend(name: $0, fields, place: scene.place) })
  }

  /// Lets time pass in which it may write.
  private func wait(_ milliseconds: Int64) {
    rig.mayWrite()
    scene.turn(by: .milliseconds(milliseconds))
    rig.mayWrite()
  }

  private func box(_ host: String) -> [String: [UInt8]] { scene.store.rows(of: scene.place.key(.box(host: host))) }
  private var adopted: [String: [UInt8]] { scene.store.rows(of: scene.place.key(.adopted)) }

  @Test func aSendThatTheFleetHasUnderTwoNamesOfItsHostIsWrittenOnceAndBothRowsSaySo() {
    rig.mayWrite()
    // Nothing has left when the second one has its turn.
    sink.cost = 10
    adopt(["b/1", "b-x/1"])
    wait(50)
    #expect(sink.takeAll() == ["kept"] && adopted.count == 2)
    sink.unsentBytes = 0
    wait(50)
    let sent = ["1": FleetSendEnd(.sent).row.bytes]
    #expect(adopted == [:] && box("b") == sent && box("b-x") == sent)
    #expect(sink.takeAll() == [])
  }

  @Test func aSendThatTheFleetHasUnderTwoNamesOfItsHostIsTriedAsOftenAsOne() {
    rig.mayWrite()
    adopt(["b/1", "b-x/1"], retries: 1)
    wait(1_500)
    #expect(sink.takeAll() == ["kept acknowledged", "kept acknowledged"])
    writer.heard(reply: .acknowledged(sink.acks[0], RemoteAnswer(Array("1".utf8))))
    wait(2_000)
    let acknowledged = ["1": FleetSendEnd(.acked, answer: RemoteAnswer(Array("1".utf8)).args).row.bytes]
    #expect(adopted == [:] && box("b") == acknowledged && box("b-x") == acknowledged)
    #expect(sink.takeAll() == [] && sink.forgotten == [sink.acks[1]])
  }

  @Test func theOutcomeOfASendIsThatOfARowThatIsAdoptedAfterwardsUnderAnotherName() {
    rig.mayWrite()
    adopt(["b/1"], retries: 0)
    wait(1_500)
    adopt(["b-x/1"], retries: 0)
    wait(1_500)
    let lost = ["1": FleetSendEnd(.lost, reason: "ack_timeout").row.bytes]
    #expect(sink.takeAll() == ["kept acknowledged"])
    #expect(adopted == [:] && box("b") == lost && box("b-x") == lost)
  }

  @Test func whatAHostAwaitsUnderItsNewNameIsNotTriedAgainForItsOldOne() {
    rig.mayWrite()
    rig.say(1, "kept", host: "b-x", ack: 4, row: "1")
    adopt(["b/1"], retries: 3)
    wait(5_000)
    #expect(sink.takeAll() == ["kept acknowledged"])
    writer.heard(reply: .acknowledged(sink.acks[0], RemoteAnswer(Array("1".utf8))))
    wait(50)
    #expect(rig.told("b-x").contains(.acknowledged(4, RemoteAnswer(Array("1".utf8)))))
    #expect(
      adopted == [:] && box("b") == ["1": FleetSendEnd(.acked, answer: RemoteAnswer(Array("1".utf8)).args).row.bytes])
  }

  @Test func whatTheFleetHasWrittenIsNotTriedAgainOnceItsHostAwaitsItUnderItsNewName() {
    rig.mayWrite()
    adopt(["b/1"], retries: 3)
    rig.say(1, "kept", host: "b-x", ack: 4, row: "1")
    wait(5_000)
    #expect(sink.takeAll() == ["kept acknowledged"])
    writer.heard(reply: .acknowledged(sink.acks[0], RemoteAnswer(Array("1".utf8))))
    wait(50)
    #expect(rig.told("b-x").contains(.acknowledged(4, RemoteAnswer(Array("1".utf8)))))
    #expect(
      adopted == [:] && box("b") == ["1": FleetSendEnd(.acked, answer: RemoteAnswer(Array("1".utf8)).args).row.bytes])
  }

  @Test func whatAHostAwaitedUnderItsNewNameIsTriedAgainForItsOldOneWhenTheHostIsGone() {
    rig.mayWrite()
    rig.say(1, "kept", host: "b-x", ack: 4, row: "1")
    adopt(["b/1"], retries: 1)
    wait(2_000)
    writer.noteLife(2, of: "b-x")
    adopt(["b-x/1"], retries: 1)
    wait(1_500)
    #expect(sink.takeAll() == ["kept acknowledged", "kept acknowledged"])
    writer.heard(reply: .acknowledged(sink.acks[1], RemoteAnswer(Array("1".utf8))))
    wait(50)
    #expect(adopted == [:] && box("b").count == 1 && box("b") == box("b-x"))
  }

  @Test func aSendThatTwoDaemonsHaveIsWrittenOnceAndBothAreAnswered() {
    rig.mayWrite()
    rig.say(1, "kept", host: "b", ack: 4, row: "1")
    // The number of its life is the same.
    rig.say(1, "kept", host: "b-x", ack: 9, row: "1")
    #expect(sink.takeAll() == ["kept acknowledged"])
    writer.heard(reply: .acknowledged(sink.acks[0], RemoteAnswer(Array("1".utf8))))
    wait(50)
    #expect(rig.told("b").contains(.acknowledged(4, RemoteAnswer(Array("1".utf8)))))
    #expect(rig.told("b-x").contains(.acknowledged(9, RemoteAnswer(Array("1".utf8)))))
  }
}
