/// Puts Socket.IO packets together from the messages of one Engine.IO session: a text, and behind it as many binary
/// messages as it announces, with no other message between.
struct SocketIODecoder: Sendable {
  /// A packet whose attachments are complete.
  struct Message: Equatable, Sendable {
    var packet: SocketIOPacket
    /// What the packet's ranges point into.
    var text: [UInt8]
    var attachments: [[UInt8]] = []
    /// What is left of it where it is longer than a line; then there are no attachments.
    var long: LongEvent?
  }

  /// A packet of which attachments have still to come.
  private struct Pending {
    var message: Message
    /// Bytes of the packet that came.
    var bytes: Int
    /// Attachments that came.
    var count = 0
    /// What the packet takes in a line.
    var lineBytes: Int
    /// Bytes that are kept.
    var heldBytes: Int

    /// Notes an attachment; nil for one that is only counted, after which none is kept.
    mutating func keep(_ attachment: [UInt8]?) {
      guard let attachment else {
        if message.long == nil { message.long = message.packet.longEvent(message.text.span.bytes, size: lineBytes) }
        message.long?.size = lineBytes
        message.attachments = []
        heldBytes = message.text.count
        return
      }
      heldBytes += attachment.count
      message.attachments.append(attachment)
    }
  }

  /// What has come of a packet that is not complete. Cases with payload are boxes, so that asking costs nothing.
  private enum State {
    /// May become any other.
    case idle
    /// A long text is coming. May become `idle` or `awaitingAttachments`.
    indirect case gatheringText(LongPacket)
    /// A long binary message of the msgpack parser is coming. May become `idle`.
    indirect case gatheringMsgpack(MsgpackOutline)
    /// The text is there. May become `idle`.
    indirect case awaitingAttachments(Pending)
  }

  /// Most attachments of one packet.
  let attachmentLimit: Int
  /// Most bytes of one packet with its attachments.
  let byteLimit: Int
  private var state = State.idle

  init(attachmentLimit: Int, byteLimit: Int) {
    self.attachmentLimit = attachmentLimit
    self.byteLimit = byteLimit
  }

  /// Whether nothing has come of the next packet.
  var isIdle: Bool { if case .idle = state { true } else { false } }

  /// Bytes that are kept of a packet whose attachments are not complete.
  var heldBytes: Int { if case .awaitingAttachments(let pending) = state { pending.heldBytes } else { 0 } }

  /// Forgets what has come of a packet.
  mutating func reset() { state = .idle }

  // MARK: - While a message comes

  /// Looks at what has come of a long text, whose packet begins at `start`.
  mutating func gather(text: RawSpan, from start: Int, lineLimit: Int) {
    var long: LongPacket
    switch state {
    case .idle: long = LongPacket(text, from: start)
    case .gatheringText(let begun): long = begun
    case .gatheringMsgpack, .awaitingAttachments: return
    }
    // What is looked at is not to be copied.
    state = .idle
    long.advance(text, lineLimit: lineLimit)
    state = .gatheringText(long)
  }

  /// The same for a long message of the msgpack parser.
  mutating func gather(msgpack bytes: RawSpan) {
    var outline = takeOutline() ?? MsgpackPacket.outline()
    // What is malformed is found again when the message is whole.
    try? outline.advance(bytes, isWhole: false)
    state = .gatheringMsgpack(outline)
  }

  /// What is known of a message of the msgpack parser that is whole now.
  mutating func takeOutline() -> MsgpackOutline? {
    guard case .gatheringMsgpack(let outline) = state else { return nil }
    state = .idle
    return outline
  }

  private mutating func takeLong(_ text: RawSpan, lineLimit: Int) -> LongPacket? {
    guard case .gatheringText(var long) = state else { return nil }
    state = .idle
    long.advance(text, isWhole: true, lineLimit: lineLimit)
    return long
  }

  // MARK: - Whole messages

  /// Reads a text message, whose packet begins at `start`. It is to be given to `take`.
  mutating func read(
    text: RawSpan, from start: Int, lineLimit: @autoclosure () -> Int = .max
  ) throws(SocketIOProblem) -> SocketIOPacket {
    if case .awaitingAttachments = state { throw .missingAttachment }
    let long = isIdle ? nil : takeLong(text, lineLimit: lineLimit())
    return try SocketIOPacket(parsing: text, from: start, attachmentLimit: attachmentLimit, long: long)
  }

  /// Takes a packet that was read. Nil when attachments have to follow first. Of one that is longer than `lineLimit`, or
  /// that cannot be shown, no attachments are kept.
  mutating func take(
    _ packet: SocketIOPacket, _ text: RawSpan, lineLimit: @autoclosure () -> Int = .max
  ) -> SocketIOPacket? {
    guard packet.attachments > 0 else { return packet }
    let lineBytes = packet.payloadCount
    var message = Message(packet: packet, text: [])
    if packet.isUnreadable || packet.hasNonNumbers || lineBytes > lineLimit() {
      message.long = packet.longEvent(text, size: lineBytes)
      message.text = text.extracting(packet.namespace).withUnsafeBytes { [UInt8]($0) }
      message.packet.namespace = 0..<message.text.count
    } else {
      message.text = text.withUnsafeBytes { [UInt8]($0) }
    }
    let held = message.text.count
    state = .awaitingAttachments(
      Pending(message: message, bytes: text.byteCount, lineBytes: lineBytes, heldBytes: held))
    return nil
  }

  /// Takes a binary message. Nil when more have to follow.
  mutating func receive(binary: RawSpan, lineLimit: Int = .max) throws(SocketIOProblem) -> Message? {
    let isKept = keeps(binary.byteCount, lineLimit: lineLimit)
    return try receive(isKept ? binary.withUnsafeBytes { [UInt8]($0) } : nil, size: binary.byteCount)
  }

  /// Whether a binary message of so many bytes, which comes now, is only counted.
  func skips(_ size: Int, lineLimit: Int) -> Bool {
    guard case .awaitingAttachments = state else { return false }
    return !keeps(size, lineLimit: lineLimit)
  }

  private func keeps(_ size: Int, lineLimit: Int) -> Bool {
    guard case .awaitingAttachments(let pending) = state else { return false }
    guard !pending.message.packet.isUnreadable else { return false }
    return pending.message.long == nil && pending.lineBytes + Base64.encodedCount(size) <= lineLimit
  }

  /// Takes a binary message that is not kept.
  mutating func receive(unkept size: Int) throws(SocketIOProblem) -> Message? { try receive(nil, size: size) }

  private mutating func receive(_ bytes: [UInt8]?, size: Int) throws(SocketIOProblem) -> Message? {
    guard case .awaitingAttachments(var pending) = state else { throw .strayAttachment }
    // What is gathered is not to be copied.
    state = .idle
    pending.bytes += size
    guard pending.bytes <= byteLimit else { throw .tooLarge(limit: byteLimit) }
    pending.count += 1
    pending.lineBytes += Base64.encodedCount(size)
    pending.keep(bytes)
    guard pending.count < pending.message.packet.attachments else { return pending.message }
    state = .awaitingAttachments(pending)
    return nil
  }
}
