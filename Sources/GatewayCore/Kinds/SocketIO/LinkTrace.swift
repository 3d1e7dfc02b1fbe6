/// Puts what goes over a link into words for the observers of its connections: what concerns the whole link for all of
/// them, packets for the namespace's own. Shared by all parts of the link; does nothing while there is no observer.
final class LinkTrace: EngineIOSocket.Observer {
  /// One observed connection.
  struct Observed {
    /// As packets name it; empty for the main one.
    var namespace: [UInt8]
    var observer: any UpstreamObserver
  }

  private var observed: [Observed] = []
  private var redaction = Redaction()
  /// What the link speaks, or tries to.
  var revision = EngineIORevision.four

  /// Whether anything is put into words.
  var isWatched: Bool { !observed.isEmpty }

  /// Tells these observers from now on. `secrets` are the auth payloads of the link's connections, `request` is what it
  /// dials.
  func tell(_ observed: [Observed], request: DialRequest, secrets: [[UInt8]]) {
    self.observed = observed
    redaction = Redaction()
    redaction.add(request)
    for secret in secrets { redaction.add(json: secret) }
  }

  /// The last observer has gone.
  func stop() { observed = [] }

  // MARK: - Packets of a namespace

  /// `payload` is the packet's JSON text.
  func sent(
    _ kind: SocketIOPacket.Kind, _ namespace: [UInt8], attachments: Int, ack: UInt64?, payload: RawSpan
  ) {
    packet(.outgoing, kind, namespace, attachments: attachments, ack: ack, payload: payload)
  }

  /// A packet in MessagePack, `packet`, which is shown as JSON like one of the server; `size` is that of its payload.
  func sent(
    _ kind: SocketIOPacket.Kind, _ namespace: [UInt8], ack: UInt64?, msgpack packet: RawSpan, size: Int
  ) {
    guard !concerned(namespace).isEmpty else { return }
    guard let payload = Self.payload(ofMsgpack: packet) else {
      return sent(msgpack: kind, namespace, ack: ack, size: size)
    }
    self.packet(.outgoing, kind, namespace, attachments: 0, ack: ack, payload: payload.span.bytes)
  }

  /// What a packet carries, as one JSON text; nil for one that cannot be shown or is longer than lines mostly are.
  private static func payload(ofMsgpack bytes: RawSpan) -> [UInt8]? {
    let known = try? MsgpackPacket.read(bytes, binaryLimit: .max, lineLimit: msgpackLimit)
    guard let known, known.long == nil else { return nil }
    switch known.packet.content {
    case .malformedConnect, .oversizedConnect, .unreadable: return nil
    case .connect, .disconnect, .connectError, .event, .acknowledgement:
      return payload(of: known.packet, known.text.span.bytes)
    }
  }

  /// Most bytes of JSON that a packet in MessagePack is translated to.
  private static let msgpackLimit = 1 << 20

  /// A packet in MessagePack, whose payload is only counted.
  func sent(msgpack kind: SocketIOPacket.Kind, _ namespace: [UInt8], ack: UInt64?, size: Int) {
    let concerned = concerned(namespace)
    guard !concerned.isEmpty else { return }
    let text = PacketDescription.packet(msgpack: kind, Self.shown(namespace), ack: ack, size: size)
    for one in concerned { one.observer.observed(TraceFact(.outgoing, .socketio, text, of: Self.subject(kind))) }
  }

  /// A packet of the server, whose text begins at `start`.
  func received(_ packet: SocketIOPacket, _ text: RawSpan, attachments: Int) {
    guard isWatched else { return }
    let namespace = text.extracting(packet.namespace).withUnsafeBytes { [UInt8]($0) }
    if case .unreadable(let flaw) = packet.content { return received(flaw, packet, namespace) }
    self.packet(
      .incoming, packet.kind, namespace, attachments: attachments, ack: packet.ack,
      payload: Self.payload(of: packet, text).span.bytes)
  }

  private func received(_ flaw: SocketIOFlaw, _ packet: SocketIOPacket, _ namespace: [UInt8]) {
    let text = PacketDescription.packet(flawed: packet.kind, Self.shown(namespace), ack: packet.ack, flaw)
    let fact = TraceFact(.incoming, .socketio, text, of: Self.subject(packet.kind))
    for one in concerned(namespace) { one.observer.observed(fact) }
  }

  /// A packet that is longer than a line, of which only the size is told.
  func received(_ long: LongEvent, _ kind: SocketIOPacket.Kind, _ namespace: [UInt8]) {
    let concerned = concerned(namespace)
    guard !concerned.isEmpty else { return }
    let text = PacketDescription.packet(tooLong: kind, Self.shown(namespace), ack: long.ack, size: long.size)
    for one in concerned { one.observer.observed(TraceFact(.incoming, .socketio, text, of: Self.subject(kind))) }
  }

  private func packet(
    _ direction: TraceFact.Direction, _ kind: SocketIOPacket.Kind, _ namespace: [UInt8], attachments: Int, ack: UInt64?,
    payload: RawSpan
  ) {
    let concerned = concerned(namespace)
    guard !concerned.isEmpty else { return }
    var fact = TraceFact(
      direction, .socketio,
      PacketDescription.packet(kind, Self.shown(namespace), attachments: attachments, ack: ack, payload: payload),
      of: Self.subject(kind, payload))
    if payload.byteCount > 0, concerned.contains(where: \.observer.wantsPayloads) {
      fact.payload = self.payload(kind, payload)
    }
    for one in concerned { one.observer.observed(fact) }
  }

