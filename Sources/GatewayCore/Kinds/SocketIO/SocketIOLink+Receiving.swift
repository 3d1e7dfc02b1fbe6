/// What a server sends, on its way to the channels. Whatever breaks the protocol ends the link; what the server says about one
/// namespace, however badly, concerns that one.
extension SocketIOLink: EngineIOReceiver {
  func engineOpened(_ handshake: EngineIOHandshake) {
    if let revision = engine?.shownRevision {
      perform(detection.handle(.shownHandshake(revision)))
    } else {
      perform(detection.handle(.handshake(namesMaxPayload: handshake.maxPayload != nil)))
    }
    if revision != nil || detection.state == .settling { transportWorks(choice.current) }
  }

  func engineHeard(_ headers: [HTTPHeader]) {
    requests.heard(headers)
    noteDate(headers)
  }

  func engineSwitched() {
    transportWorks(.websocket)
    for channel in channels { channel.transportSwitched() }
  }

  /// Nearly all are events for the only channel of the link: it and its owner are looked up and held once. Neither changes
  /// its place meanwhile, but may go out of use.
  func engineReceived(_ messages: any IncomingMessages, from socket: EngineIOSocket) {
    guard let channel = namespaces.only, let owner = channel.owner else {
      return socket.forEach(messages) { text, start in engineReceived(text: text, from: start) }
    }
    socket.forEach(messages) { text, start in
      if !pass(text, from: start, to: channel, owner) { engineReceived(text: text, from: start) }
    }
  }

  /// Delivers what is an event for this channel and needs nothing else; false where it is anything else, or has a mistake
  /// in it.
  @inline(__always)
  private func pass(
    _ text: RawSpan, from start: Int, to channel: SocketIOChannel, _ owner: any UpstreamChannelOwner
  ) -> Bool {
    guard channel.isJoined, trace == nil, longPacket == nil, !decoder.isPending, key.parser == .json,
      let event = SocketIOPacket.plainEvent(in: text, from: start), namespaces.isOnly(channel),
      channel.isNamed(text.extracting(event.namespace)), !LocalForm.needsRewriting(text, event.arguments)
    else { return false }
    channel.deliver(text.extracting(event.name), text.extracting(event.arguments), event.ack, to: owner)
    return true
  }

  func engineReceived(text: RawSpan, from start: Int) {
    do throws(SocketIOProblem) {
      guard key.parser == .json else { throw .textForMsgpack }
      let long = longPacket == nil ? nil : takeLongPacket(text)
      do throws(SocketIOProblem) { try receive(text, from: start, long) } catch {
        guard error == .malformedPayload, let payload = SocketIOPacket.payload(text, from: start),
          let repaired = NonNumbers.replaced(in: text, from: payload)
        else { throw error }
        try receive(repaired.span.bytes, from: start, nil)
      }
    } catch { end(error.failure) }
  }

  private func receive(_ text: RawSpan, from start: Int, _ long: LongPacket?) throws(SocketIOProblem) {
    let packet = try decoder.receive(text: text, from: start, long: long, lineLimit: lineLimit)
    guard let packet else { return awaitAttachment() }
    try dispatch(packet, text, attachments: [])
  }

  func engineReceived(binary: RawSpan) {
    do throws(SocketIOProblem) {
      if key.parser == .msgpack {
        defer { longMsgpack = nil }
        let (packet, text, long) = try MsgpackPacket.read(
          binary, longMsgpack, binaryLimit: key.attachmentLimit, lineLimit: min(lineLimit, key.messageLimit))
        if let long { return dispatch(long, packet, text.span.bytes) }
        return try dispatch(packet, text.span.bytes, attachments: [])
      }
      try take(try decoder.receive(binary: binary, lineLimit: lineLimit))
    } catch { end(error.failure) }
  }

  func engineSkips(binaryCount: Int) -> Bool {
    guard key.parser == .json, decoder.isPending, !decoder.keeps(binaryCount, lineLimit: lineLimit) else {
      return false
    }
    do throws(SocketIOProblem) { try take(try decoder.receive(unkept: binaryCount)) } catch { end(error.failure) }
    return true
  }

  /// Takes a message whose attachments are complete, if they are.
  private func take(_ message: SocketIODecoder.Message?) throws(SocketIOProblem) {
    guard let message else { return awaitAttachment() }
    timers.cancel(attachmentTimer)
    partsMemory.set(0)
    let text = message.text.span.bytes
    if let long = message.long { return dispatch(long, message.packet, text) }
    try dispatch(message.packet, text, attachments: message.attachments)
  }

  /// The longest line of the programs for which there is this link.
  private var lineLimit: Int { channels.first?.owner?.lineLimit ?? .max }

  func engineGathers(text: RawSpan, from start: Int) {
    guard key.parser == .json else { return }
    if longPacket == nil { longPacket = LongPacket(text, from: start) }
    longPacket?.advance(text, lineLimit: lineLimit)
  }

