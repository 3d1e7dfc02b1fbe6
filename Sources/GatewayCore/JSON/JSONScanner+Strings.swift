/// Strings (RFC 8259 section 7) and the UTF-8 within them (RFC 3629).
extension JSONScanner {
  /// Scans the string whose opening quote stands at `at`. The range includes both quotes.
  @inline(__always)
  public static func scanString(_ text: RawSpan, _ at: inout Int) throws(JSONError) -> Range<Int> {
    let start = at
    guard byte(text, at) == UInt8(ascii: "\"") else { throw .syntax(at: at) }
    try stepOverString(text, &at)
    return start..<at
  }

  /// `at` stands on the opening quote and is left behind the closing one.
  static func stepOverString(_ text: RawSpan, _ at: inout Int) throws(JSONError) {
    at &+= 1
    while true {
      skipPlainBytes(text, &at)
      switch byte(text, at) {
      case UInt8(ascii: "\""):
        at &+= 1
        return
      case UInt8(ascii: "\\"): try stepOverEscape(text, &at)
      case 0x80...: try stepOverMultibyte(text, &at)
      case ..<0x20: throw .syntax(at: at)
      default: at &+= 1
      }
    }
  }

  /// Steps over bytes that need no attention, 32 and then eight at a time; may stop early, but never behind one that
  /// does.
  @inline(__always)
  private static func skipPlainBytes(_ text: RawSpan, _ at: inout Int) {
    skipPlainBlocks(text, &at)
    let ones: UInt64 = 0x0101_0101_0101_0101
    while at &+ 8 <= text.byteCount {
      let word = text.unsafeLoadUnaligned(fromUncheckedByteOffset: at, as: UInt64.self).littleEndian
      let quotes = word ^ (ones &* 0x22)
      let backslashes = word ^ (ones &* 0x5c)
      // The high bit of a byte is set here if the byte is a quote, a backslash, below 0x20 or not ASCII. A borrow can
      // set it wrongly too, but only above a byte that is rightly marked.
      let marked =
        ((quotes &- ones) & ~quotes | (backslashes &- ones) & ~backslashes | (word &- (ones &* 0x20)) & ~word | word)
        & (ones &* 0x80)
      guard marked == 0 else {
        at &+= marked.trailingZeroBitCount &>> 3
        return
      }
      at &+= 8
    }
  }

  /// The same test as for eight bytes, on vectors: what is left out of it only matters for bytes that are not ASCII, and
  /// those are marked anyway.
  @inline(__always)
  private static func skipPlainBlocks(_ text: RawSpan, _ at: inout Int) {
    typealias Block = SIMD4<UInt64>
    let ones = Block(repeating: 0x0101_0101_0101_0101)
    let (quote, backslash) = (Block(repeating: 0x2222_2222_2222_2222), Block(repeating: 0x5c5c_5c5c_5c5c_5c5c))
    let space = Block(repeating: 0x2020_2020_2020_2020)
    while at &+ 32 <= text.byteCount {
      let block = text.unsafeLoadUnaligned(fromUncheckedByteOffset: at, as: Block.self)
      let marked = ((block ^ quote) &- ones) | ((block ^ backslash) &- ones) | (block &- space) | block
      guard (marked[0] | marked[1] | marked[2] | marked[3]) & 0x8080_8080_8080_8080 == 0 else { return }
      at &+= 32
    }
  }

  private static func stepOverEscape(_ text: RawSpan, _ at: inout Int) throws(JSONError) {
    switch byte(text, at &+ 1) {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
      UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      at &+= 2
    case UInt8(ascii: "u"):
      guard codeUnit(text, at &+ 2) != nil else { throw .syntax(at: at) }
      at &+= 6
    default: throw .syntax(at: at)
    }
  }

  /// The four hexadecimal digits at a position.
  static func codeUnit(_ text: RawSpan, _ at: Int) -> UInt16? {
    var unit: UInt16 = 0
    for offset in 0..<4 {
      let digit = byte(text, at &+ offset)
      switch digit {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): unit = unit &<< 4 | UInt16(digit &- 0x30)
      case UInt8(ascii: "a")...UInt8(ascii: "f"): unit = unit &<< 4 | UInt16(digit &- 0x57)
      case UInt8(ascii: "A")...UInt8(ascii: "F"): unit = unit &<< 4 | UInt16(digit &- 0x37)
      default: return nil
      }
    }
    return unit
  }

  /// Steps over characters outside ASCII as long as they follow each other: neither overlong forms, nor surrogates, nor
  /// anything above U+10FFFF (the table of RFC 3629 section 4).
  private static func stepOverMultibyte(_ text: RawSpan, _ at: inout Int) throws(JSONError) {
    while true {
      let second = byte(text, at &+ 1)
      let length: Int
      switch byte(text, at) {
      case ..<0x80: return
      case 0xc2...0xdf where isContinuation(second): length = 2
      case 0xe0 where second >= 0xa0 && second <= 0xbf,
        0xe1...0xec where isContinuation(second),
        0xed where second >= 0x80 && second <= 0x9f,
        0xee...0xef where isContinuation(second):
        length = 3
      case 0xf0 where second >= 0x90 && second <= 0xbf,
        0xf1...0xf3 where isContinuation(second),
        0xf4 where second >= 0x80 && second <= 0x8f:
        length = 4
      default: throw .utf8(at: at)
      }
      guard length < 3 || isContinuation(byte(text, at &+ 2)), length < 4 || isContinuation(byte(text, at &+ 3)) else {
        throw .utf8(at: at)
      }
      at &+= length
    }
  }

  @inline(__always)
  private static func isContinuation(_ byte: UInt8) -> Bool { byte & 0xc0 == 0x80 }
}
