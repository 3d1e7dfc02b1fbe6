/// Writes the packets of a link, and knows the largest one: from what size on the server refuses messages shows when it
/// does.
final class PacketWriter {
  private let parser: ParserName
  private let attachmentLimit: Int
  private let trace: LinkTrace
  /// Bytes of the largest message that was written on the present transport.
  private var largest = 0
  /// Room for the text being written, kept for the next one.
  private var scratch: [UInt8] = []
  private static let keptScratch = 64 << 10

  init(_ key: LinkKey, trace: LinkTrace) {
    parser = key.parser
    attachmentLimit = key.attachmentLimit
    self.trace = trace
  }

  /// What was written, another transport has taken.
  func reset() { largest = 0 }

  /// Writes a message and its attachments with nothing between them.
  func write(
    _ kind: SocketIOPacket.Kind, _ namespace: [UInt8], ack: UInt64?, _ message: PreparedMessage,
    to engine: EngineIOSocket
  ) {
    largest = max(largest, message.bodyCount)
    if parser == .msgpack {
      return write(msgpack: kind, namespace, ack: ack, message.body, compress: message.compress, to: engine)
    }
    guard message.tail.isEmpty else { return write(kind, namespace, ack: ack, long: message, to: engine) }
    write(
      kind, namespace, attachments: message.attachmentCount, ack: ack, body: message.head, compress: message.compress,
      to: engine)
    guard message.attachmentCount > 0 else { return }
    for attachment in message.attachments {
      largest = max(largest, attachment.count)
      engine.send(binary: attachment, compress: message.compress)
    }
  }

  /// Asks for a namespace. False: the credentials hold a value that the parser cannot write.
  func connect(_ namespace: [UInt8], _ payload: [UInt8], to engine: EngineIOSocket) -> Bool {
    guard parser == .msgpack else {
      write(.connect, namespace, body: payload, to: engine)
      return true
    }
    let data = payload.isEmpty ? [] : try? MsgpackWriter.write(payload.span.bytes, binaryLimit: attachmentLimit)
    guard let data else { return false }
    write(msgpack: .connect, namespace, ack: nil, data, to: engine)
    return true
  }

  /// Leaves a namespace.
  func disconnect(_ namespace: [UInt8], to engine: EngineIOSocket) {
    if parser == .msgpack { return write(msgpack: .disconnect, namespace, ack: nil, [], to: engine) }
    write(.disconnect, namespace, to: engine)
  }

  /// Writes a message whose tail stays where it is.
  private func write(
    _ kind: SocketIOPacket.Kind, _ namespace: [UInt8], ack: UInt64?, long message: PreparedMessage,
    to engine: EngineIOSocket
  ) {
    var frame: [UInt8] = []
    SocketIOEncoder.append(kind, namespace: namespace, ack: ack, body: message.head, to: &frame)
    engine.send(text: frame.span.bytes, body: message.tail, compress: message.compress)
    guard trace.isWatched else { return }
    let body = message.body
    trace.sent(kind, namespace, attachments: 0, ack: ack, payload: body.span.bytes)
  }

  /// Writes one packet's text.
  private func write(
    _ kind: SocketIOPacket.Kind, _ namespace: [UInt8], attachments: Int = 0, ack: UInt64? = nil, body: [UInt8] = [],
    compress: Bool = true, to engine: EngineIOSocket
  ) {
    let isLong = body.count > Self.keptScratch
    var frame = scratch
    scratch = []
    frame.removeAll(keepingCapacity: true)
    SocketIOEncoder.append(
      kind, attachments: attachments, namespace: namespace, ack: ack, body: isLong ? [] : body, to: &frame)
    if isLong {
      engine.send(text: frame.span.bytes, body: body[...], compress: compress)
    } else {
      engine.send(text: frame.span.bytes, compress: compress)
    }
    if trace.isWatched { trace.sent(kind, namespace, attachments: attachments, ack: ack, payload: body.span.bytes) }
    if frame.capacity <= Self.keptScratch { scratch = frame }
  }

  private func write(
    msgpack kind: SocketIOPacket.Kind, _ namespace: [UInt8], ack: UInt64?, _ data: [UInt8], compress: Bool = true,
    to engine: EngineIOSocket
  ) {
    var output = MsgpackOutput()
    MsgpackPacket.append(kind, namespace: namespace, ack: ack, data: data, to: &output)
    engine.send(binary: output.bytes, compress: compress)
    if trace.isWatched {
      trace.sent(kind, namespace, ack: ack, msgpack: output.bytes.span.bytes, size: data.count)
    }
  }

  // MARK: - What the server refuses

  /// A size that the server refuses.
  struct Refusal {
    /// The largest message that it takes, as far as is known, by the transport that showed it.
    var limit: Int
    var transport: TransportName
    /// Which messages will not be taken.
    var size: MessageSize
  }

  /// From what size on the server refuses messages, if that is why the transport has ended. `longestName` is that of
  /// the link's namespaces, in bytes.
  func refusal(shownBy failure: TransportFailure, _ revision: EngineIORevision, longestName: Int) -> Refusal? {
    guard largest > 0 else { return nil }
    if let refused = failure.refused {
      // Its content is known here; before that stand types, namespace and the id of the acknowledgement.
      let size = refused.count - Self.prefixLimit - longestName
      guard size > 0, size <= largest else { return nil }
      let posted = PollingOutbox.size(ofMessage: refused.count, isBinary: refused.isBinary, revision)
      let isAttachment = refused.isBinary && parser == .json
      return Refusal(
        limit: posted - 1, transport: .polling,
        size: MessageSize(body: isAttachment ? .max : size, attachment: isAttachment ? size : .max))
    }
    guard failure.failure.isMessageTooBig else { return nil }
    // It was the largest one: all that the server took were smaller.
    return Refusal(limit: largest, transport: .websocket, size: MessageSize(body: largest, attachment: largest))
  }

  /// Most bytes of a packet before its content, without the namespace.
  private static let prefixLimit = 32
}