  func engineGathers(binary: RawSpan) {
    guard key.parser == .msgpack else { return }
    var outline = longMsgpack ?? MsgpackPacket.outline()
    // What is malformed is found again when the message is whole.
    try? outline.advance(binary, isWhole: false)
    longMsgpack = outline
  }

  /// The text is there whose beginning was looked at.
  private func takeLongPacket(_ text: RawSpan) -> LongPacket? {
    defer { longPacket = nil }
    longPacket?.advance(text, isWhole: true, lineLimit: lineLimit)
    return longPacket
  }

  func engineEnded(_ failure: TransportFailure) {
    longPacket = nil
    longMsgpack = nil
    var failure = failure
    failure.failure.retryAfter = retryAfter(failure)
    requests.heard(failure.headers)
    failure.failure.refusedSize = noteSizeLimit(failure)
    if isRedirected(failure) { return }
    let explained = EngineIORefusal.explain(failure, choice.current)
    guard case .dialling = detection.state else { return attemptFailed(explained) }
    if failure.failure.reason == .http, EngineIORefusal(body: failure.httpBody) == .unsupportedRevision {
      return perform(detection.handle(.revisionRefused))
    }
    let isOpen = engine?.transportFacts != nil && choice.current == .websocket
    let told = isOpen ? explained.closing(before: "its Engine.IO handshake") : explained
    switch choice.failed(told, beforeHTTP: failure.isBeforeHTTP) {
    case .tryNext: dialAgain()
    case .giveUp(let conclusion): attemptFailed(conclusion)
    }
  }

  /// Half a message must not be kept for ever: the next part comes in time or the link ends.
  private func awaitAttachment() {
    timers.cancel(attachmentTimer)
    guard partsMemory.change(to: decoder.heldBytes) else { return end(.noReceiveMemory) }
    attachmentTimer = timers.after(key.attachmentTimeLimit) { [weak self] in
      self?.end(SocketIOProblem.lateAttachment.failure)
    }
  }

  private func dispatch(
    _ packet: SocketIOPacket, _ text: RawSpan, attachments: [[UInt8]]
  ) throws(SocketIOProblem) {
    if let long = packet.longEvent(text, over: lineLimit) { return dispatch(long, packet, text) }
    trace?.received(packet, text, attachments: attachments.count)
    switch packet.content {
    case .event(let name, let arguments):
      let (name, namespace) = (text.extracting(name), text.extracting(packet.namespace))
      guard !packet.isLocalForm else { return deliver(name, text.extracting(arguments), packet.ack, to: namespace) }
      let size = try withLocalForm(text, arguments, attachments) { deliver(name, $0, packet.ack, to: namespace) }
      if let size, let long = packet.longEvent(text, size: size) { dispatch(long, packet, text) }
    case .acknowledgement(let arguments):
      guard let id = packet.ack, let channel = channel(of: packet, text), channel.awaits(id) else { return }
      guard !packet.isLocalForm else {
        return channel.receive(acknowledgement: id, arguments: text.extracting(arguments))
      }
      let size = try withLocalForm(text, arguments, attachments) {
        channel.receive(acknowledgement: id, arguments: $0)
      }
      if let size { channel.receive(acknowledgement: id, tooLong: size) }
    case .unreadable(let reason):
      guard let channel = channel(of: packet, text) else { return }
      guard packet.kind == .event || packet.kind == .binaryEvent else {
        if let id = packet.ack { channel.receive(unreadableAcknowledgement: id) }
        return
      }
      if !channel.receive(dropped: reason) { channel.handle(.abandoned(Self.tooManyEarlyEvents)) }
    case .connect(let json):
      receiveConnect(bytes(text, packet.namespace), json.map { Self.identity(text, $0) } ?? (nil, nil))
    case .oversizedConnect:
      receiveFailedConnect(bytes(text, packet.namespace), .oversizedAnswer(limit: SocketIOPacket.wordLimit))
    case .malformedConnect: receiveFailedConnect(bytes(text, packet.namespace), .malformedPayload)
    case .connectError(let json):
      let refusal = json.map { SocketIORefusal(text, $0, packet.elements) }
      receiveRefusal(bytes(text, packet.namespace), refusal ?? SocketIORefusal())
    case .disconnect(let json):
      receiveDisconnect(bytes(text, packet.namespace), json.map { SocketIORefusal(text, $0, packet.elements) })
    }
  }

  /// An event or an acknowledgement that is longer than a line.
  private func dispatch(_ long: LongEvent, _ packet: SocketIOPacket, _ text: RawSpan) {
    trace?.received(long, packet.kind, bytes(text, packet.namespace))
    guard let channel = channel(of: packet, text) else { return }
    switch packet.kind {
    case .event, .binaryEvent:
      if !channel.receive(tooLong: long) { channel.handle(.abandoned(Self.tooManyEarlyEvents)) }
    case .acknowledgement, .binaryAcknowledgement:
      if let id = packet.ack { channel.receive(acknowledgement: id, tooLong: long.size) }
    case .connect, .disconnect, .connectError: return
    }
  }

