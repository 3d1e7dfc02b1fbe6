/// What the body of an HTTP refusal says, where it comes from an Engine.IO server: Node servers send
/// `{"code":n,"message":"…"}` or, on a WebSocket upgrade, the bare message; Python servers send a JSON string.
enum EngineIORefusal: Equatable, Sendable {
  case unsupportedRevision
  case unknownTransport
  case unknownSession
  case badRequest
  /// With the server's own words.
  case forbidden(String)

  /// Longest message of a server that is kept, in bytes.
  private static let messageLimit = 200

  /// Nil when the body is not an Engine.IO server's.
  init?(body: [UInt8]) {
    guard let (code, message) = Self.parse(body) else { return nil }
    switch (code, message) {
    case (5, _), (nil, "Unsupported protocol version"): self = .unsupportedRevision
    case (nil, _) where message.hasPrefix("The client is using an unsupported version"): self = .unsupportedRevision
    case (0, _), (nil, "Transport unknown"), (nil, "Invalid transport"): self = .unknownTransport
    case (1, _), (nil, "Session ID unknown"): self = .unknownSession
    case (2, _), (3, _), (nil, "Bad handshake method"), (nil, "Bad request"): self = .badRequest
    case (4, _), (nil, "Forbidden"): self = .forbidden(message.shortened(to: Self.messageLimit).singleLine)
    // Python servers name the session, which is a secret, or the transport.
    case (nil, _) where message.hasPrefix("Invalid session"): self = .unknownSession
    case (nil, _) where message.hasPrefix("Invalid transport"): self = .unknownTransport
    default: return nil
    }
  }

  /// What a server means that does not know the session.
  static let lostSession =
    "the server does not know the session any more: it restarted or gave the session up, or several servers share the "
    + "address without sticky sessions"

  /// A transport's failure with the server's explanation instead of the bare status.
  static func explain(_ failure: TransportFailure, _ transport: TransportName) -> UpstreamFailure {
    guard failure.failure.reason == .http, let refusal = EngineIORefusal(body: failure.httpBody) else {
      return failure.failure
    }
    var explained = failure.failure
    switch refusal {
    case .unsupportedRevision:
      explained.reason = .incompatible
      explained.detail = "the server does not speak this revision of Engine.IO"
    case .unknownTransport:
      explained.detail = "the server does not offer \(transport == .websocket ? "WebSocket" : "long-polling")"
    case .unknownSession: explained.detail = lostSession
    case .badRequest: explained.detail = "the server rejected the handshake as a bad request"
    case .forbidden(let message):
      explained.detail = "the server forbade the handshake: \(message)"
      explained.serverMessage = message
    }
    return explained
  }

  private static func parse(_ body: [UInt8]) -> (code: Int?, message: String)? {
    switch try? JSONValue.parse(body.span.bytes) {
    case .string(let message): return (nil, message)
    case .some(let value):
      guard let code = value["code"]?.integerValue, let message = value["message"]?.stringValue else { return nil }
      return (code, message)
    case nil:
      let text = String(shortening: body.span.bytes, to: 5 * messageLimit)
      return (nil, String(text.drop(while: \.isWhitespace).prefix { !$0.isNewline }))
    }
  }
}
