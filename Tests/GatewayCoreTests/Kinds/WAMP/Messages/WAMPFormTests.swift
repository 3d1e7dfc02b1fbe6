import Testing

@testable import GatewayCore

private func fromRouter(_ text: String) -> String {
  let bytes = Array(text.utf8)
  var output: [UInt8] = []
  WAMPForm.write(fromRouter: bytes.span.bytes, 0..<bytes.count, into: &output)
  return String(decoding: output, as: UTF8.self)
}

private func fromClient(_ text: String) throws(MessageProblem) -> String {
  let bytes = Array(text.utf8)
  var output: [UInt8] = []
  try WAMPForm.write(fromClient: bytes.span.bytes, 0..<bytes.count, into: &output)
  return String(decoding: output, as: UTF8.self)
}

@Suite struct WAMPFormTests {
  @Test(arguments: [
    (#"["\u0000AQID"]"#, #"[{"$bin":"AQID"}]"#),
    (#"{"a":"\u0000","b":["\u0000AA=="]}"#, #"{"a":{"$bin":""},"b":[{"$bin":"AA=="}]}"#),
    (#"["\u0000\/\/\/\/"]"#, #"[{"$bin":"////"}]"#),
    (#"[{"x":"\u0000AQID","\u0000AQID":1}]"#, #"[{"x":{"$bin":"AQID"},"\u0000AQID":1}]"#),
  ])
  func binaryGoesBothWays(_ wire: String, _ local: String) throws {
    #expect(fromRouter(wire) == local)
    if !wire.contains("/") { #expect(try fromClient(local) == wire) }
  }

  @Test(arguments: [
    (#"[{"$bin":1}]"#, #"[{"$$bin":1}]"#), (#"[{"$$bin":"x"}]"#, #"[{"$$$bin":"x"}]"#),
    (#"[{"$bin":{"$bin":"\u0000AQID"}}]"#, #"[{"$$bin":{"$$bin":{"$bin":"AQID"}}}]"#),
  ])
  func aUsersOwnKeyIsEscaped(_ wire: String, _ local: String) throws {
    #expect(fromRouter(wire) == local)
    #expect(try fromClient(local) == wire)
  }

  @Test(arguments: [
    #"["a\u0000AQID"]"#, #"["\u0000A"]"#, #"["\u0000not base64"]"#, #"["\"\u0000AQID"]"#, #"[1,2.50,"é\u00e9"]"#,
    #"["\\\u0000"]"#,
  ])
  func everythingElseStaysAsItIs(_ text: String) { #expect(fromRouter(text) == text) }

  @Test func lineEndsBecomeSpaces() {
    #expect(fromRouter("[1,\r\n\"\\u0000AQID\"\n]") == "[1,  {\"$bin\":\"AQID\"} ]")
  }

  @Test func aClientsStringThatImitatesBinaryIsRefused() {
    #expect(throws: MessageProblem.self) { try fromClient(#"["\u0000AQID"]"#) }
    #expect(throws: MessageProblem.self) { try fromClient(#"[{"k":"\u0000"}]"#) }
  }

  @Test func malformedBinaryOfAClientIsRefused() {
    #expect(throws: MessageProblem.self) { try fromClient(#"[{"$bin":"A"}]"#) }
    #expect(throws: MessageProblem.self) { try fromClient(#"[{"$bin":1}]"#) }
  }

  @Test(arguments: [#"["a\u0000AQID",{"\u0000k":1}]"#, "[ 1.0 ]"])
  func whatHoldsNoBinaryIsSentAsItIs(_ text: String) throws { #expect(try fromClient(text) == text) }

  @Test(arguments: [
    (#"["\u0000AQI\u0044"]"#, #"[{"$bin":"AQID"}]"#),
    (#"["\u0000\/\/\/\/","\u0000\/w=="]"#, #"[{"$bin":"////"},{"$bin":"/w=="}]"#),
    (#"["\u0000\/AA=","\u0000A\/=="]"#, #"[{"$bin":"/AA="},"\u0000A\/=="]"#),
  ])
  func base64ThatIsEscapedIsWrittenAsItIsMeant(_ wire: String, _ local: String) { #expect(fromRouter(wire) == local) }

  @Test(arguments: [
    #"["\u0000AQID\u00e9"]"#, #"["\u0000\/\/\/\/é"]"#, #"["\u0000\ud800"]"#, #"["\u0000\/\/\/\/\ud83d\ude00"]"#,
    #"["\u0000AQI\u0044\u0000"]"#,
  ])
  func whatIsNoBase64BehindAnEscapeStaysAsItIs(_ text: String) { #expect(fromRouter(text) == text) }

  @Test func aClientsBase64MayBeEscapedAndSetOff() throws {
    #expect(try fromClient(#"[{"$bin":"AQI\u0044"},{ "$bin" : "\/w==" } ]"#) == #"["\u0000AQID","\u0000/w==" ]"#)
    #expect(try fromClient(#"[ {"\u0024bin" : ""}]"#) == #"[ "\u0000"]"#)
    #expect(throws: LocalForm.noBase64) { try fromClient(#"[{"$bin":"AQID\u00e9"}]"#) }
    #expect(throws: LocalForm.noBase64) { try fromClient(#"[{"$bin":"\/AQ"}]"#) }
  }

  /// A value as a router writes it, and in the local form.
  private struct Forms {
    var wire: String
    var local: String

    private static let same = [
      "1", "null", #""""#, #""$bin""#, #""a\u0000AQID""#, #""\\u0000AQID""#, #""\u0000A""#, #""\u0000\u00e9""#,
      #""\u0000!AAA""#, #""\u0000\/AA""#, "{}", "[]", #"{"\u0000AQID":1}"#, #"{"$bin":1,"a":2}"#, #"{"$\u0042in":1}"#,
    ].map { Forms(wire: $0, local: $0) }
    private static let binaries = ["", "AQID", "AA==", "AQI=", "AQIDBAUGBwgJ"].map {
      Forms(wire: #""\u0000\#($0)""#, local: #"{"$bin":"\#($0)"}"#)
    }
    private static let escaped = [(#"\/\/\/\/"#, "////"), (#"\u0041A=="#, "AA==")].map {
      Forms(wire: #""\u0000\#($0)""#, local: #"{"$bin":"\#($1)"}"#)
    }

    /// `isPlain` leaves out what does not come back as it was.
    static func random(_ random: FakeRandom, depth: Int, isPlain: Bool) -> Forms {
      func pick(_ forms: [Forms]) -> Forms { forms[Int(random.bits() % UInt64(forms.count))] }
      switch random.bits() % (depth == 0 ? 4 : 8) {
      case 0: return isPlain ? pick(binaries) : pick(same)
      case 1: return isPlain ? pick(binaries) : pick(escaped)
      case 2, 3: return pick(binaries)
      case 4, 5:
        let inner = Self.random(random, depth: depth - 1, isPlain: isPlain)
        let key = String(repeating: "$", count: 1 + Int(random.bits() % 3)) + "bin"
        return Forms(wire: #"{"\#(key)": \#(inner.wire)}"#, local: #"{"$\#(key)": \#(inner.local)}"#)
      case 6:
        let inner = Self.random(random, depth: depth - 1, isPlain: isPlain)
        return Forms(wire: #"{"a":\#(inner.wire),"$bin":0}"#, local: #"{"a":\#(inner.local),"$bin":0}"#)
      default:
        let inner = (0..<random.bits() % 5).map { _ in Self.random(random, depth: depth - 1, isPlain: isPlain) }
        return Forms(
          wire: "[\(inner.map(\.wire).joined(separator: " ,"))]",
          local: "[\(inner.map(\.local).joined(separator: " ,"))]")
      }
    }
  }

  @Test func anyPayloadIsTheSameValueInBothForms() throws {
    let random = FakeRandom(seed: 7)
    for round in 0..<3_000 {
      let isPlain = round % 2 == 0
      let values = (0..<4).map { _ in Forms.random(random, depth: 5, isPlain: isPlain) }
      let wire = values.map(\.wire).joined(separator: ",")
      let local = values.map(\.local).joined(separator: ",")
      #expect(fromRouter(wire) == local)
      if isPlain { #expect(try fromClient(local) == wire) }
    }
  }
}
