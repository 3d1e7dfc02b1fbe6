/// Packets as people read them. What a packet carries is counted, never quoted.
enum PacketDescription {
  /// `EVENT chat (2 args, 58 bytes) ack 7`. `payload` is the packet's JSON text; `namespace` is empty for the main one.
  static func packet(
    _ kind: SocketIOPacket.Kind, _ namespace: String, attachments: Int, ack: UInt64?, payload: RawSpan
  ) -> String {
    let place = namespace.isEmpty ? "/" : namespace
    switch kind {
    case .connect: return "CONNECT \(place)" + size(payload, "payload")
    case .disconnect: return "DISCONNECT \(place)" + size(payload, "payload")
    case .connectError: return "CONNECT_ERROR \(place)" + size(payload, "payload")
    case .event, .binaryEvent:
      let (first, count) = Self.elements(payload)
      let name = first.map { Self.name(payload, $0) } ?? "?"
      let sizes = Self.sizes(max(0, count - 1), payload, attachments)
      return "EVENT \(name) (\(sizes))" + (ack.map { " ack \($0)" } ?? "")
    case .acknowledgement, .binaryAcknowledgement:
      let sizes = Self.sizes(elements(payload).count, payload, attachments)
      return "ACK \(ack.map { "\($0)" } ?? "?") (\(sizes))"
    }
  }

  /// The name of the event that a packet carries; nil where there is none to read.
  static func event(_ payload: RawSpan) -> String? {
    elements(payload).first.map { EventStream.name(of: payload.extracting($0)) }
  }

  /// `EVENT /chat (15000000 bytes, more than a line) ack 7`.
  static func packet(tooLong kind: SocketIOPacket.Kind, _ namespace: String, ack: UInt64?, size: Int) -> String {
    let isEvent = kind == .event || kind == .binaryEvent
    return "\(isEvent ? "EVENT" : "ACK") \(namespace.isEmpty ? "/" : namespace) (\(size) bytes, more than a line)"
      + (ack.map { " ack \($0)" } ?? "")
  }

  /// `EVENT /chat (malformed payload) ack 7`.
  static func packet(
    flawed kind: SocketIOPacket.Kind, _ namespace: String, ack: UInt64?, _ flaw: SocketIOFlaw
  ) -> String {
    let isEvent = kind == .event || kind == .binaryEvent
    return "\(isEvent ? "EVENT" : "ACK") \(namespace.isEmpty ? "/" : namespace) (\(flaw.clause))"
      + (ack.map { " ack \($0)" } ?? "")
  }

  /// `EVENT /chat (58 bytes of MessagePack) ack 7`.
  static func packet(msgpack kind: SocketIOPacket.Kind, _ namespace: String, ack: UInt64?, size: Int) -> String {
    let word =
      switch kind {
      case .connect: "CONNECT"
      case .disconnect: "DISCONNECT"
      case .connectError: "CONNECT_ERROR"
      case .event, .binaryEvent: "EVENT"
      case .acknowledgement, .binaryAcknowledgement: "ACK"
      }
    let place = namespace.isEmpty ? "/" : namespace
    return "\(word) \(place) (\(size) bytes of MessagePack)" + (ack.map { " ack \($0)" } ?? "")
  }

  /// `PING`, `HANDSHAKE …`.
  static func packet(_ packet: EngineIOPacket, _ text: RawSpan, _ revision: EngineIORevision) -> String {
    switch packet {
    case .open(let range):
      guard let handshake = try? EngineIOHandshake(parsing: text.extracting(range)) else {
        return "HANDSHAKE, malformed"
      }
      let limit = handshake.maxPayload.map { ", at most \($0) bytes" } ?? ""
      return
        "HANDSHAKE Engine.IO \(revision.rawValue), ping every \(handshake.pingInterval.milliseconds) ms, "
        + "time-out \(handshake.pingTimeout.milliseconds) ms" + limit
    case .close: return "CLOSE"
    case .ping(let range): return range.isEmpty ? "PING" : "PING (\(range.count) bytes)"
    case .pong: return "PONG"
    case .upgrade: return "UPGRADE"
    case .noop: return "NOOP"
    case .message(let range): return "MESSAGE (\(range.count) bytes)"
    case .binary(let range): return "BINARY (\(range.count) bytes)"
    case .decodedBinary(let bytes): return "BINARY (\(bytes.count) bytes)"
    }
  }

  /// `GET wss://host:443/socket.io/?EIO=4&transport=websocket&token=***, headers Cookie`.
  static func request(_ request: DialRequest) -> String {
    let host = UpstreamURL.bracketed(request.host)
    let scheme = request.secure ? "https" : "http"
    let names = request.headers.map(\.name).joined(separator: ", ")
    return "\(scheme)://\(host):\(request.port)\(Redaction.shown(target: request.target))"
      + (names.isEmpty ? "" : ", headers \(names)")
  }

  private static func size(_ payload: RawSpan, _ noun: String) -> String {
    payload.byteCount == 0 ? "" : " (\(noun) of \(payload.byteCount) bytes)"
  }

  private static func sizes(_ arguments: Int, _ payload: RawSpan, _ attachments: Int) -> String {
    TraceDescription.sizes(arguments, bytes: payload.byteCount)
      + (attachments == 0 ? "" : ", \(attachments) \(attachments == 1 ? "attachment" : "attachments")")
  }

  /// Where the first of them stands, and how many there are.
  private static func elements(_ payload: RawSpan) -> (first: Range<Int>?, count: Int) {
    var first: Range<Int>?
    var count = 0
    var at = 0
    JSONScanner.skipWhitespace(payload, &at)
    try? JSONScanner.scanArray(payload, &at) { element in
      if count == 0 { first = element }
      count += 1
    }
    return (first, count)
  }

  private static func name(_ payload: RawSpan, _ range: Range<Int>) -> String {
    let isText = JSONScanner.byte(payload, range.lowerBound) == UInt8(ascii: "\"")
    return isText
      ? JSONScanner.decodeString(payload, range, shortenedTo: TraceDescription.nameLimit)
      : String(shortening: payload.extracting(range), to: TraceDescription.nameLimit)
  }
}
