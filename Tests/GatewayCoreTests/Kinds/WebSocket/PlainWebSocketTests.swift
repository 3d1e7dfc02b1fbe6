import Testing

@testable import GatewayCore

@Suite struct PlainWebSocketTests {
  private let rig = DirectRig()

  private func problem(_ draft: MessageDraft) -> String? {
    do throws(MessageProblem) {
      _ = try PlainWebSocketMessage.prepare(draft)
      return nil
    } catch {
      return error.sentence
    }
  }

  @Test(arguments: [
    ("hello", #""hello""#), ("", #""""#), ("3", "3"), (#"{"a":1.50}"#, #"{"a":1.50}"#), (#""text""#, #""text""#),
    ("[1,\n 2]", "[1,  2]"), ("{broken", #""{broken""#), ("true", "true"), (" 7 ", "7"), ("a\"b\n", #""a\"b\n""#),
    (#"{"$bin":"x"}"#, #"{"$$bin":"x"}"#),
  ])
  func aTextIsItsJSONOrAString(_ text: String, _ argument: String) throws {
    let connection = try rig.open(DirectRig.socket)
    rig.transport.receive(text)
    #expect(connection.log.take() == [.event("\"message\"(\(argument))")])
  }

  @Test func binaryIsMarked() throws {
    let connection = try rig.open(DirectRig.socket)
    rig.transport.receive(binary: [1, 2, 255])
    #expect(connection.log.take() == [.event(#""message"({"$bin":"AQL/"})"#)])
  }

  @Test func whatIsNestedTooDeeplyIsAGap() throws {
    let connection = try rig.open(DirectRig.socket)
    rig.transport.receive(String(repeating: "[", count: 70) + String(repeating: "]", count: 70))
    #expect(connection.log.take() == [.dropped(.undecodable)])
  }

  @Test func aTextWhoseEscapesFitIntoNoLineIsToldAndNotWritten() throws {
    let connection = try rig.open(DirectRig.socket)
    connection.log.lineLimit = 200
    rig.transport.receive(String(repeating: "\u{1}", count: 33))
    rig.transport.receive(String(repeating: "\u{1}", count: 34))
    let longest = String(repeating: #"\u0001"#, count: 33)
    #expect(connection.log.take() == [.event("\"message\"(\"\(longest)\")"), .tooLong(#""message" of 206 bytes"#)])
    let controls = Array(repeating: UInt8(1), count: 1_000_000)
    let shown = PlainWebSocketMessage.withArgument(controls.span.bytes, limit: 1 << 20) { _ in
      Issue.record("it was written")
    }
    #expect(shown == .tooLong(6_000_002))
  }

  @Test func anArgumentMayHaveAsManyLevelsAsAProgramCanSend() throws {
    let connection = try rig.open(DirectRig.socket)
    func nested(_ levels: Int) -> String {
      String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
    }
    rig.transport.receive(nested(61), nested(62))
    #expect(connection.log.take() == [.event("\"message\"(\(nested(61)))"), .dropped(.undecodable)])
  }

  @Test func aTextOfManyBracketsThatIsNoJSONIsAString() throws {
    let connection = try rig.open(DirectRig.socket)
    let open = String(repeating: "[", count: 80)
    rig.transport.receive(open, open + "NaN" + String(repeating: "]", count: 80))
    let close = String(repeating: "]", count: 80)
    #expect(
      connection.log.take() == [.event("\"message\"(\"\(open)\")"), .event("\"message\"(\"\(open)NaN\(close)\")")])
  }

  @Test(arguments: [
    (#"["hello"]"#, "hello"), (#"["\"quoted\""]"#, #""quoted""#), ("[3]", "3"), ("[ {\"a\":1.50} ]", #"{"a":1.50}"#),
    (#"["\u00e9\n"]"#, "é\n"), (#"[{"$$bin":"x"}]"#, #"{"$bin":"x"}"#), ("[null]", "null"), (#"[""]"#, ""),
    (#"[{"$bin":"AQL/"}]"#, "<1 2 ff>"), (#"[{"$bin":""}]"#, "<>"),
  ])
  func theArgumentIsTheText(_ args: String, _ text: String) throws {
    let connection = try rig.open(DirectRig.socket)
    try connection.send("message", args)
    #expect(rig.transport.takeSent() == [text])
  }

  /// Whatever arrives can be sent back as it came, but for a JSON string, whose quotes a program has to repeat.
  @Test(arguments: ["hello", "3", "{\"a\":[1,2]}", "{broken", "", "tru", "\u{1f600}"])
  func whatArrivesCanBeSentBack(_ text: String) throws {
    let connection = try rig.open(DirectRig.socket)
    rig.transport.receive(text)
    guard case .event(let event) = connection.log.take().first else { return #expect(Bool(false)) }
    let argument = event.dropFirst(#""message"("#.count).dropLast()
    try connection.send("message", "[\(argument)]")
    #expect(rig.transport.takeSent() == [text])
  }

  @Test func whatCannotBeSaidIsRefusedWithAdvice() {
    let one = Array(#"["x"]"#.utf8)
    #expect(problem(MessageDraft(event: "chat", args: one))?.contains("send `message` with one argument") == true)
    #expect(problem(MessageDraft(event: "message", args: Array("[]".utf8)))?.contains("exactly one argument") == true)
    #expect(problem(MessageDraft(event: "message", args: Array("[1,2]".utf8)))?.contains("exactly one") == true)
    #expect(problem(MessageDraft(event: "message", args: one, kwargs: Array("{}".utf8)))?.contains("kwargs") == true)
    #expect(problem(MessageDraft(event: "message", args: one, purpose: .call))?.contains("use `send`") == true)
    #expect(problem(MessageDraft(event: "message", args: one, isAcknowledged: true))?.contains("retries") == true)
    #expect(problem(MessageDraft(event: "message", args: Array(#"[{"a":{"$bin":"AQ=="}}]"#.utf8))) != nil)
    #expect(problem(MessageDraft(event: "message", args: Array(#"["\ud800"]"#.utf8)))?.contains("surrogate") == true)
    #expect(problem(MessageDraft(event: "message", args: Array(#"[{"$bin":"?"}]"#.utf8)))?.contains("base64") == true)
  }

  @Test func whatWaitedForAnotherKindIsNotWritten() throws {
    let connection = try rig.open(DirectRig.socket)
    let foreign = PreparedMessage(event: "message", body: Array(#"["message",1]"#.utf8))
    #expect(connection.connector.check(foreign, acknowledged: false) != nil)
    let own = try connection.connector.prepare(MessageDraft(event: "message", args: Array("[1]".utf8)))
    #expect(connection.connector.check(own, acknowledged: false) == nil)
    #expect(SocketIOMessage.problem(withFormOf: own, parser: .json) != nil)
  }

  @Test func aSubprotocolThatIsOfferedHasToBeChosen() throws {
    let connection = try rig.connection(DirectRig.socket) { $0.websocket.subprotocols = ["a"] }
    rig.transport.open()
    guard case .ended(let failure) = connection.log.take().first else { return #expect(Bool(false)) }
    #expect(failure.reason == .incompatible)
  }

  @Test func whatMeansNothingIsRefused() {
    #expect(rig.problem(DirectRig.socket) == nil)
    #expect(rig.problem(DirectRig.socket) { $0.auth = .inline(Array("{}".utf8)) }?.contains("headers") == true)
    var url = DirectRig.socket
    url.fragment = "x"
    #expect(rig.problem(url)?.contains("fragment") == true)
    url = DirectRig.socket
    url.userInfo = "a:b"
    #expect(rig.problem(url) { $0.headers = [HTTPHeader(name: "Authorization", value: "x")] } != nil)
  }

  @Test func aMessageThatEndedTheLinkAsTooLargeIsNotWrittenAgain() throws {
    let connection = try rig.open(DirectRig.socket)
    let big = #"["\#(String(repeating: "x", count: 1_000))"]"#
    func prepared(_ args: String) throws -> PreparedMessage {
      try connection.connector.prepare(MessageDraft(event: "message", args: Array(args.utf8)))
    }
    let message = try prepared(big)
    connection.channel?.write(message, ack: nil)
    rig.transport.fail(UpstreamFailure(.closed, "the server closed the connection", status: 1_009))
    guard case .ended(let failure) = connection.log.take().last else { return #expect(Bool(false)) }
    #expect(failure.refusedSize == MessageSize(message).asLimit)
    let problem = connection.connector.check(message, acknowledged: false)
    #expect(problem == .tooLarge(limit: message.bodyCount - 1, size: message.bodyCount))
    #expect(throws: MessageProblem.self) { _ = try prepared(big) }
    #expect(connection.connector.check(try prepared(#"["small"]"#), acknowledged: false) == nil)
    rig.advance(.seconds(3_601))
    #expect(connection.connector.check(message, acknowledged: false) == nil)
  }
}

extension MessageSize {
  /// What is refused where a message of this body was.
  fileprivate var asLimit: MessageSize { MessageSize(body: body, attachment: body) }
}
