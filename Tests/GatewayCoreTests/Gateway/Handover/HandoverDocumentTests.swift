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
          HandoverDocument.Call(line: Array("{}".utf8), isNotification: true),
          HandoverDocument.Call(
            line: Array("{}".utf8),
            withheld: [
              ExactText("a \"b\""): Backlog.Gap(epoch: "e", range: 2...7, count: 3, reason: .expired),
              ExactText("c"): Backlog.Gap(epoch: "f", range: 1...1, count: nil, reason: .expired),
            ]),
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

  @Test func whatALaterVersionAddedIsSkipped() throws {
    let text = #"""
      {"gatewayd":1,"handovers":2,"last_token":5,"moon":"full"}
      {"weather":{"rain":true}}
      {"socket":4,"output":"e30K","tide":[1],"calls":[{"line":"{}","colour":"red"}]}

      """#
    let client = HandoverDocument.Client(
      socket: 4, name: nil, since: nil, nextSubscription: 1, nextTrace: 1, input: [], output: Array("{}\n".utf8),
      isClosing: false, calls: [HandoverDocument.Call(line: Array("{}".utf8))])
    #expect(
      try Self.read(Array(text.utf8), piece: 7) == [
        .header(HandoverDocument.Header(handovers: 2, lastToken: 5)), .client(client),
      ])
  }

  @Test func whatAnEarlierVersionDidNotHaveIsAsItWasThere() throws {
    let text = "{\"gatewayd\":1}\n" + #"{"socket":4,"output":""}"# + "\n"
    let client = HandoverDocument.Client(
      socket: 4, name: nil, since: nil, nextSubscription: 1, nextTrace: 1, input: [], output: [], isClosing: false,
      calls: [])
    #expect(
      try Self.read(Array(text.utf8), piece: 7) == [
        .header(HandoverDocument.Header(handovers: 0, lastToken: 0)), .client(client),
      ])
  }

  /// The documents that released versions left, each by what stands in it of its clients.
  @Test(arguments: ["1.0.0", "1.1.0"]) func clientsOfAReleasedVersionGoOnWithThisOne(_ version: String) throws {
    let root = #filePath.split(separator: "/").dropLast(4).map { "/" + $0 }.joined()
    let text = try #require(contents(of: "\(root)/Versions/\(version)/handover.jsonl"))
    let found = try Self.read(text, piece: 100)
    let harness = GatewayHarness { $0.upstreams["away"] = $0.upstreams["chat"] }
    var clients: [HarnessClient] = []
    for entry in found {
      switch entry {
      case .header(let header): harness.gateway.takeOver(header)
      case .key(let key): harness.gateway.takeOver(key)
      case .client(let client):
        clients.append(harness.client(uid: 0))
        clients.last?.session?.takeOver(client)
        if client.name == "kept/1" { #expect(client.input == Array(#"{"jsonrpc":"2.0","id":"half","meth"#.utf8)) }
      case .leftOver: Issue.record("a client that cannot go on")
      }
    }
    #expect(harness.gateway.handoverHeader.handovers == 2)
    let sessions = clients.compactMap(\.session)
    #expect(sessions.map(\.name) == ["kept/1", nil])
    #expect(sessions.map { $0.subscriptions.all.map(\.subscription.id).sorted() } == [["mine", "s1"], []])
    #expect(sessions.map { ($0.traces?.all ?? []).map(\.id).sorted() } == [[], ["t1"]])
    #expect(sessions[0].openCallCount == 1 && sessions[0].subscriptions["mine"]?.subscription.credit == 6)
    #expect(harness.gateway.relay.keys.handOver(now: harness.time.now).map(\.key) == ["once"])
    #expect(clients.map(\.isConnected) == [true, true])
  }

  @Test func aNumberThatCannotBeCountedOnEndsNoDaemon() {
    let line = #"{"gatewayd":\#(HandoverDocument.version),"handovers":18446744073709551615,"last_token":0}"# + "\n"
    var reader = HandoverReader()
    #expect(throws: HandoverReader.Problem(message: "handovers in it is too large")) {
      reader.append(line.utf8Span.span.bytes) { _ in }
      try reader.finish()
    }
  }

  @Test(arguments: [
    #"{"event":"a","epoch":"e","from":3,"to":2}"#, #"{"event":"a","epoch":"e","from":0,"to":2}"#,
    #"{"event":"a","epoch":"e","from":1,"to":18446744073709551615}"#, #"{"event":"a","epoch":"e","from":1}"#,
    #"{"event":"a","epoch":"e","from":1,"to":2,"count":4294967296}"#, #"{"event":7,"epoch":"e","from":1,"to":2}"#, "7",
  ])
  func damagedNumbersOfWithheldEventsEndNoDaemon(_ damaged: String) {
    let text =
      "{\"gatewayd\":1}\n" + #"{"socket":4,"output":"","calls":[{"line":"{}","withheld":[\#(damaged)]}]}"# + "\n"
    var reader = HandoverReader()
    var found: [HandoverDocument.Entry] = []
    reader.append(text.utf8Span.span.bytes) { found.append($0) }
    #expect(found.last == .leftOver(HandoverDocument.LeftOver(socket: 4, output: [])) && found.count == 2)
    #expect(throws: HandoverReader.Problem.self) { try reader.finish() }
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
