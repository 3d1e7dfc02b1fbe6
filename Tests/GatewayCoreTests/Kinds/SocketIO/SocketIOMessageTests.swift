import Testing

@testable import GatewayCore

private func event(
  _ name: String, _ args: String, limit: Int = 10, revision: EngineIORevision? = .four
) -> Result<PreparedMessage, MessageProblem> {
  let bytes = [UInt8](args.utf8)
  return Result { () throws(MessageProblem) in
    try SocketIOMessage.event(name, args: bytes.span.bytes, attachmentLimit: limit, revision: revision)
  }
}

private func prepared(_ name: String, _ body: String, _ attachments: [[UInt8]] = []) -> PreparedMessage {
  PreparedMessage(event: name, body: [UInt8](body.utf8), attachments: attachments)
}

@Test func eventJoinsItsArguments() {
  let table: [(name: String, args: String, body: String)] = [
    ("a", "[]", #"["a"]"#),
    ("a", " [ ] ", #"["a"]"#),
    ("a", "[1,2]", #"["a",1,2]"#),
    ("a", " [ 1 , {\"b\" : 1e2} ] ", #"["a",1 , {"b" : 1e2}]"#),
    ("say \"hi\"\n\\é/", "[[]]", #"["say \"hi\"\n\\é/",[]]"#),
    ("", "[null]", #"["",null]"#),
  ]
  for (name, args, body) in table { #expect(event(name, args) == .success(prepared(name, body)), "\(args)") }
}

@Test func longPlainArgumentsStayWhereTheyAre() throws {
  func plain(_ name: String, _ args: String) throws(MessageProblem) -> PreparedMessage? {
    try SocketIOMessage.event(name, plain: Array(args.utf8), revision: .four, parser: .json)
  }
  let message = try plain("e\"", #"["a",{"b":1}]"#)
  #expect(message?.body == Array(#"["e\"","a",{"b":1}]"#.utf8))
  #expect(message?.tail.count == 12)
  #expect(message?.byteCount == 21)
  // Those are for the ordinary way.
  for args in ["[]", "[ 1]", "[1 ]", " [1]", "{}"] {
    let none = try plain("e", args)
    #expect(none == nil, "\(args)")
  }
  #expect(throws: MessageProblem.self) { try plain("connect", "[1]") }
}

@Test func shortPlainArgumentsAreNotLookedAtAgain() throws {
  for args in ["[]", " [ 1 , 2 ] ", #"[{"a":"$bin"}]"#] {
    let bytes = Array(args.utf8)
    let message = try SocketIOMessage.event(
      "e", args: bytes.span.bytes, arePlain: true, attachmentLimit: 0, revision: .four)
    #expect(event("e", args) == .success(message), "\(args)")
  }
}

@Test func eventWithBinaryCarriesAttachments() {
  #expect(
    event("a", #"[{"$bin":"AQI="}]"#)
      == .success(prepared("a", #"["a",{"_placeholder":true,"num":0}]"#, [[1, 2]])))
}

@Test func argumentsMustBeAnArray() {
  for args in ["", "{}", "1", "[", "]", "null"] {
    #expect(event("a", args) == .failure(.invalid("args must be an array")), "\(args)")
  }
}

@Test func reservedNamesAreRefusedByRevision() {
  for name in ["connect", "connect_error", "disconnect", "disconnecting", "newListener", "removeListener"] {
    for revision in [nil, EngineIORevision.three, .four] {
      #expect(
        event(name, "[]", revision: revision)
          == .failure(.invalid("the event name \(name) is reserved by Socket.IO; choose another")))
    }
  }
  #expect(
    event("error", "[]", revision: .three)
      == .failure(.invalid("the event name error is reserved by Socket.IO; choose another")))
  #expect(event("error", "[]", revision: .four) == .success(prepared("error", #"["error"]"#)))
  #expect(event("error", "[]", revision: nil) == .success(prepared("error", #"["error"]"#)))
}

@Test func answerHasNoName() throws {
  let args = [UInt8](#"[1,{"$bin":"AQ=="}]"#.utf8)
  let answer = try SocketIOMessage.answer(args: args.span.bytes, attachmentLimit: 10)
  #expect(answer == prepared("", #"[1,{"_placeholder":true,"num":0}]"#, [[1]]))
}

@Test func sizeIsThatOfTheWrittenText() {
  for namespace in ["", "/admin"] {
    for ack in [nil, UInt64(0), 12_345] {
      for attachments in [0, 1, 10] {
        let message = prepared("a", #"["a",1]"#, [[UInt8]](repeating: [], count: attachments))
        var written: [UInt8] = []
        SocketIOEncoder.append(
          attachments > 0 ? .binaryEvent : .event, attachments: attachments, namespace: [UInt8](namespace.utf8),
          ack: ack, body: message.body, to: &written)
        let digits = ack.map(SocketIOEncoder.digits) ?? 0
        #expect(
          SocketIOEncoder.size(of: message, namespace: [UInt8](namespace.utf8), ackDigits: digits) == written.count)
      }
    }
  }
}

@Test func messagesBeyondTheServersLimitAreRefused() {
  let text = prepared("a", #"["a"]"#)
  let binary = prepared("a", #"["a"]"#, [[UInt8](repeating: 0, count: 50), [UInt8](repeating: 0, count: 100)])
  func problem(
    _ message: PreparedMessage, _ limit: Int?, _ revision: EngineIORevision, _ transport: TransportName = .websocket
  ) -> MessageProblem? {
    SocketIOMessage.problem(
      withSizeOf: message, namespace: [UInt8]("/x".utf8), ackDigits: 1, revision: revision, transport: transport,
      limit: limit)
  }
  #expect(problem(text, nil, .four) == nil)
  #expect(problem(text, 11, .four) == nil)
  #expect(problem(text, 10, .four) == .tooLarge(limit: 10, size: 11))
  #expect(problem(binary, 100, .four) == nil)
  #expect(problem(binary, 99, .four) == .tooLarge(limit: 99, size: 100))
  #expect(problem(binary, 100, .three) == .tooLarge(limit: 100, size: 101))
  #expect(problem(text, 11, .four, .polling) == nil)
  #expect(problem(binary, 137, .four, .polling) == nil)
  #expect(problem(binary, 136, .four, .polling) == .tooLarge(limit: 136, size: 137), "b and base64")
  #expect(problem(text, 15, .three, .polling) == nil)
  #expect(problem(text, 14, .three, .polling) == .tooLarge(limit: 14, size: 15), "kind, two digits, 0xff")
  #expect(problem(binary, 105, .three, .polling) == .tooLarge(limit: 105, size: 106))
}

@Test func packetsAreWrittenInTheWireForm() {
  func written(
    _ kind: SocketIOPacket.Kind, _ attachments: Int, _ namespace: String, _ ack: UInt64?, _ body: String
  ) -> String {
    var output: [UInt8] = []
    SocketIOEncoder.append(
      kind, attachments: attachments, namespace: [UInt8](namespace.utf8), ack: ack, body: [UInt8](body.utf8),
      to: &output)
    return String(decoding: output, as: UTF8.self)
  }
  #expect(written(.connect, 0, "", nil, "") == "40")
  #expect(written(.connect, 0, "/admin", nil, #"{"a":1}"#) == #"40/admin,{"a":1}"#)
  #expect(written(.disconnect, 0, "/admin", nil, "") == "41/admin,")
  #expect(written(.event, 0, "", 12, #"["a"]"#) == #"4212["a"]"#)
  #expect(written(.acknowledgement, 0, "/x", 0, "[]") == "43/x,0[]")
  #expect(written(.binaryEvent, 2, "/x", 7, #"["a"]"#) == #"452-/x,7["a"]"#)
  #expect(written(.binaryAcknowledgement, 1, "", 7, "[]") == "461-7[]")
}
