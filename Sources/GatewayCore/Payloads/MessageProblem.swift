/// Why a message must not be written.
public enum MessageProblem: Error, Equatable, Sendable {
  /// InvalidParams: a reserved name, too many attachments, malformed `$bin`. The sentence is for a person.
  case invalid(String)
  /// InvalidParams: it was prepared for a server of another kind, whose settings changed while it waited.
  case outdated(String)
  /// PayloadTooLarge, in bytes.
  case tooLarge(limit: Int, size: Int)
}
