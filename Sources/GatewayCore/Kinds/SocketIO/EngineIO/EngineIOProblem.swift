/// What a server sent that Engine.IO does not allow.
enum EngineIOProblem: Error, Equatable, Sendable {
  /// A text message without a packet type.
  case emptyPacket
  /// A first byte that names no packet type, or a type that cannot stand there.
  case unknownType(UInt8)
  /// A `b…` message that is not canonical base64.
  case malformedBase64
  /// An open packet without a usable `sid`, `pingInterval` or `pingTimeout`; the word names what.
  case malformedHandshake(String)
  /// An open packet that is no JSON.
  case handshakeNotJSON
  /// An open packet of more bytes than `EngineIOHandshake` reads.
  case handshakeTooLong
  /// Something else before the open packet.
  case foreignOpening

  /// What it means where the open packet is awaited: what is no packet at all comes from no Engine.IO server.
  var atTheOpening: EngineIOProblem {
    switch self {
    case .emptyPacket, .unknownType, .malformedBase64, .foreignOpening: .foreignOpening
    case .malformedHandshake, .handshakeNotJSON, .handshakeTooLong: self
    }
  }

  /// As the end of a link.
  var failure: UpstreamFailure {
    switch self {
    case .emptyPacket: UpstreamFailure(.protocolError, "the server sent an empty Engine.IO packet")
    case .unknownType: UpstreamFailure(.protocolError, "the server sent an unknown Engine.IO packet")
    case .malformedBase64: UpstreamFailure(.protocolError, "the server sent malformed base64")
    case .malformedHandshake(let what):
      UpstreamFailure(.protocolError, "the server's Engine.IO handshake has no usable \(what)")
    case .handshakeNotJSON: UpstreamFailure(.protocolError, "the server's Engine.IO handshake is not JSON")
    case .handshakeTooLong: UpstreamFailure(.protocolError, "the server's Engine.IO handshake is too long")
    case .foreignOpening:
      UpstreamFailure(
        .protocolError,
        "the server did not begin with an Engine.IO handshake: it may be a WebSocket server of another kind")
    }
  }
}
