/// What a server sends over a link, on its way from messages to the channels of namespaces. What breaks the framing ends
/// the link; what the server says about one namespace, however badly, concerns that one. Decision 0122.
final class PacketReceiver {
  private let key: LinkKey
  private let namespaces: Namespaces
  private let trace: LinkTrace
  private let timers: Timers
  private let parser: ParserName
  private var decoder: SocketIODecoder
  /// What a packet counts as whose attachments are not complete.
  private let memory: MemoryHold
  /// Runs while attachments are awaited.
  private var timer: Timers.ID?
  /// Hears what the server says about namespaces, and what ends the link. It alone has the receiver. Set by
  /// it, once.
  unowned var link: SocketIOLink!

  init(_ key: LinkKey, _ namespaces: Namespaces, trace: LinkTrace, timers: Timers, memory: MemoryBudget) {
    self.key = key
    self.namespaces = namespaces
    self.trace = trace
    self.timers = timers
    parser = key.parser
    self.memory = MemoryHold(memory, for: key.account)
    decoder = SocketIODecoder(attachmentLimit: key.attachmentLimit, byteLimit: key.messageLimit)
  }

  /// Forgets half a message, because nothing more of it will come.
  func reset() {
    decoder.reset()
    memory.set(0)
    timers.cancel(timer)
  }

  // MARK: - Messages

  /// Takes a text whose packet begins at `start`. Nearly all are an event or an acknowledgement that can be delivered as
  /// it is, for which no packet has to be put together.
  func receive(text: RawSpan, from start: Int) {
    if parser == .json, decoder.isIdle, !trace.isWatched {
      if let event = SocketIOPacket.plainEvent(in: text, from: start),
        event.isLocalForm || !LocalForm.needsRewriting(text, event.arguments),
        isShort(event.arguments, besides: event.name.count, in: text)
      {
        namespaces.member(text.extracting(event.namespace))?
          .receive(event: text.extracting(event.name), text.extracting(event.arguments), ack: event.ack)
        return
      }
      if let answer = SocketIOPacket.plainAcknowledgement(in: text, from: start),
        answer.isLocalForm || !LocalForm.needsRewriting(text, answer.arguments), isShort(answer.arguments, in: text)
      {
        namespaces.member(text.extracting(answer.namespace))?.channel
          .receive(acknowledgement: answer.ack, arguments: text.extracting(answer.arguments))
        return
      }
    }
    attempt { () throws(SocketIOProblem) in try receivePacket(text, from: start) }
  }

  /// Whether arguments fit into a line, beside so many other bytes.
  @inline(__always)
  private func isShort(_ arguments: Range<Int>, besides count: Int = 0, in text: RawSpan) -> Bool {
    text.byteCount <= Limits.leastLine || count + arguments.count <= namespaces.lineLimit
  }

  private func receivePacket(_ text: RawSpan, from start: Int) throws(SocketIOProblem) {
    guard parser == .json else { throw .textForMsgpack }
    let packet = try decoder.read(text: text, from: start, lineLimit: namespaces.lineLimit)
    guard packet.content == .unreadable(.malformedPayload), let payload = SocketIOPacket.payload(text, from: start),
      let repaired = NonNumbers.replaced(in: text, from: payload)
    else { return take(packet, text) }
    let bytes = repaired.span.bytes
    take(try decoder.read(text: bytes, from: start, lineLimit: namespaces.lineLimit), bytes)
  }

  private func take(_ packet: SocketIOPacket, _ text: RawSpan) {
    let packet = decoder.take(packet, text, lineLimit: namespaces.lineLimit)
    if let packet { dispatch(packet, text, attachments: []) } else { awaitAttachment() }
  }

  func receive(binary: RawSpan) {
    attempt { () throws(SocketIOProblem) in
      if parser == .msgpack { return try receive(msgpack: binary) }
      take(try decoder.receive(binary: binary, lineLimit: namespaces.lineLimit))
    }
  }

  private func receive(msgpack bytes: RawSpan) throws(SocketIOProblem) {
    let (packet, text, long) = try MsgpackPacket.read(
      bytes, decoder.takeOutline(), binaryLimit: key.attachmentLimit,
      lineLimit: min(namespaces.lineLimit, key.messageLimit))
    if let long { return dispatch(long, packet, text.span.bytes) }
    dispatch(packet, text.span.bytes, attachments: [])
  }

  /// Whether a binary message of so many bytes, which has come as base64, need not be decoded, because it is only
  /// counted.
  func skips(binaryCount: Int) -> Bool {
    guard decoder.skips(binaryCount, lineLimit: namespaces.lineLimit) else { return false }
    attempt { () throws(SocketIOProblem) in take(try decoder.receive(unkept: binaryCount)) }
    return true
  }

  func gather(text: RawSpan, from start: Int) {
    if parser == .json { decoder.gather(text: text, from: start, lineLimit: namespaces.lineLimit) }
  }

  func gather(binary: RawSpan) {
    if parser == .msgpack { decoder.gather(msgpack: binary) }
  }

  private func attempt(_ body: () throws(SocketIOProblem) -> Void) {
    do throws(SocketIOProblem) { try body() } catch { link.end(error.failure) }
  }

  /// Takes a message whose attachments are complete, if they are.
  private func take(_ message: SocketIODecoder.Message?) {
    guard let message else { return awaitAttachment() }
    timers.cancel(timer)
    memory.set(0)
    let text = message.text.span.bytes
    if let long = message.long { return dispatch(long, message.packet, text) }
    dispatch(message.packet, text, attachments: message.attachments)
  }

