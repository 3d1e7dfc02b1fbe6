import Testing

@testable import GatewayCore

/// A conversation in MessagePack, written by hand from its specification.
private func packet(_ type: UInt8, _ data: [UInt8]?, namespace: String = "/", id: UInt8? = nil) -> [UInt8] {
  var bytes: [UInt8] = [0x82 + (data == nil ? 0 : 1) + (id == nil ? 0 : 1)]
  bytes += join(string("type"), [type], string("nsp"), string(namespace))
  if let data { bytes += join(string("data"), data) }
  if let id { bytes += join(string("id"), [id]) }
  return bytes
}

private func string(_ text: String) -> [UInt8] {
  var bytes = [0xa0 | UInt8(text.utf8.count)]
  bytes.append(contentsOf: text.utf8)
  return bytes
}

private func join(_ parts: [UInt8]...) -> [UInt8] { Array(parts.joined()) }

private func shown(_ bytes: [UInt8]) -> String {
  "<" + bytes.map { String($0, radix: 16) }.joined(separator: " ") + ">"
}
private let accepted = packet(0, join([0x81], string("sid"), string("socket")))

private func joined(_ change: (inout UpstreamSettings) -> Void = { _ in }) -> (SocketIORig, SocketIORig.Connection) {
  let rig = SocketIORig()
  let connection = rig.connection("/") {
    $0.parser = .msgpack
    change(&$0)
  }
  rig.transport.open()
  rig.transport.receive(SocketIORig.handshake)
  rig.transport.receive(binary: accepted)
  return (rig, connection)
}

