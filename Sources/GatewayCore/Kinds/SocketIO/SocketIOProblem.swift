/// What a server sent that Socket.IO does not allow. What breaks the framing ends the link: what follows cannot be
/// trusted. What concerns the acceptance of one namespace ends that one. For events and acknowledgements there is
/// `SocketIOFlaw`. Two types, because the compiler then says of each parser whether a server's mistake in it can cost the
/// link: what throws a flaw cannot.
enum SocketIOProblem: Error, Equatable, Sendable {
  /// A message without a packet type, or with an unknown one.
  case unknownType
  /// No attachment count where one must stand, or a malformed one.
  case malformedAttachmentCount
  /// More attachments than allowed.
  case tooManyAttachments(limit: Int)
  /// A packet of MessagePack without a namespace, or with one that is no text or too long.
  case malformedNamespace
  /// Accepted a namespace with what is no JSON object.
  case malformedPayload
  /// Binary data that no packet announced.
  case strayAttachment
  /// Another packet before all announced attachments were there.
  case missingAttachment
  /// An announced attachment did not come in time.
  case lateAttachment
  /// A packet with its attachments larger than allowed, in bytes.
  case tooLarge(limit: Int)
  /// A binary message that is not one map of MessagePack.
  case malformedMsgpack
  /// A text message, though the upstream's parser is msgpack.
  case textForMsgpack
  /// Accepted a namespace with more words than are read, in bytes.
  case oversizedAnswer(limit: Int)
  /// Accepted a namespace without giving it an id.
  case missingSid

  /// As the end of a link.
  var failure: UpstreamFailure {
    switch self {
    case .tooLarge(let limit):
      UpstreamFailure(.tooLarge, "the server sent a message with attachments beyond \(limit) bytes")
    case .tooManyAttachments(let limit):
      UpstreamFailure(.protocolError, "the server sent a message with more than \(limit) attachments")
    case .oversizedAnswer(let limit):
      UpstreamFailure(.tooLarge, "the server accepted a namespace with a message of more than \(limit) bytes")
    case .unknownType: UpstreamFailure(.protocolError, "the server sent an unknown Socket.IO packet")
    case .malformedAttachmentCount:
      UpstreamFailure(.protocolError, "the server sent a Socket.IO packet with a malformed attachment count")
    case .malformedNamespace:
      UpstreamFailure(.protocolError, "the server sent a Socket.IO packet with a malformed namespace")
    case .malformedPayload:
      UpstreamFailure(.protocolError, "the server sent a Socket.IO packet with a malformed payload")
    case .strayAttachment: UpstreamFailure(.protocolError, "the server sent binary data that belongs to no packet")
    case .missingAttachment:
      UpstreamFailure(.protocolError, "the server sent a packet before the attachments of the one before it")
    case .lateAttachment:
      UpstreamFailure(.protocolError, "the server announced attachments and did not send them in time")
    case .malformedMsgpack:
      UpstreamFailure(
        .protocolError, "the server sent a message that is no MessagePack, though its parser is set to msgpack")
    case .textForMsgpack:
      UpstreamFailure(.protocolError, "the server speaks JSON, though its parser is set to msgpack")
    case .missingSid: UpstreamFailure(.protocolError, "the server accepted a namespace without giving it an id")
    }
  }
}
