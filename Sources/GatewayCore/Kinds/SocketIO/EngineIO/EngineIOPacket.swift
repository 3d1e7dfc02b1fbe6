/// One Engine.IO packet as it arrived in one WebSocket message. Ranges are offsets into that message.
/// Engine.IO protocol, section "Packet encoding".
enum EngineIOPacket: Equatable, Sendable {
  /// The server's handshake: JSON text.
  case open(Range<Int>)
  case close
  /// The data, mostly none, is to be echoed.
  case ping(Range<Int>)
  case pong
  case message(Range<Int>)
  case binary(Range<Int>)
  /// Binary data that came as base64 text.
  case decodedBinary([UInt8])
  case upgrade
  case noop

  private static let base64Mark = UInt8(ascii: "b")
  private static let messageDigit = UInt8(ascii: "4")
  /// The packet type in front of binary data, revision 3 only.
  static let binaryMessageByte: UInt8 = 4

  /// Whether a text is a message, whose content then begins at 1.
  static func isMessage(_ text: RawSpan) -> Bool { JSONScanner.byte(text, 0) == messageDigit }

  /// How many bytes of binary data a text is the base64 of; nil for any other packet.
  static func binaryCount(_ text: RawSpan) -> Int? {
    JSONScanner.byte(text, 0) == base64Mark ? text.byteCount / 4 * 3 : nil
  }

  /// Decodes one text message.
  init(text: RawSpan, revision: EngineIORevision) throws(EngineIOProblem) {
    let count = text.byteCount
    guard count > 0 else { throw .emptyPacket }
    let rest = 1..<count
    switch text.unsafeLoad(fromByteOffset: 0, as: UInt8.self) {
    case Self.messageDigit: self = .message(rest)
    case UInt8(ascii: "2"): self = .ping(rest)
    case UInt8(ascii: "3"): self = .pong
    case UInt8(ascii: "0"): self = .open(rest)
    case UInt8(ascii: "1"): self = .close
    case UInt8(ascii: "5"): self = .upgrade
    case UInt8(ascii: "6"): self = .noop
    case Self.base64Mark: self = .decodedBinary(try Self.decodeBase64(text, revision: revision))
    case let other: throw .unknownType(other)
    }
  }

  /// Decodes one binary message: the bare data in revision 4, in revision 3 behind the packet type as a number.
  init(binary: RawSpan, revision: EngineIORevision) throws(EngineIOProblem) {
    switch revision {
    case .four: self = .binary(0..<binary.byteCount)
    case .three:
      guard binary.byteCount > 0 else { throw .emptyPacket }
      let type = binary.unsafeLoad(fromByteOffset: 0, as: UInt8.self)
      guard type == Self.binaryMessageByte else { throw .unknownType(type) }
      self = .binary(1..<binary.byteCount)
    }
  }

  /// `b<base64>` in revision 4, `b4<base64>` in revision 3.
  private static func decodeBase64(_ text: RawSpan, revision: EngineIORevision) throws(EngineIOProblem) -> [UInt8] {
    var start = 1
    if revision == .three {
      guard text.byteCount > 1 else { throw .emptyPacket }
      let type = text.unsafeLoad(fromByteOffset: 1, as: UInt8.self)
      guard type == messageDigit else { throw .unknownType(type) }
      start = 2
    }
    guard let bytes = Base64.decode(text.extracting(start..<text.byteCount)) else { throw .malformedBase64 }
    return bytes
  }
}
