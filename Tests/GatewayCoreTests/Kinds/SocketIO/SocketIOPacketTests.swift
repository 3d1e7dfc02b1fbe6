import Testing

@testable import GatewayCore

private func parse(_ text: String, attachmentLimit: Int = 10) -> Result<SocketIOPacket, SocketIOProblem> {
  let bytes = [UInt8](("4" + text).utf8)
  return Result { () throws(SocketIOProblem) in
    try SocketIOPacket(parsing: bytes.span.bytes, from: 1, attachmentLimit: attachmentLimit)
  }
}

/// A packet with its ranges read back as text, so that tables stay readable.
private func describe(_ text: String) -> String {
  switch parse(text) {
  case .failure(let problem): return "\(problem)"
  case .success(let packet):
    let bytes = [UInt8](("4" + text).utf8)
    func piece(_ range: Range<Int>?) -> String { range.map { String(decoding: bytes[$0], as: UTF8.self) } ?? "-" }
    var result = "\(packet.kind.rawValue)"
    if packet.attachments > 0 { result += " \(packet.attachments)×" }
    if !packet.namespace.isEmpty { result += " \(piece(packet.namespace))" }
    if let ack = packet.ack { result += " #\(ack)" }
    switch packet.content {
    case .connect(let range), .disconnect(let range): return result + " \(piece(range))"
    case .malformedConnect: return result + " malformed"
    case .oversizedConnect: return result + " too long"
    case .connectError(let range): return result + " \(piece(range))"
    case .event(let name, let arguments): return result + " \(piece(name)) (\(piece(arguments)))"
    case .acknowledgement(let arguments): return result + " (\(piece(arguments)))"
    case .unreadable(let flaw): return result + " \(flaw)"
    }
  }
}

