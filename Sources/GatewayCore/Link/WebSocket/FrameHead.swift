/// The head of a frame that a client sends (RFC 6455 section 5.2): final, masked, and as short as its length allows.
public struct FrameHead: Equatable, Sendable {
  /// Bytes of the longest head: two, eight for the length, four for the mask.
  static let longest = 14

  /// The octets, the first one lowest.
  private let words: SIMD2<UInt64>
  public let count: Int

  /// The octets.
  @inline(__always)
  public func withBytes(_ body: (UnsafeRawBufferPointer) -> Void) {
    withUnsafeBytes(of: SIMD2(words[0].littleEndian, words[1].littleEndian)) {
      body(UnsafeRawBufferPointer(rebasing: $0[..<count]))
    }
  }

  /// - Parameters:
  ///   - reserved: RSV1 to RSV3 as the three lowest bits, RSV1 the highest of them.
  ///   - mask: four random bytes, the first to be sent lowest.
  public init(opcode: UInt8, reserved: UInt8 = 0, length: Int, mask: UInt32) {
    let first = UInt64(0x80 | (reserved & 7) << 4 | opcode & 15)
    let (mask, length) = (UInt64(mask), UInt64(length))
    switch length {
    case ..<126:
      words = SIMD2(first | (0x80 | length) << 8 | mask << 16, 0)
      count = 6
    case ..<65_536:
      words = SIMD2(first | (0x80 | 126) << 8 | (length.byteSwapped >> 48) << 16 | mask << 32, 0)
      count = 8
    default:
      // Its eight octets begin in one word and end in the other.
      let octets = length.byteSwapped
      words = SIMD2(first | (0x80 | 127) << 8 | octets << 16, octets >> 48 | mask << 16)
      count = 14
    }
  }
}

/// The masking of a frame's payload (RFC 6455 section 5.3), which may be done in pieces.
public struct FrameMask: Sendable {
  private let key: UInt32
  /// How many bytes were masked so far.
  private var done = 0

  /// `key`: the first byte lowest, as in `FrameHead`.
  public init(_ key: UInt32) { self.key = key }

  /// Writes the next bytes of the payload, masked, to `target`, which has to be as long.
  public mutating func apply(_ source: UnsafeRawBufferPointer, to target: UnsafeMutableRawBufferPointer) {
    precondition(target.count >= source.count)
    // The key as it stands at this place of the payload, twice.
    let turn = UInt32(done & 3) * 8
    let here = UInt64(turn == 0 ? key : key >> turn | key << (32 - turn))
    let word = here | here << 32
    var at = 0
    let block = SIMD4<UInt64>(repeating: word.littleEndian)
    while at &+ 32 <= source.count {
      let bytes = source.loadUnaligned(fromByteOffset: at, as: SIMD4<UInt64>.self)
      target.storeBytes(of: bytes ^ block, toByteOffset: at, as: SIMD4<UInt64>.self)
      at &+= 32
    }
    while at &+ 8 <= source.count {
      let bytes = source.loadUnaligned(fromByteOffset: at, as: UInt64.self)
      target.storeBytes(of: bytes ^ word.littleEndian, toByteOffset: at, as: UInt64.self)
      at &+= 8
    }
    if at &+ 4 <= source.count {
      let bytes = source.loadUnaligned(fromByteOffset: at, as: UInt32.self)
      let key = UInt32(truncatingIfNeeded: word).littleEndian
      target.storeBytes(of: bytes ^ key, toByteOffset: at, as: UInt32.self)
      at &+= 4
    }
    while at < source.count {
      target[at] = source[at] ^ UInt8(truncatingIfNeeded: word >> (8 * UInt64(at & 3)))
      at &+= 1
    }
    done &+= source.count
  }
}

/// The head of a frame that a server sends (RFC 6455 section 5.2): never masked, its length in the fewest bytes.
struct IncomingFrameHead: Equatable, Sendable {
  /// Bytes of the longest head: two, and eight for the length.
  static let longest = 10

  let opcode: FrameOpcode
  let isFinal: Bool
  /// RSV1, the mark of a compressed message. RSV2 and RSV3 belong to extensions that are not offered.
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
    // Bits of extensions that were not agreed on, or a masked frame, which only a client may send.
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

/// What a frame is (RFC 6455 section 5.2).
public enum FrameOpcode: UInt8, Sendable {
  case continuation = 0
  case text = 1
  case binary = 2
  case close = 8
  case ping = 9
  case pong = 10

  /// Section 5.5.
  var isControl: Bool { rawValue & 8 != 0 }
}
