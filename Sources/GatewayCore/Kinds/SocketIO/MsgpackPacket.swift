/// Socket.IO packets as MessagePack: each is one binary message with a map of `type`, `nsp`, `data` and, where an
/// acknowledgement is meant, `id`. The form of the reference client's msgpack parser, which has neither attachments nor
/// packet types for them.
enum MsgpackPacket {
  /// Appends one packet. `namespace` is empty for the main one; `data` is MessagePack, empty for none.
  static func append(
    _ kind: SocketIOPacket.Kind, namespace: [UInt8], ack: UInt64?, data: [UInt8], to output: inout MsgpackOutput
  ) {
    output.map(2 + (data.isEmpty ? 0 : 1) + (ack == nil ? 0 : 1))
    key("type", &output)
    output.unsigned(UInt64(kind.rawValue))
    key("nsp", &output)
    if namespace.isEmpty { key("/", &output) } else { output.string(namespace.span.bytes) }
    if !data.isEmpty {
      key("data", &output)
      output.bytes += data
    }
    guard let ack else { return }
    key("id", &output)
    output.unsigned(ack)
  }

  /// The most bytes that `append` writes for an event or an acknowledgement.
  static func sizeLimit(dataCount: Int, namespace: [UInt8]) -> Int { dataCount + namespace.count + 32 }

  private static func key(_ name: StaticString, _ output: inout MsgpackOutput) {
    output.bytes.append(0xa0 | UInt8(name.utf8CodeUnitCount))
    output.bytes.append(name)
  }

  /// Where the members of a packet stand.
  private struct Members {
    var type: Int64?
    var namespace: Range<Int>?
    var ack: MsgpackScanner.Item = .null
    var data: Int?
  }

  /// Reads one message. The packet's ranges point into the text, whose JSON is in the local form. `long` is what is
  /// known of it already. What would be longer than `lineLimit` is not translated to its end.
  static func read(
    _ bytes: RawSpan, _ long: MsgpackOutline? = nil, binaryLimit: Int, lineLimit: Int
  ) throws(SocketIOProblem) -> (packet: SocketIOPacket, text: [UInt8], long: LongEvent?) {
    let members: Members
    do throws(MsgpackProblem) { members = try scan(bytes, long) } catch { throw .malformedMsgpack }
    guard let number = members.type, let kind = UInt8(exactly: number).flatMap(SocketIOPacket.Kind.init), !kind.isBinary
    else { throw .unknownType }
    guard let range = members.namespace, range.count <= SocketIOPacket.headLimit else { throw .malformedNamespace }
    let isMessage = kind == .event || kind == .acknowledgement
    let limit = isMessage ? lineLimit : SocketIOPacket.wordLimit
    var text = MsgpackText(
      reserving: min(2 * bytes.byteCount, limit) + 16, binaryLimit: binaryLimit, byteLimit: limit + range.count)
    do throws(MsgpackProblem) { try text.append(bare: range, of: bytes) } catch { throw .malformedNamespace }
    var packet = SocketIOPacket(kind: kind, namespace: 0..<range.count, ack: nil, content: .disconnect(nil))
    if range.count == 1, JSONScanner.byte(bytes, range.lowerBound) == UInt8(ascii: "/") { packet.namespace = 0..<0 }
    if isMessage {
      do throws(SocketIOFlaw) { packet.ack = try ack(members.ack, kind) } catch {
        packet.content = .unreadable(error)
        return (packet, text.finish(), nil)
      }
    }
    var name: Range<Int>?
    do throws(MsgpackProblem) { packet.content = try content(kind, bytes, members.data, &text, &name) } catch {
      packet.content = try unreadable(error, kind)
    }
    let written = text.finish()
    guard packet.content == .unreadable(.tooLarge), kind == .acknowledgement || name != nil else {
      return (packet, written, nil)
    }
    return (packet, written, LongEvent(written.span.bytes, name: name ?? 0..<0, size: bytes.byteCount, ack: packet.ack))
  }

  /// What looks at a long message while it comes.
  static func outline() -> MsgpackOutline { MsgpackOutline(of: ["type", "nsp", "id", "data"]) }

  /// One map and nothing behind it. Of repeated members the last counts; others are passed over.
  private static func scan(_ bytes: RawSpan, _ long: MsgpackOutline?) throws(MsgpackProblem) -> Members {
    var outline = long ?? outline()
    try outline.advance(bytes, isWhole: true)
    var members = Members()
    if case .integer(let number)? = try item(bytes, outline.values[0]) { members.type = number }
    if case .string(let range)? = try item(bytes, outline.values[1]) { members.namespace = range }
    if let item = try item(bytes, outline.values[2]) { members.ack = item }
    if let item = try item(bytes, outline.values[3]), !isNothing(item, bytes) { members.data = outline.values[3] }
    return members
  }

