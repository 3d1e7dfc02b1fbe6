/// What a server sent for one namespace that cannot be shown, though it is known whom it concerns: a gap there, or an
/// error for the request that waits. The link and its other namespaces stay. Decision 0122.
enum SocketIOFlaw: Error, Equatable, Sendable {
  /// Nested more deeply than a line of the local protocol carries, or without a form in JSON.
  case undecodable
  /// Longer than is read.
  case tooLarge
  /// An acknowledgement id that is missing, out of range or no number.
  case malformedAck
  /// A payload that is no array of JSON values, or an event's whose first element is no name.
  case malformedPayload
  /// An event with a name that the protocol keeps for itself.
  case reservedName
  /// A placeholder without number, or with that of no attachment.
  case malformedPlaceholder
  /// An attachment that stands in so many places that the message becomes longer than allowed, in bytes.
  case tooManyCopies(limit: Int)

  var reason: GapReason {
    switch self {
    case .tooLarge, .tooManyCopies: .tooLarge
    case .undecodable, .malformedAck, .malformedPayload, .reservedName, .malformedPlaceholder: .undecodable
    }
  }

  /// As a sentence about an event; nil where the reason says it all.
  var detail: String? {
    switch self {
    case .undecodable, .tooLarge: nil
    case .malformedAck: "the server sent an event with a malformed acknowledgement id"
    case .malformedPayload: "the server sent an event that is no list of JSON values with a name in front"
    case .reservedName: "the server sent an event with a reserved name"
    case .malformedPlaceholder: "the server sent an event whose placeholders do not match its attachments"
    case .tooManyCopies(let limit): "the server sent an event with copies of its attachments beyond \(limit) bytes"
    }
  }

  /// In a trace, behind the kind of the packet.
  var clause: String {
    switch self {
    case .undecodable: "nested too deeply, or without a form in JSON"
    case .tooLarge: "too large"
    case .malformedAck: "malformed acknowledgement id"
    case .malformedPayload: "malformed payload"
    case .reservedName: "reserved name"
    case .malformedPlaceholder: "placeholders that do not match the attachments"
    case .tooManyCopies: "too many copies of attachments"
    }
  }
}
