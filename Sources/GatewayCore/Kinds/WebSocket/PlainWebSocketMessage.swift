/// Between the one argument of an event `message` and what travels: a text that is JSON is that JSON, any other text is
/// a string, and binary is `$bin`. On the way up a string travels as it is, so that every text can be sent. Decision
/// 0051.
enum PlainWebSocketMessage {
  /// The only event that there is.
  static let event = "message"
  static let noAnswers = MessageProblem.invalid(
    "a plain WebSocket has no answers: use `send` without `retries`, and subscribe to `message` for what comes back")
  /// In front of a body: it shows which kind of upstream a message was prepared for, also after a restart.
  private static let mark = UInt8(ascii: "T")

  static func prepare(_ draft: MessageDraft) throws(MessageProblem) -> PreparedMessage {
    guard draft.purpose == .event, !draft.isAcknowledged else { throw noAnswers }
    guard draft.event == event else {
      throw .invalid("a plain WebSocket knows no events: send `message` with one argument, not '\(draft.event)'")
    }
    guard draft.kwargs == nil else { throw .invalid("a plain WebSocket has no keyword arguments: leave `kwargs` out") }
    let args = draft.args.span.bytes
    guard let elements = JSONScanner.elements(args, atMost: 1), elements.count == 1 else {
      throw .invalid("a message of a plain WebSocket is exactly one argument: text, JSON, or {\"$bin\":…}")
    }
    if let bytes = try LocalForm.binary(args, elements[0]) {
      return PreparedMessage(event: event, body: [mark], attachments: [bytes])
    }
    var body = [mark]
    if JSONScanner.byte(args, elements[0].lowerBound) == UInt8(ascii: "\"") {
      let text = JSONScanner.decodeBytes(args, elements[0])
      guard text.wellFormed else { throw .invalid("the text holds half a surrogate pair, which is no character") }
      body += text.bytes
    } else {
      try LocalForm.writePlain(fromClient: args, elements[0], into: &body)
    }
    return PreparedMessage(event: event, body: body)
  }

  /// Whether a message waited while its upstream became a plain WebSocket.
  static func problem(withFormOf message: PreparedMessage) -> MessageProblem? {
    guard message.event == event, message.body.first == mark else {
      return .outdated("the upstream became a plain WebSocket while this waited, which was written for something else")
    }
    return nil
  }

  /// What became of a text of the server.
  enum Shown: Equatable {
    case argument
    /// It is a string of so many bytes, which is longer than a line and was not written.
    case tooLong(Int)
    /// It is JSON that cannot be shown, as it is nested too deeply.
    case tooDeep
  }

  /// Hands on the argument that a text of the server is, where that is no string of more than `limit` bytes.
  static func withArgument(_ text: RawSpan, limit: Int, _ body: (RawSpan) -> Void) -> Shown {
    do {
      LocalForm.withPlain(fromServer: text, try JSONScanner.validate(text, depth: LineDepth.argumentLimit), body)
      return .argument
    } catch {
      if case .depth = error, JSONScanner.isJSON(atAnyDepth: text) { return .tooDeep }
    }
    var argument: [UInt8] = []
    guard argument.append(string: text, within: limit) else { return .tooLong(JSONEscapes.count(text) + 2) }
    body(argument.span.bytes)
    return .argument
  }

  /// Hands on the argument that a binary message is.
  static func withArgument(binary: RawSpan, _ body: (RawSpan) -> Void) {
    var argument = Array(#"{"$bin":""#.utf8)
    Base64.encode(binary, into: &argument)
    argument.append(contentsOf: #""}"#.utf8)
    body(argument.span.bytes)
  }
}