  /// Half a message must not be kept for ever: the next part comes in time or the link ends.
  private func awaitAttachment() {
    timers.cancel(timer)
    guard memory.change(to: decoder.heldBytes) else { link.end(.noReceiveMemory); return }
    timer = timers.after(key.attachmentTimeLimit) { [weak self] in
      self?.link.end(SocketIOProblem.lateAttachment.failure)
    }
  }

  // MARK: - Packets

  private func dispatch(_ packet: SocketIOPacket, _ text: RawSpan, attachments: [[UInt8]]) {
    if let long = packet.longEvent(text, over: namespaces.lineLimit) { return dispatch(long, packet, text) }
    trace.received(packet, text, attachments: attachments.count)
    let namespace = text.extracting(packet.namespace)
    switch packet.content {
    case .event(let name, let arguments):
      guard let channel = namespaces.member(namespace)?.channel else { return }
      do throws(SocketIOFlaw) {
        guard !SocketIOEventName.isReserved(text, name) else { throw .reservedName }
        let size = try withLocalForm(packet, text, arguments, attachments) {
          channel.receive(event: text.extracting(name), $0, ack: packet.ack)
        }
        if let size, let long = packet.longEvent(text, size: size) { dispatch(long, packet, text) }
      } catch {
        channel.receive(FlawedEvent(error, text, name: name, arguments: arguments, ack: packet.ack))
      }
    case .acknowledgement(let arguments):
      guard let id = packet.ack, let channel = namespaces.member(namespace)?.channel, channel.awaits(id) else { return }
      do throws(SocketIOFlaw) {
        let size = try withLocalForm(packet, text, arguments, attachments) {
          channel.receive(acknowledgement: id, arguments: $0)
        }
        if let size { channel.receive(acknowledgement: id, tooLong: size) }
      } catch { channel.receive(unreadableAcknowledgement: id) }
    case .unreadable(let flaw):
      guard let channel = namespaces.member(namespace)?.channel else { return }
      if packet.kind == .event || packet.kind == .binaryEvent {
        channel.receive(FlawedEvent(flaw, ack: packet.ack))
      } else if let id = packet.ack {
        channel.receive(unreadableAcknowledgement: id)
      }
    case .connect(let json):
      let identity = json.map { Self.identity(text, $0) } ?? (sid: nil, pid: nil)
      link.accepted(Array(namespace), sid: identity.sid, pid: identity.pid)
    case .oversizedConnect:
      link.failed(Array(namespace), .oversizedAnswer(limit: SocketIOPacket.wordLimit))
    case .malformedConnect: link.failed(Array(namespace), .malformedPayload)
    case .connectError(let json):
      let refusal = json.map { SocketIORefusal(text, $0, packet.elements) }
      link.refused(Array(namespace), refusal ?? SocketIORefusal())
    case .disconnect(let json):
      let refusal = json.map { SocketIORefusal(text, $0, packet.elements) }
      link.disconnected(Array(namespace), refusal ?? SocketIORefusal())
    }
  }

  /// An event or an acknowledgement that is longer than a line.
  private func dispatch(_ long: LongEvent, _ packet: SocketIOPacket, _ text: RawSpan) {
    let namespace = text.extracting(packet.namespace)
    trace.received(long, packet.kind, Array(namespace))
    guard let channel = namespaces.member(namespace)?.channel else { return }
    switch packet.kind {
    case .event, .binaryEvent: channel.receive(tooLong: long)
    case .acknowledgement, .binaryAcknowledgement:
      if let id = packet.ack { channel.receive(acknowledgement: id, tooLong: long.size) }
    case .connect, .disconnect, .connectError: return
    }
  }

  /// Hands on the text itself when it is its own local form, as most is. Where that would be longer than a line nothing
  /// is handed on, and its size returned. What came as MessagePack was written in the local form already.
  private func withLocalForm(
    _ packet: SocketIOPacket, _ text: RawSpan, _ range: Range<Int>, _ attachments: [[UInt8]],
    _ body: (RawSpan) -> Void
  ) throws(SocketIOFlaw) -> Int? {
    guard !packet.isLocalForm, parser == .json, !attachments.isEmpty || LocalForm.needsRewriting(text, range) else {
      body(text.extracting(range))
      return nil
    }
    var rewritten: [UInt8] = []
    let lineLimit = namespaces.lineLimit
    let size = try SocketIOForm.write(
      fromServer: text, range, attachments: attachments, byteLimit: key.messageLimit, lineLimit: lineLimit,
      into: &rewritten)
    guard size <= lineLimit else { return size }
    body(rewritten.span.bytes)
    return nil
  }

  /// The server's ids in the answer to a CONNECT: the shown one and, where it can recover a connection, the secret one.
  private static func identity(_ text: RawSpan, _ object: Range<Int>) -> (sid: String?, pid: String?) {
    var sid: Range<Int>?
    var pid: Range<Int>?
    var at = object.lowerBound
    try? JSONScanner.scanObject(text, &at) { key, value in
      if JSONScanner.stringEquals(text, key, "sid") { sid = value }
      if JSONScanner.stringEquals(text, key, "pid") { pid = value }
    }
    return (sid.flatMap { usable(text, $0) }, pid.flatMap { usable(text, $0) })
  }

  private static func usable(_ text: RawSpan, _ id: Range<Int>) -> String? {
    guard JSONScanner.byte(text, id.lowerBound) == UInt8(ascii: "\"") else { return nil }
    let id = JSONScanner.decodeString(text, id)
    return id.isEmpty || id.utf8.count > EngineIOHandshake.sidLimit ? nil : id
  }
}

extension [UInt8] {
  /// The bytes of a part of a packet, for what lasts longer than it.
  fileprivate init(_ span: RawSpan) { self = span.withUnsafeBytes { [UInt8]($0) } }
}
