/// What a server sent that Engine.IO does not allow.
enum EngineIOProblem: Error, Equatable, Sendable {
  /// A text message without a packet type.
  case emptyPacket
  /// A first byte that names no packet type, or a type that cannot stand there.
  case unknownType(UInt8)
  /// A `b…` message that is not canonical base64.
  case malformedBase64
  /// An open packet that is no JSON object with a usable `sid`, `pingInterval` and `pingTimeout`; the word names what.
  case malformedHandshake(String)

  /// As the end of a link.
  var failure: UpstreamFailure {
    switch self {
    case .emptyPacket: UpstreamFailure(.protocolError, "the server sent an empty Engine.IO packet")
    case .unknownType: UpstreamFailure(.protocolError, "the server sent an unknown Engine.IO packet")
    case .malformedBase64: UpstreamFailure(.protocolError, "the server sent malformed base64")
    case .malformedHandshake(let what):
      UpstreamFailure(.protocolError, "the server's Engine.IO handshake has no usable \(what)")
    }
  }
}