  /// Nobody may have joined the namespace, which is no mistake: in revision 3 the main namespace is joined whether wanted or
  /// not, and others may just have been left.
  private func deliver(_ name: RawSpan, _ arguments: RawSpan, _ ack: UInt64?, to namespace: RawSpan) {
    guard let channel = channel(of: namespace) else { return }
    if !channel.receive(event: name, arguments: arguments, ack: ack) {
      channel.handle(.abandoned(Self.tooManyEarlyEvents))
    }
  }

  private static let tooManyEarlyEvents = UpstreamFailure(
    .tooLarge, "the server sent too many events before it accepted the namespace")

  private func channel(of packet: SocketIOPacket, _ text: RawSpan) -> SocketIOChannel? {
    channel(of: text.extracting(packet.namespace))
  }

  /// The channel that has joined a namespace, or is about to.
  private func channel(of namespace: RawSpan) -> SocketIOChannel? {
    namespaces.first(namespace) { $0.isJoiningOrJoined }
  }

  /// Hands on the text itself when it is its own local form, as most is. Where that would be longer than a line nothing is
  /// handed on, and its size returned.
  private func withLocalForm(
    _ text: RawSpan, _ range: Range<Int>, _ attachments: [[UInt8]], _ body: (RawSpan) -> Void
  ) throws(SocketIOProblem) -> Int? {
    guard !isLocalForm(text, range, attachments) else {
      body(text.extracting(range))
      return nil
    }
    var rewritten: [UInt8] = []
    let size = try LocalForm.write(
      fromServer: text, range, attachments: attachments, byteLimit: key.messageLimit, lineLimit: lineLimit,
      into: &rewritten)
    guard size <= lineLimit else { return size }
    body(rewritten.span.bytes)
    return nil
  }

  /// What came as MessagePack was written in the local form already.
  private func isLocalForm(_ text: RawSpan, _ range: Range<Int>, _ attachments: [[UInt8]]) -> Bool {
    key.parser != .json || attachments.isEmpty && !LocalForm.needsRewriting(text, range)
  }

  // MARK: - Namespaces

  private func receiveConnect(_ namespace: [UInt8], _ identity: (sid: String?, pid: String?)) {
    let sid = identity.sid
    answered()
    if engine?.revision == .four {
      perform(detection.handle(sid == nil ? .oldAnswer : .newAnswer))
      guard revision != nil else { return }
    }
    if takeDueReply(namespace) { return send(.disconnect, namespace) }
    guard revision == .three else {
      guard sid != nil else { channel(namespace)?.handle(.failed(SocketIOProblem.missingSid.failure)); return }
      channel(namespace)?.accepted(sid: sid, pid: identity.pid)
      return
    }
    // Revision 3 has no id but that of the Engine.IO session, which is a secret: whoever knows it can take it over.
    guard namespace.isEmpty else { channel(namespace)?.handle(.accepted(sid: nil)); return }
    guard main == .pending else { return }
    main = .accepted
    for channel in channels { channel.handle(channel.namespace.isEmpty ? .accepted(sid: nil) : .mainAccepted) }
  }

  /// The server accepted a namespace with words that are not read.
  private func receiveFailedConnect(_ namespace: [UInt8], _ problem: SocketIOProblem) {
    answered()
    if !takeDueReply(namespace) { channel(namespace)?.handle(.failed(problem.failure)) }
  }

  private func receiveRefusal(_ namespace: [UInt8], _ refusal: SocketIORefusal) {
    answered()
    if detection.state == .settling, namespace.isEmpty { perform(detection.handle(.oldAnswer)) }
    if takeDueReply(namespace) { return }
    let failure = refusal.failure(.refused, namespace)
    if revision == .three, namespace.isEmpty, main == .pending { return mainClosed(failure) }
    guard let channel = channel(namespace) else { return }
    // Revision 3 servers also report errors of single packets this way.
    if revision == .three, channel.isJoined { return }
    channel.handle(.failed(failure))
  }

  private func receiveDisconnect(_ namespace: [UInt8], _ refusal: SocketIORefusal?) {
    let failure = (refusal ?? SocketIORefusal()).failure(.kicked, namespace)
    if revision == .three, namespace.isEmpty { main = .closed }
    channel(namespace)?.handle(.failed(failure))
  }

  /// Without the main namespace a revision 3 server admits to no other.
  private func mainClosed(_ failure: UpstreamFailure) {
    main = .closed
    for channel in channels { channel.handle(.failed(failure)) }
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

  private func bytes(_ text: RawSpan, _ range: Range<Int>) -> [UInt8] {
    text.extracting(range).withUnsafeBytes { [UInt8]($0) }
  }
}
