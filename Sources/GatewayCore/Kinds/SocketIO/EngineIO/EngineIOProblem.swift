/// What a server sent that Engine.IO does not allow, as a packet or as the body of a poll.
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
  /// A poll with a length, a kind or a separator that is not where it must be.
  case malformedPayload
  /// A poll that ends within a packet.
  case incompletePayload
  /// A poll with text that is not UTF-8.
  case payloadNotUTF8
  /// A poll with more packets than this, which is as many as it may hold.
  case tooManyPackets(limit: Int)
  /// A poll with a packet above the limit of a message.
  case packetTooLarge

  /// What it means where the open packet is awaited: what is no packet at all comes from no Engine.IO server.
  var atTheOpening: EngineIOProblem {
    switch self {
    case .emptyPacket, .unknownType, .malformedBase64, .foreignOpening: .foreignOpening
    case .malformedHandshake, .handshakeNotJSON, .handshakeTooLong, .malformedPayload, .incompletePayload,
      .payloadNotUTF8, .tooManyPackets, .packetTooLarge:
      self
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
    case .malformedPayload: UpstreamFailure(.protocolError, "the server answered a poll with a malformed payload")
    case .incompletePayload: UpstreamFailure(.protocolError, "the server's answer to a poll ends within a packet")
    case .payloadNotUTF8:
      UpstreamFailure(.protocolError, "the server's answer to a poll holds text that is not UTF-8")
    case .tooManyPackets(let limit):
      UpstreamFailure(.tooLarge, "the server's answer to a poll holds more than \(limit) packets")
    case .packetTooLarge:
      UpstreamFailure(.tooLarge, "the server's answer to a poll holds a message above the limit")
    }
  }
}
