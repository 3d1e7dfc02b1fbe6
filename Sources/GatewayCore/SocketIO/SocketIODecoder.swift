/// Puts Socket.IO packets together from the messages of one Engine.IO session: a text, and behind it as many binary
/// messages as it announces, with no other message between.
struct SocketIODecoder: Sendable {
  /// A packet whose attachments are complete.
  struct Message: Equatable, Sendable {
    var packet: SocketIOPacket
    /// What the packet's ranges point into.
    var text: [UInt8]
    var attachments: [[UInt8]]
  }

  /// Most attachments of one packet.
  let attachmentLimit: Int
  /// Most bytes of one packet with its attachments.
  let byteLimit: Int
  private var pending: Message? {
    didSet { isPending = pending != nil }
  }
  /// Cheaper to ask than `pending`, which is copied for the question.
  private(set) var isPending = false
  private var pendingBytes = 0
  /// Bytes of the packet whose attachments are not complete.
  var heldBytes: Int { isPending ? pendingBytes : 0 }

  init(attachmentLimit: Int, byteLimit: Int) {
    self.attachmentLimit = attachmentLimit
    self.byteLimit = byteLimit
  }

  /// Takes a text message; the packet begins at `start`. Nil when attachments have to follow first. `long` is what is known of
  /// it already.
  mutating func receive(
    text: RawSpan, from start: Int, long: LongPacket? = nil
  ) throws(SocketIOProblem) -> SocketIOPacket? {
    guard !isPending else { throw .missingAttachment }
    let packet = try SocketIOPacket(parsing: text, from: start, attachmentLimit: attachmentLimit, long: long)
    guard packet.attachments > 0 else { return packet }
    pending = Message(packet: packet, text: text.withUnsafeBytes { [UInt8]($0) }, attachments: [])
    pendingBytes = text.byteCount
    return nil
  }

  /// Takes a binary message. Nil when more have to follow.
  mutating func receive(binary: RawSpan) throws(SocketIOProblem) -> Message? {
    guard isPending else { throw .strayAttachment }
    pendingBytes += binary.byteCount
    guard pendingBytes <= byteLimit else { throw .tooLarge(limit: byteLimit) }
    pending?.attachments.append(binary.withUnsafeBytes { [UInt8]($0) })
    guard let message = pending, message.attachments.count >= message.packet.attachments else { return nil }
    pending = nil
    return message
  }
}