  private static func item(_ bytes: RawSpan, _ value: Int?) throws(MsgpackProblem) -> MsgpackScanner.Item? {
    guard var at = value else { return nil }
    return try MsgpackScanner.next(bytes, &at)
  }

  /// Nil, or JavaScript's `undefined` as the reference client's encoder writes it.
  private static func isNothing(_ item: MsgpackScanner.Item, _ bytes: RawSpan) -> Bool {
    switch item {
    case .null: true
    case .extended(type: 0, let range, isFixed: true): range.count == 1
    case .bool, .integer, .unsigned, .float, .string, .binary, .array, .map, .extended: false
    }
  }

  /// The id of an event or an acknowledgement; nil where an event has none.
  private static func ack(_ item: MsgpackScanner.Item, _ kind: SocketIOPacket.Kind) throws(SocketIOFlaw) -> UInt64? {
    let ack: UInt64?
    switch item {
    case .null, .extended(type: 0, _, isFixed: true): ack = nil
    case .integer(let number):
      guard number >= 0 else { throw .malformedAck }
      ack = UInt64(number)
    case .unsigned(let number): ack = number
    case .bool, .float, .string, .binary, .array, .map, .extended: throw .malformedAck
    }
    guard ack != nil || kind == .event else { throw .malformedAck }
    return ack
  }

  private static func content(
    _ kind: SocketIOPacket.Kind, _ bytes: RawSpan, _ data: Int?, _ text: inout MsgpackText,
    _ eventName: inout Range<Int>?
  ) throws(MsgpackProblem) -> SocketIOPacket.Content {
    var at = data ?? 0
    let first = data == nil ? MsgpackScanner.Item.null : try MsgpackScanner.next(bytes, &at)
    switch (kind, first) {
    case (.connect, .map): return .connect(try value(bytes, data, &text))
    case (.connect, .null): return .connect(nil)
    case (.connect, _): return .malformedConnect
    case (.disconnect, .null): return .disconnect(nil)
    case (.disconnect, _): return .disconnect(try value(bytes, data, &text))
    case (.connectError, .null): return .connectError(nil)
    case (.connectError, _): return .connectError(try value(bytes, data, &text))
    case (.event, .array(let count)) where count > 0:
      var next = at
      switch try MsgpackScanner.next(bytes, &next) {
      case .string, .integer, .unsigned: break
      case .float(let number) where number.isFinite: break
      case .null, .bool, .float, .binary, .array, .map, .extended: throw .malformed
      }
      let start = text.count
      try text.append(bytes, &at, depth: 0)
      let name = start..<text.count
      eventName = name
      return .event(name: name, arguments: try elements(count - 1, bytes, &at, &text))
    case (.acknowledgement, .array(let count)):
      return .acknowledgement(arguments: try elements(count, bytes, &at, &text))
    default: throw .malformed
    }
  }

  private static func value(_ bytes: RawSpan, _ data: Int?, _ text: inout MsgpackText) throws(MsgpackProblem) -> Range<
    Int
  > {
    let start = text.count
    var at = data ?? bytes.byteCount
    try text.append(bytes, &at, depth: LineDepth.argumentLimit)
    return start..<text.count
  }

  /// Values with commas between them.
  private static func elements(
    _ count: Int, _ bytes: RawSpan, _ at: inout Int, _ text: inout MsgpackText
  ) throws(MsgpackProblem) -> Range<Int> {
    let start = text.count
    for index in 0..<count {
      if index > 0 { text.append(UInt8(ascii: ",")) }
      try text.append(bytes, &at, depth: LineDepth.argumentLimit)
    }
    return start..<text.count
  }

  /// What a packet is that cannot be shown. Only a bound that is set for all messages is told by the end of the link.
  private static func unreadable(
    _ problem: MsgpackProblem, _ kind: SocketIOPacket.Kind
  ) throws(SocketIOProblem) -> SocketIOPacket.Content {
    switch (problem, kind) {
    case (.tooManyBinaries(let limit), _): throw .tooManyAttachments(limit: limit)
    case (_, .disconnect): return .disconnect(nil)
    case (_, .connectError): return .connectError(nil)
    case (.tooLarge, .connect): return .oversizedConnect
    case (_, .connect): return .malformedConnect
    case (.malformed, _): return .unreadable(.malformedPayload)
    case (.undecodable, _): return .unreadable(.undecodable)
    case (.tooLarge, _): return .unreadable(.tooLarge)
    }
  }
}
