import Testing

@testable import GatewayCore

@Suite struct HandoverDocumentTests {
  private static let entries: [HandoverDocument.Entry] = [
    .header(HandoverDocument.Header(handovers: 3, lastToken: 812)),
    .key(
      HandoverDocument.Key(
        key: "k", uid: 7, connection: .max, target: nil, id: "c1", fingerprint: 1, state: "accepted",
        age: .milliseconds(8))),
    .key(
      HandoverDocument.Key(
        key: "k2", uid: 7, connection: 0, target: CallTarget(name: .url("http://a"), namespace: "/n"), id: "c2",
        fingerprint: .max, state: "sent", age: .zero)),
    .client(
      HandoverDocument.Client(
        socket: 0, name: nil, since: 1_795_232_601_218, nextSubscription: 1, nextTrace: 1, input: [], output: [],
        isClosing: false, calls: [])),
    .client(
      HandoverDocument.Client(
        socket: 1, name: "a \"name\"\n", since: 7, nextSubscription: 9, nextTrace: 4, input: Array(0...255),
        output: Array("{}\n{\"half".utf8), isClosing: true,
        calls: [
          HandoverDocument.Call(line: Array(#"{"method":"x","params":{"auth":{"k":"\ud800"}}}"#.utf8)),
          HandoverDocument.Call(line: Array("{}".utf8), number: 5),
        ])),
  ]

  private static func read(_ text: [UInt8], piece: Int) throws(HandoverReader.Problem) -> [HandoverDocument.Entry] {
    var reader = HandoverReader()
    var found: [HandoverDocument.Entry] = []
    for start in stride(from: 0, to: text.count, by: piece) {
      reader.append(Array(text[start..<min(start + piece, text.count)]).span.bytes) { found.append($0) }
    }
    try reader.finish()
    return found
  }

  @Test(arguments: [1, 7, 64, 100_000]) func whatIsWrittenIsReadHoweverItIsCut(_ piece: Int) throws {
    let text = Self.entries.flatMap(HandoverDocument.line)
    #expect(try Self.read(text, piece: piece) == Self.entries)
  }

  @Test func anotherVersionIsRefused() {
    let text = String(decoding: HandoverDocument.line(Self.entries[0]), as: UTF8.self)
    let newer = text.split(separator: "1", maxSplits: 1).joined(separator: "2")
    #expect(throws: HandoverReader.Problem(message: "its version is 2, and this daemon reads 1")) {
      try Self.read(Array(newer.utf8), piece: 1_000)
    }
    #expect(throws: HandoverReader.Problem(message: "it has no version")) {
      try Self.read(HandoverDocument.line(Self.entries[3]), piece: 1_000)
    }
  }

  @Test func aNumberThatCannotBeCountedOnEndsNoDaemon() {
    let line = #"{"gatewayd":\#(HandoverDocument.version),"handovers":18446744073709551615,"last_token":0}"# + "\n"
    var reader = HandoverReader()
    #expect(throws: HandoverReader.Problem(message: "handovers in it is too large")) {
      reader.append(line.utf8Span.span.bytes) { _ in }
      try reader.finish()
    }
  }

  private static let leftOver: [HandoverDocument.Entry] = [
    .leftOver(HandoverDocument.LeftOver(socket: 0, output: [])),
    .leftOver(HandoverDocument.LeftOver(socket: 1, output: Array("{}\n{\"half".utf8))),
  ]

  @Test(arguments: [1, 7, 100_000]) func ofWhatStandsBehindADamagedLineOnlyTheOutputIsUsed(_ piece: Int) throws {
    let lines = Self.entries.map(HandoverDocument.line)
    let text = lines[0] + lines[1].dropLast(5) + [UInt8(ascii: "\n")] + lines[2...].flatMap { $0 }
    var reader = HandoverReader()
    var found: [HandoverDocument.Entry] = []
    for start in stride(from: 0, to: text.count, by: piece) {
      reader.append(Array(text[start..<min(start + piece, text.count)]).span.bytes) { found.append($0) }
    }
    #expect(found == [Self.entries[0]] + Self.leftOver)
    #expect(throws: HandoverReader.Problem(message: "it is no JSON")) { try reader.finish() }
  }

  @Test func ofAnotherVersionTheOutputIsUsed() {
    let newer = Array(#"{"gatewayd":\#(HandoverDocument.version + 1)}"#.utf8) + [UInt8(ascii: "\n")]
    var reader = HandoverReader()
    var found: [HandoverDocument.Entry] = []
    reader.append((newer + Self.entries[1...].flatMap(HandoverDocument.line)).span.bytes) { found.append($0) }
    #expect(found == Self.leftOver)
  }

  @Test func aDocumentThatIsCutOffGivesWhatCameBefore() {
    let text = Self.entries.flatMap(HandoverDocument.line)
    var reader = HandoverReader()
    var found: [HandoverDocument.Entry] = []
    #expect(throws: HandoverReader.Problem(message: "it is not complete")) {
      reader.append(Array(text.dropLast(3)).span.bytes) { found.append($0) }
      try reader.finish()
    }
    #expect(found == Array(Self.entries.dropLast()))
    #expect(throws: HandoverReader.Problem.self) { try HandoverReader().finish() }
  }
}
