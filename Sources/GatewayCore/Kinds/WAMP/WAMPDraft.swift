/// Turns what local programs say into the bodies of messages, and refuses whatever a router would end the session for.
///
/// A body begins with a letter that says what it is; what depends on the moment of writing, ids and options, comes
/// later.
enum WAMPDraft {
  /// What a body is.
  enum Kind: UInt8, Equatable, Sendable {
    /// The topic and the payload of a PUBLISH.
    case publish = 0x50
    /// The procedure and the payload of a CALL.
    case call = 0x43
    /// The payload of a YIELD.
    case yield = 0x59
    /// The URI and the payload of an ERROR.
    case error = 0x45
  }

  static func message(_ draft: MessageDraft) throws(MessageProblem) -> PreparedMessage {
    let kind = draft.purpose == .call ? Kind.call : .publish
    if let problem = WAMPURI.problem(draft.event) { throw .invalid("the event name of a WAMP upstream \(problem)") }
    if kind == .publish, WAMPURI.isReserved(draft.event) {
      throw .invalid("names that begin with wamp. are reserved for the router")
    }
    let payload = try payload(draft.args, draft.kwargs)
    return PreparedMessage(event: draft.event, body: [kind.rawValue] + payload.body(after: draft.event))
  }

  static func answer(_ draft: AnswerDraft) throws(MessageProblem) -> PreparedMessage {
    let payload = try payload(draft.args, draft.kwargs)
    guard let error = draft.error else {
      return PreparedMessage(event: "", body: [Kind.yield.rawValue] + payload.tail)
    }
    if let problem = WAMPURI.problem(error) { throw .invalid("the error of a WAMP upstream \(problem)") }
    return PreparedMessage(event: "", body: [Kind.error.rawValue] + payload.body(after: error))
  }

  /// What a body is, and where it begins; nil for one that another kind of upstream prepared.
  static func read(_ message: PreparedMessage) -> (kind: Kind, body: ArraySlice<UInt8>)? {
    message.body.first.flatMap(Kind.init(rawValue:)).map { ($0, message.body.dropFirst()) }
  }

  private static func payload(_ args: [UInt8], _ kwargs: [UInt8]?) throws(MessageProblem) -> WAMPWriter.Payload {
    var payload = WAMPWriter.Payload()
    let text = args.span.bytes
    guard let inside = WAMPForm.inside(text, 0..<args.count) else { throw .invalid("args must be an array") }
    try IntegerDigits.check(text, inside)
    try WAMPForm.write(fromClient: text, inside, into: &payload.arguments)
    guard let kwargs else { return payload }
    let keywords = kwargs.span.bytes
    guard JSONScanner.byte(keywords, 0) == UInt8(ascii: "{") else { throw .invalid("kwargs must be an object") }
    guard WAMPForm.inside(keywords, 0..<kwargs.count)?.isEmpty == false else { return payload }
    try IntegerDigits.check(keywords, 0..<kwargs.count)
    try WAMPForm.write(fromClient: keywords, 0..<kwargs.count, into: &payload.keywords)
    // `$bin` means one binary value: as the whole of it, no object is left, for which a router would end the session.
    guard payload.keywords.first == UInt8(ascii: "{") else {
      throw .invalid("kwargs must be an object, and not {\"$bin\":…} alone, which is one binary value")
    }
    return payload
  }
}
