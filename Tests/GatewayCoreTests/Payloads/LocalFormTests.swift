import Testing

@testable import GatewayCore

private func fromServer(_ text: String, _ attachments: [[UInt8]] = []) -> Result<String, SocketIOFlaw> {
  let bytes = [UInt8](text.utf8)
  return Result { () throws(SocketIOFlaw) in
    var output: [UInt8] = []
    try SocketIOForm.write(
      fromServer: bytes.span.bytes, 0..<bytes.count, attachments: attachments, into: &output)
    return String(decoding: output, as: UTF8.self)
  }
}

private struct Written: Equatable {
  var text: String
  var attachments: [[UInt8]]
}

private func fromClient(_ text: String, limit: Int = 10) -> Result<Written, MessageProblem> {
  let bytes = [UInt8](text.utf8)
  return Result { () throws(MessageProblem) in
    var output: [UInt8] = []
    let attachments = try LocalForm.write(
      fromClient: bytes.span.bytes, 0..<bytes.count, attachmentLimit: limit, into: &output)
    return Written(text: String(decoding: output, as: UTF8.self), attachments: attachments)
  }
}

private func needsRewriting(_ text: String) -> Bool {
  let bytes = [UInt8](text.utf8)
  return LocalForm.needsRewriting(bytes.span.bytes, 0..<bytes.count)
}

