/// What a local program wants to have said, as it said it. Byte arrays hold raw JSON text, validated and in the local
/// form (`$bin` for binary).
struct MessageDraft: Equatable, Sendable {
  /// What the message is meant to be. Kinds that make no difference ignore it.
  enum Purpose: Equatable, Sendable {
    /// Something that happened: `send`, with or without an acknowledgement.
    case event
    /// A question whose answer is wanted: `request`.
    case call
  }

  var event: String
  /// A JSON array.
  var args: [UInt8]
  /// No key in `args` begins like `$…bin`. Not known when false.
  var argsArePlain = false
  /// A JSON object; nil when the program gave none.
  var kwargs: [UInt8]?
  var purpose: Purpose
  /// The server will be asked for an acknowledgement, which costs a few bytes.
  var isAcknowledged: Bool

  init(
    event: String, args: [UInt8], kwargs: [UInt8]? = nil, purpose: Purpose = .event, isAcknowledged: Bool = false
  ) {
    self.event = event
    self.args = args
    self.kwargs = kwargs
    self.purpose = purpose
    self.isAcknowledged = isAcknowledged
  }
}

/// A local program's answer to what the server asked, as it said it. Byte arrays as in `MessageDraft`.
struct AnswerDraft: Equatable, Sendable {
  /// A JSON array.
  var args: [UInt8]
  /// A JSON object; nil when the program gave none.
  var kwargs: [UInt8]?
  /// The name of the error that the answer is; nil for a success.
  var error: String?

  init(args: [UInt8], kwargs: [UInt8]? = nil, error: String? = nil) {
    self.args = args
    self.kwargs = kwargs
    self.error = error
  }
}

/// Why a message must not be written.
enum MessageProblem: Error, Equatable, Sendable {
  /// InvalidParams: a reserved name, too many attachments, malformed `$bin`. The sentence is for a person.
  case invalid(String)
  /// InvalidParams: it was prepared for a server of another kind, whose settings changed while it waited.
  case outdated(String)
  /// PayloadTooLarge, in bytes.
  case tooLarge(limit: Int, size: Int)
  /// The same where the server may well take it.
  case tooLargeForFleet(limit: Int, size: Int)

  /// The same in a word for programs.
  var word: String {
    switch self {
    case .invalid: "invalid"
    case .outdated: "parser_changed"
    case .tooLarge, .tooLargeForFleet: "too_large"
    }
  }

  /// Why the message is not written, as a part of a sentence about it.
  var clause: String {
    switch self {
    case .invalid(let sentence), .outdated(let sentence): sentence
    case .tooLarge(let limit, let size): "it has \(size) bytes, and the server takes at most \(limit)"
    case .tooLargeForFleet(let limit, let size): "it has \(size) bytes, and a fleet carries at most \(limit)"
    }
  }
}
