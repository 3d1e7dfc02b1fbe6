/// What a router sent that WAMP does not allow. Each of them ends the session with ABORT
/// `wamp.error.protocol_violation` (WAMP section "Protocol Violations").
enum WAMPProblem: Error, Equatable, Sendable {
  /// Not a JSON text, or not strict UTF-8.
  case malformedJSON
  /// A JSON text that is no array beginning with a message type.
  case noMessage
  /// A binary message, though JSON was agreed upon.
  case binary
  /// A message type that WAMP does not know.
  case unknownType(Int64)
  /// An array with too few or too many elements, or with an element of the wrong kind.
  case malformed(WAMPCode)
  /// A message that only clients send.
  case clientsOnly(WAMPCode)
  /// A message that has no place before, in, or after the session.
  case misplaced(WAMPCode)
  /// An answer to a request that was never made, or was answered before.
  case unasked(WAMPCode, UInt64)
  /// An ERROR for a request of another type.
  case wrongRequestType(WAMPCode, UInt64)
  /// A message for a subscription or a registration that this session does not have.
  case unknownID(WAMPCode, UInt64)
  /// An id that stands for something else already.
  case repeatedID(WAMPCode, UInt64)
  /// A message about the session itself with more words than are read, in bytes.
  case oversized(WAMPCode, limit: Int)
  /// More rounds of authentication than a session may need.
  case tooManyChallenges(limit: Int)

  /// One sentence without payloads.
  var sentence: String {
    switch self {
    case .malformedJSON: "the router sent a message that is no JSON"
    case .noMessage: "the router sent JSON that is no WAMP message"
    case .binary: "the router sent a binary message, though wamp.2.json was agreed upon"
    case .unknownType(let code): "the router sent a message of the unknown type \(code)"
    case .malformed(let code): "the router sent a malformed \(code.word)"
    case .oversized(let code, let limit): "the router sent \(code.word) with more than \(limit) bytes"
    case .clientsOnly(let code): "the router sent \(code.word), which only clients send"
    case .misplaced(let code): "the router sent \(code.word) at a time when it has no place"
    case .unasked(let code, let id): "the router sent \(code.word) for request \(id), which is not waiting for it"
    case .wrongRequestType(let code, let id):
      "the router sent ERROR for \(code.word) \(id), but that request is of another type"
    case .unknownID(.invocation, let id): "the router sent INVOCATION for the unknown registration \(id)"
    case .unknownID(let code, let id): "the router sent \(code.word) for the unknown subscription \(id)"
    case .repeatedID(let code, let id): "the router sent \(code.word) with the id \(id), which is already in use"
    case .tooManyChallenges(let limit): "the router sent more than \(limit) CHALLENGE messages"
    }
  }

  /// As the end of a session.
  var failure: UpstreamFailure { UpstreamFailure(.protocolError, sentence) }
}

/// What the end of a session, or a refusal within it, means for programs and people.
enum WAMPFailure {
  /// ABORT. Before WELCOME it is a refusal, unless the router says that it is leaving.
  static func aborted(_ text: RawSpan, details: Range<Int>, reason: Range<Int>, isJoined: Bool) -> UpstreamFailure {
    let uri = JSONScanner.decodeString(text, reason, shortenedTo: 200).singleLine
    let message = WAMPDetails.words("message", in: text, details, limit: 500)
    let said = message.map { ": \($0)" } ?? ""
    if uri == "wamp.error.protocol_violation" {
      return UpstreamFailure(
        .protocolError, "the router ended the session, as it holds that we broke the protocol\(said)")
    }
    guard !isJoined, !uri.hasPrefix("wamp.close.") else {
      return UpstreamFailure(.closed, "the router ended the session (\(uri))\(said)")
    }
    return UpstreamFailure(
      .refused, "the router refused the session (\(uri))\(said)", serverMessage: message ?? uri,
      serverData: data(uri))
  }

  /// GOODBYE.
  static func goodbye(_ text: RawSpan, details: Range<Int>, reason: Range<Int>) -> UpstreamFailure {
    let uri = JSONScanner.decodeString(text, reason, shortenedTo: 200).singleLine
    let said = WAMPDetails.words("message", in: text, details, limit: 500).map { ": \($0)" } ?? ""
    switch uri {
    case "wamp.close.killed", "wamp.close.logout":
      return UpstreamFailure(.kicked, "the router ended this session (\(uri))\(said)")
    default: return UpstreamFailure(.closed, "the router closed the session (\(uri))\(said)")
    }
  }

  /// Why a subscription or registration is not to be had.
  static func refused(_ text: RawSpan, _ uri: Range<Int>, _ payload: WAMPPayload) -> UpstreamFailure {
    let name = JSONScanner.decodeString(text, uri, shortenedTo: 200).singleLine
    let message = payload.arguments.flatMap { firstString(text, $0) }
    let said = message.map { ": \($0)" } ?? ""
    return UpstreamFailure(
      .refused, "the router refused it (\(name))\(said)", serverMessage: message ?? name,
      serverData: data(name))
  }

  /// Why one that was had is not any more.
  static func revoked(_ text: RawSpan, _ details: Range<Int>) -> UpstreamFailure {
    let reason = WAMPDetails.words("reason", in: text, details, limit: 200)
    return UpstreamFailure(.refused, "the router took it back (\(reason ?? "without a reason"))", serverMessage: reason)
  }

  /// Routers put a sentence into the first argument of an ERROR.
  private static func firstString(_ text: RawSpan, _ arguments: Range<Int>) -> String? {
    guard let inside = WAMPForm.inside(text, arguments) else { return nil }
    var at = inside.lowerBound
    guard let string = try? JSONScanner.scanString(text, &at) else { return nil }
    return JSONScanner.decodeString(text, string, shortenedTo: 500).singleLine
  }

  /// Whether another method of authentication could help after a refusal. Routers have many words for that.
  static func mayConcernOffer(_ failure: UpstreamFailure) -> Bool {
    failure.reason == .refused && failure.serverData != data("wamp.error.no_such_realm")
  }

  /// The reason as the server's own data.
  static func data(_ uri: String) -> [UInt8] {
    var writer = JSONWriter()
    writer.string(uri)
    return writer.bytes
  }
}