@Test func packetsTravelAsMessagePackBothWays() throws {
  let (rig, connection) = joined { $0.auth = .inline(Array(#"{"token":"t"}"#.utf8)) }
  #expect(
    rig.transport.takeSent() == [shown(packet(0, nil).replacing(data: join([0x81], string("token"), string("t"))))])
  #expect(connection.log.take().contains(.opened))
  try connection.send("hello", #"[1,{"$bin":"AAE="}]"#)
  #expect(rig.transport.takeSent() == [shown(packet(2, join([0x93], string("hello"), [1, 0xc4, 2, 0, 1])))])
  try connection.send("ask", "[]", ack: 7)
  #expect(rig.transport.takeSent() == [shown(packet(2, join([0x91], string("ask")), id: 0))])
  rig.transport.receive(binary: packet(3, [0x92, 0xc0, 0x05], id: 0))
  rig.transport.receive(binary: packet(2, join([0x92], string("news"), [0xc4, 1, 0xff])))
  rig.transport.receive(binary: packet(2, [0x91, 0x07]))
  #expect(
    connection.log.take() == [
      .acknowledged("7(null,5)"), .event(#""news"({"$bin":"/w=="})"#), .event("7()"),
    ])
  connection.close()
  #expect(rig.transport.takeSent() == [shown(packet(1, nil))])
}

extension [UInt8] {
  /// A packet without data, with some.
  fileprivate func replacing(data: [UInt8]) -> [UInt8] { join([self[0] + 1], Array(self[1...]), string("data"), data) }
}

@Test func theOrderOfMembersAndStrangersAmongThemDoNotMatter() {
  let (rig, connection) = joined()
  _ = connection.log.take()
  let strange =
    join(
      [0x86], string("data"), [0x91], string("e"), string("options"), [0x81], string("compress"), [0xc3], string("id"),
      [0xd4, 0, 0], [0x05, 0xc0], string("nsp"), string("/"), string("type"), [2])
  rig.transport.receive(binary: strange)
  #expect(connection.log.take() == [.event(#""e"()"#)])
}

@Test func whatCannotBeShownIsAGapOfOne() {
  let (rig, connection) = joined { $0.messageLimit = 1_024 }
  _ = connection.log.take()
  let deep = [UInt8](repeating: 0x91, count: 80) + [0xc0]
  for value in [[0xd4, 9, 9], [0xa1, 0xff], [0x81, 0xc0, 0xc0], deep] {
    rig.transport.receive(binary: packet(2, join([0x92], string("e"), value)))
  }
  rig.transport.receive(
    binary: packet(2, join([0x92], string("e"), [0xdc, 1, 0], [UInt8](repeating: 0xc0, count: 256))))
  rig.transport.receive(binary: packet(2, join([0x91], string("still here"))))
  #expect(
    connection.log.take() == [
      .dropped(.undecodable), .dropped(.undecodable), .dropped(.undecodable), .dropped(.undecodable),
      .tooLong(#""e" of 280 bytes"#),
      .event(#""still here"()"#),
    ])
}

private let hostile: [(bytes: [UInt8], problem: SocketIOProblem)] = [
  ([0xc1], SocketIOProblem.malformedMsgpack), ([0x90], .malformedMsgpack), ([], .malformedMsgpack),
  (join(accepted, [0xc0]), .malformedMsgpack), (packet(5, [0x90]), .unknownType), (packet(0x7f, [0x90]), .unknownType),
  (join([0x81], string("nsp"), string("/")), .unknownType), (join([0x81], string("type"), [2]), .malformedNamespace),
  (join([0x82], string("type"), [2], string("nsp"), [0xa1, 0xff]), .malformedNamespace),
  (packet(2, join([0x93], string("e"), [0xc4, 0, 0xc4, 0])), .tooManyAttachments(limit: 1)),
]

@Test(arguments: hostile)
func whatIsNoPacketEndsTheLink(bytes: [UInt8], problem: SocketIOProblem) {
  let (rig, connection) = joined { $0.attachments = 1 }
  _ = connection.log.take()
  rig.transport.receive(binary: bytes)
  #expect(connection.log.take() == [.ended(problem.failure)], "\(shown(bytes))")
}

private let nameless = SocketIOFlaw.malformedPayload
private let oddID = SocketIOFlaw.malformedAck

private let flawed: [(bytes: [UInt8], flaw: SocketIOFlaw)] = [
  (packet(2, nil, namespace: "/x"), nameless), (packet(2, [0x90], namespace: "/x"), nameless),
  (packet(2, [0x80], namespace: "/x"), nameless), (packet(2, [0x91, 0xc3], namespace: "/x"), nameless),
  (packet(2, join([0x91], string("e")), namespace: "/x", id: 0xff), oddID),
  (packet(2, join([0x91], string("e")), namespace: "/x", id: 0xc3), oddID),
]

@Test(arguments: flawed)
func anEventInMessagePackThatMeansNothingIsAGapInItsNamespace(bytes: [UInt8], flaw: SocketIOFlaw) {
  let (rig, main) = joined()
  let other = rig.connection("/x") { $0.parser = .msgpack }
  rig.transport.receive(binary: packet(0, join([0x81], string("sid"), string("x")), namespace: "/x"))
  _ = main.log.take()
  _ = other.log.take()
  rig.transport.receive(binary: bytes)
  #expect(other.log.take() == [.dropped(.undecodable, flaw.detail)], "\(shown(bytes))")
  #expect(main.log.take() == [] && !rig.transport.isClosed)
}

@Test(arguments: [1_000, 3])
func anEventInMessagePackWithAReservedNameIsAGapOfThatName(pieces: Int) {
  let (rig, connection) = joined()
  _ = connection.log.take()
  rig.transport.receive(binary: packet(2, join([0x92], string("connect"), [1]), id: 5), inPiecesOf: pieces)
  rig.transport.receive(binary: packet(2, join([0x91], string("next"))))
  #expect(
    connection.log.take() == [
      .dropped(.undecodable, SocketIOFlaw.reservedName.detail, name: #""connect""#, ack: 5), .event(#""next"()"#),
    ])
}

@Test func anAnswerInMessagePackThatIsNoListIsOneThatCannotBeShown() throws {
  let (rig, connection) = joined()
  _ = connection.log.take()
  try connection.send("ask", "[]", ack: 7)
  // Without an id it is nobody's.
  rig.transport.receive(binary: packet(3, [0x90]))
  rig.transport.receive(binary: packet(3, [0xc0], id: 0))
  #expect(connection.log.take() == [.unreadable(7)] && !rig.transport.isClosed)
}

@Test func anIdOfWhatIsAcceptedOrRefusedMeansNothing() {
  let rig = SocketIORig()
  let connection = rig.connection("/") { $0.parser = .msgpack }
  rig.transport.open()
  rig.transport.receive(SocketIORig.handshake)
  rig.transport.receive(binary: packet(0, join([0x81], string("sid"), string("socket")), id: 0xff))
  #expect(connection.log.take() == [.opened])
}

@Test func anAcceptanceInMessagePackThatIsNoObjectEndsItsNamespace() {
  let (rig, main) = joined()
  _ = main.log.take()
  for answer: [UInt8] in [[0x90], [0x81, 0xc0, 0xc0]] {
    let other = rig.connection("/x") { $0.parser = .msgpack }
    rig.transport.receive(binary: packet(0, answer, namespace: "/x"))
    #expect(other.log.take() == [.ended(SocketIOProblem.malformedPayload.failure)], "\(shown(answer))")
  }
  #expect(main.log.take() == [] && !rig.transport.isClosed)
}

@Test func aServerThatSpeaksJSONIsRecognised() {
  let (rig, connection) = joined()
  _ = connection.log.take()
  rig.transport.receive(#"42["e"]"#)
  #expect(connection.log.take() == [.ended(SocketIOProblem.textForMsgpack.failure)])
}

@Test func refusalsAndKicksKeepTheServersWords() {
  let rig = SocketIORig()
  let connection = rig.connection("/x") { $0.parser = .msgpack }
  rig.transport.open()
  rig.transport.receive(SocketIORig.handshake)
  _ = connection.log.take()
  rig.transport.receive(
    binary: packet(
      4, join([0x82], string("message"), string("no"), string("data"), [0x81], string("a"), [1]), namespace: "/x"))
  #expect(
    connection.log.take() == [
      .ended(
        UpstreamFailure(
          .refused, "the server refused the namespace /x: no", serverMessage: "no", serverData: Array(#"{"a":1}"#.utf8))
      )
    ])
}

@Test func parsersDoNotShareALink() {
  let rig = SocketIORig()
  _ = rig.connection("/a")
  _ = rig.connection("/b") { $0.parser = .msgpack }
  #expect(rig.kind.linkCount == 2)
}

@Test func theSizeOfAMessageIsThatOfItsMessagePack() {
  let size = MsgpackPacket.sizeLimit(dataCount: 5, namespace: Array("/ns".utf8))
  var output = MsgpackOutput()
  MsgpackPacket.append(.event, namespace: Array("/ns".utf8), ack: .max, data: [0x94, 1, 2, 3, 4], to: &output)
  #expect(output.bytes.count <= size)
  let text = [UInt8](#"["e","0123456789"]"#.utf8)
  #expect((try? MsgpackWriter.write(text.span.bytes, binaryLimit: 0))?.count == 14)
}

@Test(arguments: ParserName.allCases)
func messageThatWaitedWhileTheParserChangedIsNotWritten(_ before: ParserName) throws {
  let rig = SocketIORig()
  let after = before == .json ? ParserName.msgpack : .json
  let old = rig.kind.connector(for: rig.specification { $0.parser = before })
  let new = rig.kind.connector(for: rig.specification { $0.parser = after })
  let args = [UInt8](#"["x"]"#.utf8)
  let message = try old.prepare(MessageDraft(event: "e", args: args, isAcknowledged: false))
  #expect(old.check(message, acknowledged: false) == nil)
  let sentence =
    "the upstream's parser became \(after.rawValue) while this waited, which was written for \(before.rawValue)"
  #expect(new.check(message, acknowledged: false) == .outdated(sentence))
  let answer = try old.prepareAnswer(AnswerDraft(args: args))
  #expect(new.check(answer, acknowledged: true) == .outdated(sentence))
}

@Test func aMessageThatFitsIntoNoLineIsToldByItsName() throws {
  let (rig, connection) = joined()
  connection.log.lineLimit = 200
  _ = connection.log.take()
  let long = join([0xdc, 1, 1], [UInt8](repeating: 0x01, count: 257))
  let event = packet(2, join([0x92], string("e"), long))
  rig.transport.receive(binary: event, inPiecesOf: 7)
  rig.transport.receive(binary: packet(2, join([0x92], string("f"), [0x93, 1, 2, 3])), inPiecesOf: 3)
  try connection.send("ask", "[]", ack: 7)
  let answer = packet(3, join([0x91], long), id: 0)
  rig.transport.receive(binary: answer, inPiecesOf: 7)
  #expect(
    connection.log.take() == [
      .tooLong(#""e" of \#(event.count) bytes"#), .event(#""f"([1,2,3])"#), .tooLong("7 of \(answer.count) bytes"),
    ])
}

@Test(arguments: [1, 2, 3, 5, 11])
func aMessageWhoseHeadComesInPiecesIsTheSame(_ size: Int) throws {
  let (rig, connection) = joined()
  _ = connection.log.take()
  // Heads of two and of four bytes, each of which is cut somewhere.
  let text = String(repeating: "x", count: 300)
  rig.transport.receive(
    binary: packet(2, join([0xdc, 0, 2], string("e"), [0xda, 1, 0x2c], Array(text.utf8))), inPiecesOf: size)
  rig.transport.receive(binary: packet(2, join([0xdd, 0, 0, 0, 2], string("f"), [0xcd, 1, 0])), inPiecesOf: size)
  #expect(connection.log.take() == [.event(#""e"("\#(text)")"#), .event(#""f"(256)"#)])
}
