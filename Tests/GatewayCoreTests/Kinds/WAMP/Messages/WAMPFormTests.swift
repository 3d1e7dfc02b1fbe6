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
}
