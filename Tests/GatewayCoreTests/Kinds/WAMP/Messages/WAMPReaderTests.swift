import Testing

@testable import GatewayCore

private func read(_ text: String) throws(WAMPProblem) -> WAMPMessage {
  let bytes = Array(text.utf8)
  let whole = result { () throws(WAMPProblem) in try WAMPReader.read(bytes.span.bytes) }
  for size in [1, 7, 20] {
    var long = WAMPElements.long()
    for end in stride(from: size, to: bytes.count, by: size) { long.advance(bytes.span.bytes.extracting(0..<end)) }
    long.advance(bytes.span.bytes, isWhole: true)
    let known = long
    #expect(result { () throws(WAMPProblem) in try WAMPReader.read(bytes.span.bytes, known) } == whole)
  }
  return try whole.get()
}

private func result(_ read: () throws(WAMPProblem) -> WAMPMessage) -> Result<WAMPMessage, WAMPProblem> {
  do throws(WAMPProblem) { return .success(try read()) } catch { return .failure(error) }
}

/// What stands at a range.
private func slice(_ text: String, _ range: Range<Int>?) -> String? {
  range.map { String(decoding: Array(text.utf8)[$0], as: UTF8.self) }
}

@Suite struct WAMPReaderTests {
  @Test func welcomeCarriesItsSessionAndDetails() throws {
    let text = #" [2, 9129137332, {"roles":{"broker":{}}}] "#
    guard case .welcome(9_129_137_332, let details) = try read(text) else { return #expect(Bool(false)) }
    #expect(slice(text, details) == #"{"roles":{"broker":{}}}"#)
  }

  @Test func eventCarriesItsPayloadAsRanges() throws {
    let text = #"[36,5512315355,4429313566,{"topic":"a.b"},["x", {"y":1}],{"k":"v"}]"#
    guard case .event(5_512_315_355, 4_429_313_566, let details, let payload) = try read(text) else {
      return #expect(Bool(false))
    }
    #expect(slice(text, details) == #"{"topic":"a.b"}"#)
    #expect(slice(text, payload.arguments) == #"["x", {"y":1}]"#)
    #expect(slice(text, payload.keywords) == #"{"k":"v"}"#)
  }

  @Test(arguments: [
    (#"[3,{"message":"m"},"wamp.error.no_such_realm"]"#, WAMPCode.abort),
    (#"[3,{},"wamp.error.no_such_realm",[1],{"a":2}]"#, .abort),
    (#"[4,"wampcra",{}]"#, .challenge),
    (#"[6,{},"wamp.close.normal"]"#, .goodbye),
    (#"[8,48,7,{},"a.b",[1],{}]"#, .error),
    (#"[8,48,7,{},"a.b"]"#, .error),
    ("[17,1,9007199254740992]", .published),
    ("[33,1,2]", .subscribed),
    ("[35,1]", .unsubscribed),
    (#"[35,0,{"subscription":5,"reason":"a.b"}]"#, .unsubscribed),
    ("[36,1,2,{}]", .event),
    ("[36,1,2,{},[]]", .event),
    ("[50,1,{}]", .result),
    ("[65,1,2]", .registered),
    ("[67,1]", .unregistered),
    (#"[67,0,{"registration":5}]"#, .unregistered),
    ("[68,1,2,{},[],{}]", .invocation),
    ("[69,1,{}]", .interrupt),
  ])
  func everyMessageOfARouterIsRead(_ text: String, _ code: WAMPCode) throws {
    #expect(try read(text).code == code)
  }

  @Test(arguments: [
    "[2,0,{}]", "[2,9007199254740993,{}]", "[2,-1,{}]", "[2,1.0,{}]", #"[2,"1",{}]"#, "[2,1]", "[2,1,[]]", "[2,1,{},1]",
  ])
  func welcomeWithoutAnIDOrDetailsIsMalformed(_ text: String) {
    #expect(throws: WAMPProblem.malformed(.welcome)) { try read(text) }
  }

  @Test(arguments: [
    ("[3,{}]", WAMPCode.abort), (#"[3,"a",{}]"#, .abort), ("[4,1,{}]", .challenge), (#"[4,"a"]"#, .challenge),
    (#"[6,{},"a",[]]"#, .goodbye), (#"[8,48,0,{},"a"]"#, .error), (#"[8,4711,1,{},"a"]"#, .error),
    (#"[8,48,1,{},1]"#, .error), (#"[8,48,1,{},"a",{}]"#, .error), (#"[8,48,1,{},"a",[],{},1]"#, .error),
    ("[17,1]", .published), ("[33,1,0]", .subscribed), ("[35]", .unsubscribed), ("[35,0]", .unsubscribed),
    ("[35,1,2]", .unsubscribed), ("[36,1,2]", .event), ("[36,1,2,{},{}]", .event), ("[36,1,2,{},[],[]]", .event),
    ("[36,1,2,{},null]", .event), ("[50,1]", .result), ("[65,1]", .registered), ("[68,1,2]", .invocation),
    ("[69,1]", .interrupt), ("[69,1,{},1]", .interrupt),
  ])
  func aBadArrayIsMalformed(_ text: String, _ code: WAMPCode) {
    #expect(throws: WAMPProblem.malformed(code)) { try read(text) }
  }

  @Test(arguments: [1, 5, 16, 32, 34, 48, 49, 64, 66, 70])
  func whatOnlyClientsSendIsRecognised(_ number: UInt16) throws {
    let code = try #require(WAMPCode(rawValue: number))
    #expect(throws: WAMPProblem.clientsOnly(code)) { try read("[\(number),1,{}]") }
  }

  @Test(arguments: ["{}", "1", #""[]""#, "[]", #"["2"]"#, "[2.5]", "[null]"])
  func jsonThatIsNoMessageIsRecognised(_ text: String) {
    #expect(throws: WAMPProblem.noMessage) { try read(text) }
  }

  @Test(arguments: ["", "[", "[2,1,{}", "[2,1,{}]x", "[2,1,{},]", "\u{0}"])
  func whatIsNoJSONIsRecognised(_ text: String) {
    #expect(throws: WAMPProblem.malformedJSON) { try read(text) }
  }

  @Test func malformedUTF8IsNoJSON() {
    let bytes = Array(#"[36,1,2,{},[""#.utf8) + [0xff] + Array(#""]]"#.utf8)
    #expect(throws: WAMPProblem.malformedJSON) { _ = try WAMPReader.read(bytes.span.bytes) }
  }

  @Test func unknownTypesAreNamed() {
    #expect(throws: WAMPProblem.unknownType(7)) { try read("[7]") }
    #expect(throws: WAMPProblem.unknownType(-1)) { try read("[-1]") }
    #expect(throws: WAMPProblem.unknownType(65_538)) { try read("[65538,1,{}]") }
  }

  /// `Arguments` with one argument of so many levels.
  private func arguments(_ levels: Int) -> String {
    String(repeating: "[", count: levels + 1) + String(repeating: "]", count: levels + 1)
  }

  @Test(arguments: [(61, false), (62, true), (70, true), (1_000, true)])
  func anEventNestedTooDeeplyIsStillAnEvent(_ levels: Int, isTooDeep: Bool) throws {
    guard case .event(1, 2, _, let payload) = try read("[36,1,2,{},\(arguments(levels))]") else {
      return #expect(Bool(false))
    }
    #expect(payload.isTooDeep == isTooDeep)
    guard case .event(1, 2, _, let keyed) = try read(#"[36,1,2,{},[],{"a":\#(arguments(levels - 1))}]"#) else {
      return #expect(Bool(false))
    }
    #expect(keyed.isTooDeep == isTooDeep)
  }

  @Test func whatIsNestedDeeplyAndNoJSONIsNoMessage() {
    let deep = String(repeating: "[", count: 70)
    for rest in ["", String(repeating: "]", count: 72), String(repeating: "]", count: 71) + "x"] {
      #expect(throws: WAMPProblem.malformedJSON) { try read("[36,1,2,{},\(deep)\(rest)") }
    }
    #expect(throws: WAMPProblem.malformedJSON) { try read(#"[36,1,2,{},\#(deep)}\#(arguments(70).suffix(70))]"#) }
    #expect(throws: WAMPProblem.malformed(.welcome)) { try read(#"[2,1,{"a":\#(arguments(70))}]"#) }
  }

  @Test func wordsAboutTheSessionHaveALimitAndPayloadsHaveNot() throws {
    let long = String(repeating: "x", count: WAMPReader.sessionLimit)
    for text in [#"[2,1,{"a":"\#(long)"}]"#, #"[3,{"message":"\#(long)"},"a.b"]"#, #"[4,"ticket",{"a":"\#(long)"}]"#] {
      #expect(throws: WAMPProblem.self) { try read(text) }
    }
    #expect(throws: Never.self) { try read(#"[36,1,2,{},["\#(long)"]]"#) }
  }
}
