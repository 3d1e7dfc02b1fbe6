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

  /// Reads one message. The packet's ranges point into the text, whose JSON is in the local form.
  static func read(
    _ bytes: RawSpan, binaryLimit: Int, byteLimit: Int
  ) throws(SocketIOProblem) -> (packet: SocketIOPacket, text: [UInt8]) {
    let members: Members
    do throws(MsgpackProblem) { members = try scan(bytes) } catch { throw .malformedMsgpack }
    guard let number = members.type, let kind = UInt8(exactly: number).flatMap(SocketIOPacket.Kind.init), !kind.isBinary
    else { throw .unknownType }
    let ack = try ack(members.ack, kind)
    guard let range = members.namespace else { throw .malformedPayload }
    var text = MsgpackText(reserving: bytes.byteCount + 16, binaryLimit: binaryLimit, byteLimit: byteLimit)
    do throws(MsgpackProblem) { try text.append(bare: range, of: bytes) } catch { throw .malformedPayload }
    var packet = SocketIOPacket(
      kind: kind, namespace: 0..<range.count, ack: ack, content: .disconnect(nil))
    if range.count == 1, JSONScanner.byte(bytes, range.lowerBound) == UInt8(ascii: "/") { packet.namespace = 0..<0 }
    do throws(MsgpackProblem) { packet.content = try content(kind, bytes, members.data, &text) } catch {
      packet.content = try unreadable(error, kind)
    }
    let written = text.finish()
    if case .event(let name, _) = packet.content, SocketIOEventName.isReserved(written.span.bytes, name) {
      throw .reservedEvent
    }
    return (packet, written)
  }

  /// One map and nothing behind it. Of repeated members the last counts; others are passed over.
  private static func scan(_ bytes: RawSpan) throws(MsgpackProblem) -> Members {
    var members = Members()
    var at = 0
    guard case .map(let count) = try MsgpackScanner.next(bytes, &at) else { throw .malformed }
    for _ in 0..<count {
      let keyStart = at
      let key = try MsgpackScanner.next(bytes, &at)
      if case .string = key {
      } else {
        at = keyStart
        try MsgpackScanner.skip(bytes, &at)
      }
      let value = at
      try MsgpackScanner.skip(bytes, &at)
      guard case .string(let name) = key else { continue }
      try note(&members, bytes, bytes.extracting(name), value)
    }
    guard at == bytes.byteCount else { throw .malformed }
    return members
  }

  private static func note(
    _ members: inout Members, _ bytes: RawSpan, _ name: RawSpan, _ value: Int
  ) throws(MsgpackProblem) {
    var at = value
    let item = try MsgpackScanner.next(bytes, &at)
    if isName(name, "type"), case .integer(let number) = item { members.type = number }
    if isName(name, "nsp"), case .string(let range) = item { members.namespace = range }
    if isName(name, "id") { members.ack = item }
    if isName(name, "data") { members.data = isNothing(item, bytes) ? nil : value }
  }

  private static func isName(_ name: RawSpan, _ expected: StaticString) -> Bool {
    name.byteCount == expected.utf8CodeUnitCount && JSONScanner.bytesEqual(name, 0, expected)
  }

  /// Nil, or JavaScript's `undefined` as the reference client's encoder writes it.
  private static func isNothing(_ item: MsgpackScanner.Item, _ bytes: RawSpan) -> Bool {
    switch item {
    case .null: true
    case .extended(type: 0, let range, isFixed: true): range.count == 1
    case .bool, .integer, .unsigned, .float, .string, .binary, .array, .map, .extended: false
    }
  }

  private static func ack(_ item: MsgpackScanner.Item, _ kind: SocketIOPacket.Kind) throws(SocketIOProblem) -> UInt64? {
    let ack: UInt64?
    switch item {
    case .null, .extended(type: 0, _, isFixed: true): ack = nil
    case .integer(let number):
      guard number >= 0 else { throw .malformedAck }
      ack = UInt64(number)
    case .unsigned(let number): ack = number
    case .bool, .float, .string, .binary, .array, .map, .extended: throw .malformedAck
    }
    switch kind {
    case .acknowledgement, .binaryAcknowledgement: guard ack != nil else { throw .malformedAck }
    case .connect, .disconnect, .connectError: guard ack == nil else { throw .malformedAck }
    case .event, .binaryEvent: break
    }
    return ack
  }

  /// A line of the local protocol wraps arguments in three more levels.
  private static let depthLimit = JSONScanner.depthLimit - 3

  private static func content(
    _ kind: SocketIOPacket.Kind, _ bytes: RawSpan, _ data: Int?, _ text: inout MsgpackText
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
    try text.append(bytes, &at, depth: depthLimit)
    return start..<text.count
  }

  /// Values with commas between them.
  private static func elements(
    _ count: Int, _ bytes: RawSpan, _ at: inout Int, _ text: inout MsgpackText
  ) throws(MsgpackProblem) -> Range<Int> {
    let start = text.count
    for index in 0..<count {
      if index > 0 { text.append(UInt8(ascii: ",")) }
      try text.append(bytes, &at, depth: depthLimit)
    }
    return start..<text.count
  }

  /// Whatever cannot be shown is one event lost; in any other packet, and where the data is of the wrong kind, the
  /// server broke the protocol.
  private static func unreadable(
    _ problem: MsgpackProblem, _ kind: SocketIOPacket.Kind
  ) throws(SocketIOProblem) -> SocketIOPacket.Content {
    switch (problem, kind) {
    case (.tooManyBinaries(let limit), _): throw .tooManyAttachments(limit: limit)
    case (.undecodable, .event), (.undecodable, .acknowledgement): return .unreadable(.undecodable)
    case (.tooLarge, .event), (.tooLarge, .acknowledgement): return .unreadable(.tooLarge)
    case (.undecodable, .disconnect), (.tooLarge, .disconnect): return .disconnect(nil)
    case (.undecodable, .connectError), (.tooLarge, .connectError): return .connectError(nil)
    case (.malformed, _), (.undecodable, _), (.tooLarge, _): throw .malformedPayload
    }
  }
}
