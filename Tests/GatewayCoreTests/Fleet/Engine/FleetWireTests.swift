import Testing

@testable import GatewayCore

@Suite struct FleetWireTests {
  private let message = {
    var message = PreparedMessage(
      event: "chat:é", body: Array(#"["a\n",{"$bin":0}]"#.utf8), attachments: [[0, 255], []])
    message.compress = false
    return message
  }()

  private let leave = PreparedLeave(
    message: PreparedMessage(event: "quit:é", body: Array(#"["1:2:"]"#.utf8), attachments: [[58, 0]]), wantsAck: true)

  @Test func entryOfTwoOfTheLongestMessagesIsReadAsOneAnswer() {
    #expect(2 * FleetWire.longest + FleetFields.limit * 1_024 <= RESPReader.Limits().bytes)
  }

  @Test func whatAHostSaysCrossesAsItIs() {
    let calls: [FleetUpEntry.Call] = [
      .write(message, ack: nil, row: nil), .write(message, ack: 7, row: "id-12"), .answer(3, message),
      .enter(message, ack: nil, leave: nil), .enter(message, ack: 7, leave: leave), .leave(nil, of: message),
      .leave(leave, of: message), .leave(PreparedLeave(message: message, wantsAck: false), of: leave.message),
      .decline(4, .unheard),
      .decline(5, .abandoned), .forget(ack: 9), .want(Interest(.all)), .drop(Interest(.name(ExactText("a.b")))),
      .want(Interest(.glob(ExactText("a.*")), answers: true)),
    ]
    for call in calls {
      let entry = FleetUpEntry(host: "edge-17", life: 2, conversation: 21, number: 5, call: call)
      #expect(FleetUpEntry(entry.fields) == entry)
    }
  }

  private let refused = UpstreamFailure(
    .refused, "the router refused it (not.authorized)", serverMessage: "not.authorized",
    serverData: Array(#""not.authorized""#.utf8))

  @Test func whatTheHolderRepliesCrossesAsItIs() {
    let answer = RemoteAnswer(Array(#"1,"x""#.utf8), kwargs: Array("{}".utf8))
    let calls: [FleetReplyEntry.Call] = [
      .written(upTo: 12), .acknowledged(1, answer), .acknowledged(2, RemoteAnswer([])), .progressed(3, answer),
      .acknowledged(4, RemoteAnswer(tooLong: 1 << 30)), .acknowledged(5, .unreadable),
      .failed(6, RemoteError("wamp.error", answer)), .refused(number: 7, .tooLarge(limit: 100, size: 101)),
      .refused(number: 8, .invalid("no")), .refused(number: 9, .outdated("other")),
      .answered(Interest(.all), refusal: nil),
      .answered(Interest(.name(ExactText("a"))), refusal: FleetInterestRefusal("no")),
      .answered(Interest(.name(ExactText("b"))), refusal: FleetInterestRefusal(refused)),
      .missing(from: 9), .withdrew(8),
    ]
    for call in calls {
      let entry = FleetReplyEntry(call)
      #expect(FleetReplyEntry(entry.fields) == entry)
    }
  }

  private func fields(_ all: (String, String)...) -> FleetFields {
    FleetFields(all.map { .init(name: $0.0, value: Array($0.1.utf8)) })
  }

  @Test(arguments: ["1]}}\n{", "1,", "[1", "1\n"]) func anAnswerThatIsNoJSONInOneLineCannotBeShown(_ args: String) {
    #expect(RemoteAnswer(fields(("a", args))) == .unreadable)
    #expect(FleetReplyEntry(fields(("ack", "1"), ("a", args)))?.call == .acknowledged(1, .unreadable))
    #expect(FleetSendEnd(fields(("s", "sent"), ("a", args))) == FleetSendEnd(.sent))
  }

  @Test(arguments: ["{", "[]", "{\n}", ""]) func keywordArgumentsThatAreNoObjectInOneLineCannotBeShown(_ kwargs: String)
  {
    #expect(RemoteAnswer(fields(("a", "1"), ("w", kwargs))) == .unreadable)
  }

  @Test(arguments: ["e", "\"e\"\n{}", "\"e", "1", ""]) func anEventWhoseNameIsNoStringIsToldWithoutIt(_ name: String) {
    let others = [("a", "1"), ("l", "5"), ("x", "binary")]
    for other in others {
      guard case .dropped(_, let event) = FleetEntry(fields(("n", name), other, ("t", "1"))) else {
        Issue.record("\(other) is taken")
        continue
      }
      #expect(event.name == nil)
    }
  }

  @Test func anEventWhoseArgumentsAreNoJSONInOneLineIsDroppedByItsName() {
    for other in [[("a", "1,")], [("a", "1\n")], [("a", "1"), ("w", "[]")]] {
      let all = [("n", "\"e\""), ("t", "1"), ("q", "3"), ("to", "h")] + other
      let entry = FleetEntry(FleetFields(all.map { .init(name: $0.0, value: Array($0.1.utf8)) }))
      guard case .dropped(let head, let event) = entry else {
        Issue.record("\(other) is taken")
        continue
      }
      #expect(event.reason == .undecodable && event.name == Array("\"e\"".utf8) && event.ack == 3)
      #expect(head.question == .init(id: 3, host: "h"))
    }
  }

  @Test func whatTheHolderSaysToAllCrossesAsItIs() {
    let head = FleetEvent.Head(
      time: 1_795_000_000_000, epoch: "e1", offset: "17", question: .init(id: 4, host: "edge-2"))
    let plain = FleetEvent.Head(time: 0)
    let name = Array(#""news""#.utf8)
    let entries: [FleetEntry] = [
      .marker(FleetMarker(.take, term: 8, epoch: "", sequence: 0)),
      .marker(FleetMarker(.open(hosts: 12), term: 8, epoch: "e1", sequence: 9, offset: "17")),
      .marker(FleetMarker(.down(reason: "closed", detail: "the server hung up"), term: 8, epoch: "e1", sequence: 9)),
      .marker(FleetMarker(.down(reason: "fleet", detail: "over", settled: 7), term: 8, epoch: "e1", sequence: 9)),
      .event(FleetEvent(head: head, name: name, arguments: Array("1,2".utf8), kwargs: Array("{}".utf8))),
      .event(FleetEvent(head: plain, name: name, arguments: [], kwargs: nil)),
      .dropped(plain, DroppedEvent(.undecodable, detail: "why")),
      .dropped(head, DroppedEvent(.tooLarge, name: name, ack: 4)), .tooLong(plain, name: name, size: 99_000_000),
    ]
    for entry in entries { #expect(FleetEntry(entry.fields) == entry) }
  }

  @Test func aRefusedInterestIsAnsweredInTheServersWords() {
    #expect(FleetInterestRefusal(refused).failure == refused)
    var fields = FleetFields()
    FleetServerWords(refused).add(to: &fields)
    #expect(FleetServerWords(fields) == FleetServerWords(refused))
  }

  @Test(arguments: ["{", "1 2", "[1,\n2]", "\"" + String(repeating: "x", count: FleetServerWords.dataLimit) + "\""])
  func dataThatNoProgramCouldReadIsLeftOut(_ data: String) {
    var fields = FleetFields()
    fields.add("m", "no")
    fields.add("j", data)
    #expect(FleetServerWords(fields).message == "no" && FleetServerWords(fields).data == nil)
  }

  @Test func fieldsThatNoHostWritesAreNothing() {
    var fields = FleetUpEntry(host: "a", life: 1, conversation: 1, number: 1, call: .forget(ack: 1)).fields
    #expect(FleetEntry(fields) == nil)
    #expect(FleetReplyEntry(fields) == nil)
    #expect(FleetUpEntry(FleetFields()) == nil)
    fields.add("more", "from a later version")
    #expect(FleetUpEntry(fields)?.call == .forget(ack: 1))
  }

  @Test func packedFieldsHoldAnyBytes() throws {
    var fields = FleetFields()
    fields.add("a", Array("1:2:3".utf8))
    fields.add("a", [])
    fields.add("b", (0...255).map { UInt8($0) })
    #expect(FleetFields(packed: fields.packed) == fields)
    #expect(FleetFields(packed: fields.packed.dropLast()) == nil)
    #expect(FleetFields(packed: Array("a:-1:".utf8)) == nil)
    #expect(FleetFields(packed: Array("a:9999999999999999999999:".utf8)) == nil)
  }

  @Test func keysOfANamespaceHaveItAtTheEnd() {
    let place = FleetPlace(fleet: "prod", upstream: "chat")
    #expect(place.key(.lease).text == "gw:prod:{chat}:L")
    #expect(place.key(.replies(host: "edge-17")).text == "gw:prod:{chat}:re:edge-17")
    #expect(
      FleetPlace(fleet: "prod", upstream: "chat", namespace: "/admin").key(.events).text == "gw:prod:{chat}:ev:/admin")
    #expect(place.key(.adopted).text == "gw:prod:{chat}:box:@")
  }

  @Test func positionsAreReadAndOrdered() {
    #expect(FleetPosition("21-1807") == FleetPosition(21, 1_807))
    #expect(
      [FleetPosition("1"), FleetPosition("1-"), FleetPosition("-1"), FleetPosition("a-1")] == [nil, nil, nil, nil])
    #expect(FleetPosition(1, 9) < FleetPosition(2, 0))
  }
}