  /// Of a packet whose event is not known.
  private static func subject(_ kind: SocketIOPacket.Kind) -> TraceFact.Subject {
    switch kind {
    case .connect, .disconnect, .connectError: .link
    case .event, .binaryEvent, .acknowledgement, .binaryAcknowledgement: .message
    }
  }

  /// `payload` is the packet's JSON text, where the name of its event stands first.
  private static func subject(_ kind: SocketIOPacket.Kind, _ payload: RawSpan) -> TraceFact.Subject {
    guard kind == .event || kind == .binaryEvent, let name = PacketDescription.event(payload) else {
      return subject(kind)
    }
    return .event(name)
  }

  /// The observers of a namespace, with or without its query.
  private func concerned(_ namespace: [UInt8]) -> [Observed] {
    observed.filter { Self.bare($0.namespace).elementsEqual(Self.bare(namespace)) }
  }

  /// A namespace without its query, which may hold credentials.
  private static func bare(_ namespace: [UInt8]) -> ArraySlice<UInt8> { namespace.prefix { $0 != UInt8(ascii: "?") } }

  private static func shown(_ namespace: [UInt8]) -> String {
    let bare = bare(namespace)
    return String(shortening: bare.span.bytes, to: TraceDescription.nameLimit)
      + (bare.count < namespace.count ? "?\(Redaction.mark)" : "")
  }

  /// What a packet carries, as one JSON text.
  private static func payload(of packet: SocketIOPacket, _ text: RawSpan) -> [UInt8] {
    switch packet.content {
    case .connect(let range), .disconnect(let range), .connectError(let range):
      guard let range else { return [] }
      return bytes(text, range)
    case .malformedConnect, .oversizedConnect: return []
    case .event(let name, let arguments):
      let comma = arguments.isEmpty ? [] : [UInt8(ascii: ",")]
      return [UInt8(ascii: "[")] + bytes(text, name) + comma + bytes(text, arguments) + [UInt8(ascii: "]")]
    case .acknowledgement(let arguments): return [UInt8(ascii: "[")] + bytes(text, arguments) + [UInt8(ascii: "]")]
    case .unreadable: return []
    }
  }

  private static func bytes(_ text: RawSpan, _ range: Range<Int>) -> [UInt8] {
    text.extracting(range).withUnsafeBytes { [UInt8]($0) }
  }

  /// Credentials and session ids are never shown, other payloads without the secrets that are known.
  private func payload(_ kind: SocketIOPacket.Kind, _ payload: RawSpan) -> String {
    switch kind {
    case .connect:
      let keys = Self.keys(of: payload)
      return redaction.shown(keys.span.bytes, limit: TraceFact.payloadLimit)
    case .disconnect, .event, .acknowledgement, .connectError, .binaryEvent, .binaryAcknowledgement:
      return redaction.shown(payload, limit: TraceFact.payloadLimit)
    }
  }

  private static func keys(of payload: RawSpan) -> [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    var at = 0
    try? JSONScanner.scanObject(payload, &at) { key, _ in
      guard writer.bytes.count < TraceFact.payloadLimit else { return }
      writer.member(JSONScanner.decodeString(payload, key, shortenedTo: TraceDescription.nameLimit), Redaction.mark)
    }
    writer.endObject()
    return writer.bytes
  }

  // MARK: - The link itself

  func dialled(_ request: DialRequest) {
    guard isWatched else { return }
    redaction.add(request)
    tell(.outgoing, .http, "DIAL \(PacketDescription.request(request))")
  }

  func opened(_ facts: TransportFacts) {
    tell(.incoming, .http, TraceDescription.opened(facts))
  }

  func closed(_ failure: UpstreamFailure) { tell(.incoming, .http, "CLOSED \(TraceDescription.failure(failure))") }

  /// By us, on purpose.
  func hungUp() { tell(.outgoing, .http, "CLOSE") }

  /// A packet of the session itself; `text` is the whole of it.
  func received(_ packet: EngineIOPacket, _ text: RawSpan) {
    switch packet {
    case .message, .binary, .decodedBinary: return
    case .open, .close, .ping, .pong, .upgrade, .noop: break
    }
    tell(.incoming, .engine, PacketDescription.packet(packet, text, revision))
  }

  /// A packet of the session itself, type included.
  func sent(_ packet: [UInt8]) {
    guard isWatched, let known = try? EngineIOPacket(text: packet.span.bytes, revision: revision) else { return }
    switch known {
    case .message, .binary, .decodedBinary: return
    case .open, .close, .ping, .pong, .upgrade, .noop:
      tell(.outgoing, .engine, PacketDescription.packet(known, packet.span.bytes, revision))
    }
  }

  private func tell(_ direction: TraceFact.Direction, _ layer: TraceFact.Layer, _ text: @autoclosure () -> String) {
    guard isWatched else { return }
    let fact = TraceFact(direction, layer, text())
    for one in observed { one.observer.observed(fact) }
  }
}
