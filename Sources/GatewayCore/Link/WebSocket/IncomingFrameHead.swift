/// The head of a frame that a server sends (RFC 6455 section 5.2): never masked, its length in the fewest bytes.
struct IncomingFrameHead: Equatable, Sendable {
  /// Bytes of the longest head: two, and eight for the length.
  static let longest = 10

  let opcode: FrameOpcode
  let isFinal: Bool
  /// RSV1, the mark of a compressed message. RSV2 and RSV3 mean nothing that anybody agrees on.
  let isMarked: Bool
  /// Bytes of payload.
  let length: Int
  /// Bytes of the head itself.
  let byteCount: Int

  /// Reads the head that bytes begin with; nil where more of them are needed.
  @inline(__always)
  init?(parsing bytes: UnsafeRawBufferPointer) throws(FrameReader.Problem) {
    guard bytes.count >= 2 else { return nil }
    let (first, second) = (bytes[0], bytes[1])
    // Bits that nobody agreed on, or a masked frame, which only a client may send.
    guard first & 0x30 == 0, second & 0x80 == 0, let opcode = FrameOpcode(rawValue: first & 15) else {
      throw .violation
    }
    self.opcode = opcode
    isFinal = first & 0x80 != 0
    isMarked = first & 0x40 != 0
    // Section 5.5: a control frame is whole and short.
    guard !opcode.isControl || isFinal && second < 126 else { throw .violation }
    switch second {
    case 126:
      guard bytes.count >= 4 else { return nil }
      length = Int(UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self)))
      byteCount = 4
      guard length > 125 else { throw .violation }
    case 127:
      guard bytes.count >= 10 else { return nil }
      length = Int(bitPattern: UInt(UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt64.self))))
      byteCount = 10
      // The highest bit must be clear, so that a negative number is none.
      guard length > 65_535 else { throw .violation }
    default:
      length = Int(second)
      byteCount = 2
    }
  }
}
