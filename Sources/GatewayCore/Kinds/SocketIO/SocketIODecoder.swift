/// Puts Socket.IO packets together from the messages of one Engine.IO session: a text, and behind it as many binary
/// messages as it announces, with no other message between.
struct SocketIODecoder: Sendable {
  /// A packet whose attachments are complete.
  struct Message: Equatable, Sendable {
    var packet: SocketIOPacket
    /// What the packet's ranges point into.
    var text: [UInt8]
    var attachments: [[UInt8]]
    /// What is left of it where it is longer than a line; then there are no attachments.
    var long: LongEvent?
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
  /// Bytes of the packet that came, and of those that are kept.
  private var pendingBytes = 0
  private(set) var heldBytes = 0
  /// Attachments that came.
  private var count = 0
  /// What the packet takes in a line.
  private var lineBytes = 0

  init(attachmentLimit: Int, byteLimit: Int) {
    self.attachmentLimit = attachmentLimit
    self.byteLimit = byteLimit
  }

  /// Takes a text message; the packet begins at `start`. Nil when attachments have to follow first. `long` is what is known of
  /// it already. Of a packet that is longer than `lineLimit` no attachments are kept.
  mutating func receive(
    text: RawSpan, from start: Int, long: LongPacket? = nil, lineLimit: @autoclosure () -> Int = .max
  ) throws(SocketIOProblem) -> SocketIOPacket? {
    guard !isPending else { throw .missingAttachment }
    let packet = try SocketIOPacket(parsing: text, from: start, attachmentLimit: attachmentLimit, long: long)
    guard packet.attachments > 0 else { return packet }
    (count, lineBytes, pendingBytes) = (0, packet.payloadCount, text.byteCount)
    if packet.hasNonNumbers || lineBytes > lineLimit() {
      var message = Message(packet: packet, text: [], attachments: [], long: packet.longEvent(text, size: lineBytes))
      message.text = text.extracting(packet.namespace).withUnsafeBytes { [UInt8]($0) }
      message.packet.namespace = 0..<message.text.count
      pending = message
    } else {
      pending = Message(packet: packet, text: text.withUnsafeBytes { [UInt8]($0) }, attachments: [])
    }
    heldBytes = pending?.text.count ?? 0
    return nil
  }

  /// Takes a binary message. Nil when more have to follow.
  mutating func receive(binary: RawSpan, lineLimit: Int = .max) throws(SocketIOProblem) -> Message? {
    let isKept = keeps(binary.byteCount, lineLimit: lineLimit)
    return try receive(isKept ? binary.withUnsafeBytes { [UInt8]($0) } : nil, size: binary.byteCount)
  }

  /// Whether a binary message of so many bytes, which comes now, is more than counted.
  func keeps(_ size: Int, lineLimit: Int) -> Bool {
    isPending && pending?.long == nil && lineBytes + Base64.encodedCount(size) <= lineLimit
  }

  /// Takes a binary message that is not kept.
  mutating func receive(unkept size: Int) throws(SocketIOProblem) -> Message? { try receive(nil, size: size) }

  private mutating func receive(_ bytes: [UInt8]?, size: Int) throws(SocketIOProblem) -> Message? {
    guard isPending else { throw .strayAttachment }
    pendingBytes += size
    guard pendingBytes <= byteLimit else { throw .tooLarge(limit: byteLimit) }
    count += 1
    lineBytes += Base64.encodedCount(size)
    keep(bytes)
    guard let message = pending, count >= message.packet.attachments else { return nil }
    pending = nil
    heldBytes = 0
    return message
  }

  private mutating func keep(_ bytes: [UInt8]?) {
    if let bytes {
      heldBytes += bytes.count
      pending?.attachments.append(bytes)
      return
    }
    guard var message = pending else { return }
    if message.long == nil { message.long = message.packet.longEvent(message.text.span.bytes, size: lineBytes) }
    message.long?.size = lineBytes
    message.attachments = []
    heldBytes = message.text.count
    pending = message
  }
}

extension SocketIOPacket {
  /// Bytes of its name and arguments.
  var payloadCount: Int {
    switch content {
    case .event(let name, let arguments): name.count + arguments.count
    case .acknowledgement(let arguments): arguments.count
    case .connect, .malformedConnect, .oversizedConnect, .disconnect, .connectError, .unreadable: 0
    }
  }

  /// What is left of it, if it is longer than a line of so many bytes, or too long to be mended.
  @inline(__always)
  func longEvent(_ text: RawSpan, over lineLimit: @autoclosure () -> Int) -> LongEvent? {
    guard text.byteCount > Limits.leastLine, hasNonNumbers || payloadCount > lineLimit() else { return nil }
    return longEvent(text, size: payloadCount)
  }

  /// What is left of an event or an acknowledgement that is longer than a line; `size` is what it would take.
  func longEvent(_ text: RawSpan, size: Int) -> LongEvent? {
    switch content {
    case .event(let name, let arguments): LongEvent(text, name: name, arguments: arguments, size: size, ack: ack)
    case .acknowledgement(let arguments):
      LongEvent(text, name: arguments.prefix(0), arguments: arguments, size: size, ack: ack)
    case .connect, .malformedConnect, .oversizedConnect, .disconnect, .connectError, .unreadable: nil
    }
  }
}
