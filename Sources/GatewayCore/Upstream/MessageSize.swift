/// Bytes of the parts of a message, which travel apart.
struct MessageSize: Equatable, Sendable {
  var body: Int
  /// Of the largest attachment.
  var attachment: Int

  init(body: Int, attachment: Int) { (self.body, self.attachment) = (body, attachment) }

  init(_ message: PreparedMessage) {
    body = message.bodyCount
    attachment = message.attachments.isEmpty ? 0 : message.attachments.reduce(0) { max($0, $1.count) }
  }

  /// What a message is told of which one part is at least as large as the same part of this, which a server refused;
  /// nil where none is.
  func problem(with size: MessageSize) -> MessageProblem? {
    if size.body >= body { return .tooLarge(limit: body - 1, size: size.body) }
    return size.attachment >= attachment ? .tooLarge(limit: attachment - 1, size: size.attachment) : nil
  }
}