/// User data that is escaped on the way in and loses the escape on the way out.
private let escaped: [(wire: String, local: String)] = [
  (#"{"$bin":1}"#, #"{"$$bin":1}"#),
  (#"{"$$bin":"AQ=="}"#, #"{"$$$bin":"AQ=="}"#),
  (#"{ "$bin" : [ {"$bin":{}} ] }"#, #"{ "$$bin" : [ {"$$bin":{}} ] }"#),
  (#"{"\u0024bin":1}"#, #"{"$\u0024bin":1}"#),
  (#"{"$\u0062\u0069n":1}"#, #"{"$$\u0062\u0069n":1}"#),
  (#"1,"$bin",[{"a":{"$bin":true}}],2"#, #"1,"$bin",[{"a":{"$$bin":true}}],2"#),
  (#"{"$bin":1,"$bin":2}"#, #"{"$$bin":1,"$$bin":2}"#),
]

/// What is handed on untouched in both directions.
private let untouched = [
  "", "1", #""$bin""#, #"{"$bin":1,"a":2}"#, #"{"a":2,"$bin":1}"#, #"{"$bin":1,"$$bin":2}"#, #"{"bin":1}"#,
  #"{"$":1}"#, #"{"$binary":1}"#, #"{"a$bin":1}"#, #"{"$Bin":1}"#, #"{"":{"$":"$bin"}}"#, #"["$bin",{"x":"\"$bin"}]"#,
  #"{"_placeholder":true,"num":0}"#, #""\\","\"","$5.00","é\u20ac""#, #"{"$\u0042in":1}"#, "{},[],[{}]",
  #"{"\\$bin":1}"#, #"{"$bin\u0000":1}"#,
]

@Test func userKeysThatLookLikeBinaryAreEscapedOnTheWayInAndRestoredOnTheWayOut() {
  for (wire, local) in escaped {
    #expect(needsRewriting(wire), "\(wire)")
    #expect(fromServer(wire) == .success(local), "\(wire)")
  }
  for (wire, local) in escaped where wire != #"{"\u0024bin":1}"# {
    #expect(fromClient(local) == .success(Written(text: wire, attachments: [])), "\(local)")
  }
  #expect(
    fromClient(#"{"\u0024$bin":1}"#) == .success(Written(text: #"{"$bin":1}"#, attachments: [])),
    "an escaped dollar is a dollar")
}

@Test func everythingElsePassesUntouched() {
  for text in untouched {
    #expect(fromServer(text) == .success(text), "\(text)")
    #expect(fromClient(text) == .success(Written(text: text, attachments: [])), "\(text)")
  }
}

@Test func ordinaryPayloadsNeedNoRewriting() {
  for text in ["", #"1,{"price":"$5","path":"a\\b\n","u":"\u00e9"}"#, #""$","$$","$5b""#, "\t1"] {
    #expect(!needsRewriting(text), "\(text)")
  }
}

@Test func lookFindsAKeyAtEveryAlignment() {
  for padding in 0..<20 {
    let space = String(repeating: " ", count: padding)
    for text in [#"{"$bin":1}"#, #"{"\u0024bin":1}"#, #"{"$\u0062in":1}"#, "1,\n2", "1,\r2"] {
      #expect(needsRewriting(space + text + space), "\(padding) \(text)")
    }
  }
}

@Test func lineEndsBetweenTokensBecomeSpaces() {
  #expect(fromServer("1,\r\n2,[\n]") == .success("1,  2,[ ]"))
  #expect(fromServer("1\n,{\"_placeholder\":true,\n\"num\":0}", [[]]) == .success(#"1 ,{"$bin":""}"#))
}

@Test func placeholdersBecomeBase64() {
  let attachments: [[UInt8]] = [[1, 2, 3, 4], [], [255]]
  let table: [(String, String)] = [
    (
      #"{"_placeholder":true,"num":0},{"a":[{"num":2,"_placeholder":true}]},{"_placeholder": true , "num" : 1 }"#,
      #"{"$bin":"AQIDBA=="},{"a":[{"$bin":"/w=="}]},{"$bin":""}"#
    ),
    (#"{"_placeholder":true,"num":0,"more":{"$bin":1}}"#, #"{"$bin":"AQIDBA=="}"#),
    (#"{"\u005fplaceholder":true,"n\u0075m":2}"#, #"{"$bin":"/w=="}"#),
    (
      #"{"_placeholder":false,"num":9},{"_placeholder":"true"}"#,
      #"{"_placeholder":false,"num":9},{"_placeholder":"true"}"#
    ),
    (#"{"$bin":{"_placeholder":true,"num":0}}"#, #"{"$$bin":{"$bin":"AQIDBA=="}}"#),
  ]
  for (wire, local) in table { #expect(fromServer(wire, attachments) == .success(local), "\(wire)") }
}

@Test func placeholdersThatMatchNoAttachmentAreRefused() {
  for text in [
    #"{"_placeholder":true,"num":1}"#, #"{"_placeholder":true,"num":"0"}"#, #"{"_placeholder":true,"num":-1}"#,
    #"{"_placeholder":true}"#, #"{"_placeholder":true,"num":0.5}"#, #"{"_placeholder":true,"num":null}"#,
    #"{"_placeholder":true,"num":99999999999999999999}"#,
  ] {
    #expect(fromServer(text, [[7]]) == .failure(.malformedPlaceholder), "\(text)")
  }
}

/// Kinds without attachments write the same as the one with them does without any.
@Test(arguments: [
  #"{"$bin":"AQ=="}"#, #"[{"a":[{"$$bin":1}]},{"\u0024bin":{}}]"#, "[1,\n 2]", "{\"$bin\":\r\n1}",
  #"{"_placeholder":true,"$bin":0}"#,
])
func plainFormIsThatWithoutAttachments(_ text: String) {
  let bytes = [UInt8](text.utf8)
  let plain = LocalForm.plain(fromServer: bytes.span.bytes, 0..<bytes.count).map { String(decoding: $0, as: UTF8.self) }
  #expect(plain.map { Result.success($0) } == fromServer(text))
}

@Test func anAttachmentMayStandInSeveralPlaces() {
  #expect(
    fromServer(#"{"_placeholder":true,"num":0},[{"_placeholder":true,"num":0}]"#, [[1, 2, 3, 4]])
      == .success(#"{"$bin":"AQIDBA=="},[{"$bin":"AQIDBA=="}]"#))
}

@Test func manyCopiesOfAnAttachmentAreTooLarge() {
  let copies = Array((0..<100).map { _ in #"{"_placeholder":true,"num":0}"# }.joined(separator: ",").utf8)
  var output: [UInt8] = []
  #expect(throws: SocketIOFlaw.tooManyCopies(limit: 50_000)) {
    try SocketIOForm.write(
      fromServer: copies.span.bytes, 0..<copies.count, attachments: [[UInt8](repeating: 7, count: 1_000)],
      byteLimit: 50_000, into: &output)
  }
}

@Test func binaryValuesBecomePlaceholdersInOrder() {
  #expect(
    fromClient(#"{"$bin":"AQ=="},[{"a":{ "$bin" : "" }},{"\u0024bin":"\u0041gM="}],{"$$bin":"x"}"#)
      == .success(
        Written(
          text:
            #"{"_placeholder":true,"num":0},[{"a":{"_placeholder":true,"num":1}},{"_placeholder":true,"num":2}],{"$bin":"x"}"#,
          attachments: [[1], [], [2, 3]])))
}

@Test func malformedBinaryValuesAreRefused() {
  let notString = MessageProblem.invalid(#"the value of "$bin" must be a string of base64"#)
  let notBase64 = MessageProblem.invalid(#"the value of "$bin" is not canonical base64 with padding"#)
  for text in [
    #"{"$bin":5}"#, #"{"$bin":null}"#, #"{"$bin":["AQ=="]}"#, #"{"$bin":"AQ==","$bin":"AQ=="}"#,
  ] {
    #expect(fromClient(text) == .failure(notString), "\(text)")
  }
  for text in [#"{"$bin":"AQ"}"#, #"{"$bin":"AQ=\n="}"#, #"{"$bin":"A-_="}"#, #"{"$bin":"AR=="}"#, #"{"$bin":"é"}"#] {
    #expect(fromClient(text) == .failure(notBase64), "\(text)")
  }
}

@Test func binaryValuesAreLimitedInNumber() {
  let two = #"{"$bin":""},{"$bin":""}"#
  #expect(fromClient(two, limit: 1) == .failure(.invalid("a message may hold at most 1 binary values")))
  #expect((try? fromClient(two, limit: 2).get())?.attachments == [[], []])
}

@Test func dataThatImitatesAPlaceholderIsRefusedNextToBinary() {
  let imitation = #"{"_placeholder":true,"num":0}"#
  let refusal = MessageProblem.invalid(
    "a message with binary values must not use the key _placeholder, which servers would replace")
  #expect(fromClient(imitation + #",{"$bin":""}"#) == .failure(refusal))
  #expect(fromClient(#"{"$bin":""},"# + imitation) == .failure(refusal))
  #expect(fromClient(imitation) == .success(Written(text: imitation, attachments: [])))
}

@Test func whatWentOutComesBackTheSame() {
  let samples = untouched + escaped.map(\.local) + [#"{"$bin":"AQ=="}"#, #"[{"a":{"$bin":""}},{"$$$bin":1}]"#]
  for text in samples where !text.contains("_placeholder") && !text.contains(#"\u0024b"#) {
    guard case .success(let written) = fromClient(text) else {
      Issue.record("\(text) was refused")
      continue
    }
    #expect(fromServer(written.text, written.attachments) == .success(text), "\(text)")
  }
}