private let wellFormed: [(String, String)] = [
  ("0", "0 -"),
  ("0/", "0 -"),
  ("0/admin", "0 /admin -"),
  ("0/admin,", "0 /admin -"),
  (#"0{"sid":"x"}"#, #"0 {"sid":"x"}"#),
  (#"0/admin,{"sid":"x"} "#, #"0 /admin {"sid":"x"}"#),
  (#"0/ns with space?,{"x":1}"#, #"0 /ns with space? {"x":1}"#),
  ("0/c?token=abc&x=1,", "0 /c?token=abc&x=1 -"),
  ("1", "1 -"),
  ("1/admin,", "1 /admin -"),
  (#"1/auth,{"message":"no"}"#, #"1 /auth {"message":"no"}"#),
  // What a server says about one namespace, however it says it.
  (#"0/admin,"invalid""#, "0 /admin malformed"),
  ("0[]", "0 malformed"),
  ("0null", "0 malformed"),
  ("0{}x", "0 malformed"),
  ("012", "0 malformed"),
  ("1/admin,x", "1 /admin -"),
  ("4", "4 -"),
  ("4/refuse", "4 /refuse -"),
  ("4/undef,", "4 /undef -"),
  ("45", "4 5"),
  ("4/number,-1.5", "4 /number -1.5"),
  ("4true", "4 true"),
  ("4/n,null", "4 /n null"),
  ("4/broken,{", "4 /broken -"),
  (#"2["hello"]"#, #"2 "hello" ()"#),
  (#"2["hello",1,{"a":[]}]"#, #"2 "hello" (1,{"a":[]})"#),
  (#"2/,["a"]"#, #"2 "a" ()"#),
  (#"2/admin,456["project:delete",123]"#, #"2 /admin #456 "project:delete" (123)"#),
  (#"2007["a"]"#, #"2 #7 "a" ()"#),
  (#"218446744073709551615["a"]"#, #"2 #18446744073709551615 "a" ()"#),
  (#"2[1234,"x"]"#, #"2 1234 ("x")"#),
  (#"2[-1.5e3]"#, #"2 -1.5e3 ()"#),
  ("2[ \"a\" , 1 ,\n2 ]\n", "2 \"a\" (1 ,\n2)"),
  (#"2["connected","connect"]"#, #"2 "connected" ("connect")"#),
  (#"2["error"]"#, #"2 "error" ()"#),
  (#"2["日本\ud800",9007199254740993]"#, #"2 "日本\ud800" (9007199254740993)"#),
  ("30[]", "3 #0 ()"),
  ("312[ ]", "3 #12 ()"),
  (#"3/admin,456[[1,2],"x"]"#, #"3 /admin #456 ([1,2],"x")"#),
  (#"4"Unable to connect""#, #"4 "Unable to connect""#),
  (#"4/x,{"message":"Invalid namespace"}"#, #"4 /x {"message":"Invalid namespace"}"#),
  (#"4/auth,["auth required",{"code":401}]"#, #"4 /auth ["auth required",{"code":401}]"#),
  (#"51-["hello",{"_placeholder":true,"num":0}]"#, #"5 1× "hello" ({"_placeholder":true,"num":0})"#),
  (#"510-/cool,23["a"]"#, #"5 10× /cool #23 "a" ()"#),
  (#"50-["a"]"#, #"5 "a" ()"#),
  (#"61-/admin,456[{"_placeholder":true,"num":0}]"#, #"6 1× /admin #456 ({"_placeholder":true,"num":0})"#),
  ("2[\"a\"," + String(repeating: "[", count: 64), "2 undecodable"),
  // One level more than a line of the local protocol could carry.
  ("2[\"a\"," + String(repeating: "[", count: 62) + String(repeating: "]", count: 62) + "]", "2 undecodable"),
  ("31[" + String(repeating: "{\"a\":", count: 64), "3 #1 undecodable"),
]

private let malformed: [(String, SocketIOProblem)] = [
  ("", .unknownType),
  ("7", .unknownType),
  ("999", .unknownType),
  ("x", .unknownType),
  (" 2[\"a\"]", .unknownType),
  ("5", .malformedAttachmentCount),
  ("51", .malformedAttachmentCount),
  ("5a-", .malformedAttachmentCount),
  ("51.23-", .malformedAttachmentCount),
  (#"5-["a"]"#, .malformedAttachmentCount),
  (#"5["a"]"#, .malformedAttachmentCount),
  (#"511-["a"]"#, .tooManyAttachments(limit: 10)),
  (#"599999999999999999999999-["a"]"#, .tooManyAttachments(limit: 10)),
]

private let flawed: [(String, String)] = [
  // What is wrong in one namespace, which is known.
  (#"2["some","data""#, "2 malformedPayload"),
  (#"2/admin,"invalid"#, "2 /admin malformedPayload"),
  ("2/admin,{}", "2 /admin malformedPayload"),
  (#"2[{"toString":"foo"}]"#, "2 malformedPayload"),
  (#"2[true,"foo"]"#, "2 malformedPayload"),
  (#"2[null,"bar"]"#, "2 malformedPayload"),
  ("2[]", "2 malformedPayload"),
  ("2" + String(repeating: "[", count: 65), "2 malformedPayload"),
  ("2", "2 malformedPayload"),
  ("2/admin", "2 /admin malformedPayload"),
  (#"2/custom["a"]"#, #"2 /custom["a"] malformedPayload"#),
  (#"2 ["e"]"#, "2 malformedPayload"),
  (#"2-1["e"]"#, "2 malformedPayload"),
  (#"2["a",]"#, "2 malformedPayload"),
  (#"2["a"]]"#, "2 malformedPayload"),
  (#"2["a" "b"]"#, "2 malformedPayload"),
  (#"2["a",01]"#, "2 malformedPayload"),
  ("2[\"a\u{1}\"]", "2 malformedPayload"),
  (#"218446744073709551616["a"]"#, "2 malformedAck"),
  ("3[]", "3 malformedAck"),
  ("31{}", "3 #1 malformedPayload"),
  ("31", "3 #1 malformedPayload"),
  (#"61-["a"]"#, "6 1× malformedAck"),
  (#"51-/x,["a",]"#, "5 1× /x malformedPayload"),
  // Whoever takes the packets apart further asks for these names.
  (#"2["connect"]"#, #"2 "connect" ()"#),
  (#"2["disconnect","123"]"#, #"2 "disconnect" ("123")"#),
]

@Test func wellFormedPacketsAreTakenApart() {
  for (text, expected) in wellFormed {
    #expect(describe(text) == expected, "\(text.prefix(80))")
  }
}

@Test func eventsAndAnswersThatCannotBeShownSayWhy() {
  for (text, expected) in flawed {
    #expect(describe(text) == expected, "\(text.prefix(80))")
  }
}

@Test func reservedNamesOfAServerAreFoundHoweverTheyAreWritten() {
  for name in [
    "connect", "connect_error", "disconnect", "disconnecting", "newListener", "removeListener", #"\u0063onnect"#,
    #"conn\u0065ct"#,
  ] {
    let text = [UInt8]("\"\(name)\"".utf8)
    let isReserved = SocketIOEventName.isReserved(text.span.bytes, 0..<text.count)
    #expect(isReserved, "\(name)")
  }
}

/// The short way takes an event exactly where the general one finds one, and takes it apart alike. Reserved names it
/// leaves to that.
@Test func plainEventsAreFoundAlikeOnBothWays() {
  for text in wellFormed.map(\.0) + malformed.map(\.0) + flawed.map(\.0) {
    let bytes = [UInt8](("4" + text).utf8)
    let plain = SocketIOPacket.plainEvent(in: bytes.span.bytes, from: 1)
    guard case .success(let packet) = parse(text), packet.kind == .event,
      case .event(let name, let arguments) = packet.content, !SocketIOEventName.isReserved(bytes.span.bytes, name)
    else {
      #expect(plain == nil, "\(text.prefix(80))")
      continue
    }
    let expected = SocketIOPacket.PlainEvent(
      name: name, arguments: arguments, namespace: packet.namespace, ack: packet.ack,
      isLocalForm: plain?.isLocalForm ?? false)
    #expect(plain == expected, "\(text.prefix(80))")
    if plain?.isLocalForm == true { expectLocalForm(bytes, arguments) }
  }
}

/// And so it takes an acknowledgement.
@Test func plainAcknowledgementsAreFoundAlikeOnBothWays() {
  for text in wellFormed.map(\.0) + malformed.map(\.0) + flawed.map(\.0) {
    let bytes = [UInt8](("4" + text).utf8)
    let plain = SocketIOPacket.plainAcknowledgement(in: bytes.span.bytes, from: 1)
    guard case .success(let packet) = parse(text), packet.kind == .acknowledgement, let ack = packet.ack,
      case .acknowledgement(let arguments) = packet.content
    else {
      #expect(plain == nil, "\(text.prefix(80))")
      continue
    }
    let expected = SocketIOPacket.PlainAcknowledgement(
      arguments: arguments, namespace: packet.namespace, ack: ack, isLocalForm: plain?.isLocalForm ?? false)
    #expect(plain == expected, "\(text.prefix(80))")
    if plain?.isLocalForm == true { expectLocalForm(bytes, arguments) }
  }
}

/// Arguments that are handed on as they are would not be written otherwise.
private func expectLocalForm(_ text: [UInt8], _ arguments: Range<Int>) {
  var written: [UInt8] = []
  _ = try? SocketIOForm.write(fromServer: text.span.bytes, arguments, attachments: [], into: &written)
  #expect(written == Array(text[arguments]))
}

/// What the short way says by itself of the local form, and what it leaves to another look.
@Test func theLocalFormOfAnEventIsKnownWithoutAnotherLook() {
  for (arguments, isKnown) in [
    (#""text""#, true), (#"{"a":[1,{"b":"$bin"}],"c":"\u0024bin"},"$bin",7"#, true), (#"{"a": 1 }, [ ]"#, true),
    (#"{"$bin":"AQI="}"#, false), (#"[[{"a":1,"$$bin":2}]]"#, false), (#"{"\u0024bin":1}"#, false),
    ("{\n\"a\":1}", false), ("[1,\r2]", false), ("[\n]", false), ("{\"a\"\n:1}", false), ("1\n,2", false),
  ] {
    let event = Array("42[\"name\",\(arguments)]".utf8)
    let plainEvent = SocketIOPacket.plainEvent(in: event.span.bytes, from: 1)
    #expect(plainEvent?.isLocalForm == isKnown, "\(arguments)")
    let answer = Array("4317[\(arguments)]".utf8)
    let plainAnswer = SocketIOPacket.plainAcknowledgement(in: answer.span.bytes, from: 1)
    #expect(plainAnswer?.isLocalForm == isKnown, "\(arguments)")
  }
}

@Test func malformedPacketsAreRefused() {
  for (text, problem) in malformed { #expect(parse(text) == .failure(problem), "\(text)") }
}

@Test func everyCutOfAPacketIsRefusedOrHarmless() {
  for (text, _) in wellFormed {
    let bytes = [UInt8](("4" + text).utf8)
    for end in 1...bytes.count {
      let cut = [UInt8](bytes[..<end])
      guard let packet = try? SocketIOPacket(parsing: cut.span.bytes, from: 1, attachmentLimit: 10) else { continue }
      switch packet.content {
      case .event(let name, let arguments):
        #expect(name.upperBound <= cut.count && arguments.upperBound <= cut.count)
      case .acknowledgement(let range): #expect(range.upperBound <= cut.count)
      case .connect(let range), .disconnect(let range), .connectError(let range):
        #expect((range?.upperBound ?? 0) <= cut.count)
      case .unreadable, .malformedConnect, .oversizedConnect: break
      }
    }
  }
}
