/// Walks over MessagePack data without building anything, as `JSONScanner` does over JSON: heads are read, the bytes of
/// strings and binaries stay where they are. MessagePack specification, section "Formats".
enum MsgpackScanner {
  /// One value, or the head of one that holds others.
  enum Item: Equatable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    /// Only beyond the range of `integer`.
    case unsigned(UInt64)
    case float(Double)
    /// Where its bytes stand, which need not be UTF-8.
    case string(Range<Int>)
    case binary(Range<Int>)
    /// How many values follow.
    case array(Int)
    /// How many pairs of key and value follow.
    case map(Int)
    /// `isFixed` for the forms whose head implies the length.
    case extended(type: Int8, Range<Int>, isFixed: Bool)
  }

  /// Reads the item at `at` and leaves `at` behind it; behind the head of an array or a map, whose announced number of
  /// values is never larger than the number of bytes that are left, unless more has to come.
  static func next(_ bytes: RawSpan, _ at: inout Int, isWhole: Bool = true) throws(MsgpackProblem) -> Item {
    let end = isWhole ? bytes.byteCount : Int.max
    let first = try number(bytes, &at, width: 1)
    switch first {
    case 0x00...0x7f: return .integer(Int64(first))
    case 0x80...0x8f: return .map(try count(first & 15, of: 2, at, end))
    case 0x90...0x9f: return .array(try count(first & 15, of: 1, at, end))
    case 0xa0...0xbf: return .string(try content(first & 31, bytes, &at))
    case 0xc0: return .null
    case 0xc2: return .bool(false)
    case 0xc3: return .bool(true)
    case 0xc4...0xc6: return .binary(try content(try number(bytes, &at, width: 1 << (first - 0xc4)), bytes, &at))
    case 0xc7...0xc9:
      return try extended(try number(bytes, &at, width: 1 << (first - 0xc7)), isFixed: false, bytes, &at)
    case 0xca: return .float(Double(Float(bitPattern: UInt32(try number(bytes, &at, width: 4)))))
    case 0xcb: return .float(Double(bitPattern: try number(bytes, &at, width: 8)))
    case 0xcc...0xcf:
      let value = try number(bytes, &at, width: 1 << (first - 0xcc))
      return Int64(exactly: value).map { .integer($0) } ?? .unsigned(value)
    case 0xd0...0xd3: return .integer(try signed(bytes, &at, width: 1 << (first - 0xd0)))
    case 0xd4...0xd8: return try extended(1 << (first - 0xd4), isFixed: true, bytes, &at)
    case 0xd9...0xdb: return .string(try content(try number(bytes, &at, width: 1 << (first - 0xd9)), bytes, &at))
    case 0xdc, 0xdd: return .array(try count(try number(bytes, &at, width: 2 << (first - 0xdc)), of: 1, at, end))
    case 0xde, 0xdf: return .map(try count(try number(bytes, &at, width: 2 << (first - 0xde)), of: 2, at, end))
    case 0xe0...0xff: return .integer(Int64(first) - 0x100)
    default: throw .malformed
    }
  }

  /// A big-endian number of 1, 2, 4 or 8 bytes.
  private static func number(_ bytes: RawSpan, _ at: inout Int, width: UInt64) throws(MsgpackProblem) -> UInt64 {
    guard Int(width) <= bytes.byteCount - at else { throw .malformed }
    var value: UInt64 = 0
    for _ in 0..<width {
      value = value << 8 | UInt64(JSONScanner.byte(bytes, at))
      at += 1
    }
    return value
  }

  private static func signed(_ bytes: RawSpan, _ at: inout Int, width: UInt64) throws(MsgpackProblem) -> Int64 {
    let shift = 64 - 8 * width
    return Int64(bitPattern: try number(bytes, &at, width: width) << shift) >> shift
  }

  private static func content(_ length: UInt64, _ bytes: RawSpan, _ at: inout Int) throws(MsgpackProblem) -> Range<Int>
  {
    guard length <= UInt64(bytes.byteCount - at) else { throw .malformed }
    let range = at..<at + Int(length)
    at = range.upperBound
    return range
  }

  private static func extended(
    _ length: UInt64, isFixed: Bool, _ bytes: RawSpan, _ at: inout Int
  ) throws(MsgpackProblem) -> Item {
    let type = Int8(truncatingIfNeeded: try number(bytes, &at, width: 1))
    return .extended(type: type, try content(length, bytes, &at), isFixed: isFixed)
  }

  /// Each value takes at least one byte.
  private static func count(_ count: UInt64, of width: UInt64, _ at: Int, _ end: Int) throws(MsgpackProblem) -> Int {
    guard count <= UInt64(end - at) / width else { throw .malformed }
    return Int(count)
  }
}

/// Why MessagePack data from a server is not handed on.
enum MsgpackProblem: Error, Equatable, Sendable {
  /// It is no MessagePack, or ends too early.
  case malformed
  /// It is, but holds something that has no form in JSON.
  case undecodable
  /// More binary values than allowed.
  case tooManyBinaries(limit: Int)
  /// Its JSON text would be larger than allowed.
  case tooLarge
}
