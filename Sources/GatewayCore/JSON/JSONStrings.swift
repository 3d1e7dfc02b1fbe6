/// Strings (RFC 8259 section 7) and the UTF-8 within them (RFC 3629).
extension JSONScanner {
  /// Scans the string whose opening quote stands at `at`. The range includes both quotes.
  @inline(__always)
  static func scanString(_ text: RawSpan, _ at: inout Int) throws(JSONError) -> Range<Int> {
    let start = at
    guard byte(text, at) == UInt8(ascii: "\"") else { throw .syntax(at: at) }
    at = try endOfString(text, from: at)
    return start..<at
  }

  /// Where the string ends, behind its closing quote, whose opening quote stands at `start`. An error has the offset at
  /// which the scanner stopped.
  @inline(__always)
  static func endOfString(_ text: RawSpan, from start: Int) throws(JSONError) -> Int {
    var at = start &+ 1
    // Most are short and plain: to look at them takes less than a call.
    if at &+ 16 <= text.byteCount, skipPlainBlock(text, &at), byte(text, at) == UInt8(ascii: "\"") { return at &+ 1 }
    return try endOfAnyString(text, from: at)
  }

  /// The same from a place within the string, where neither an escape nor a character has begun.
  private static func endOfAnyString(_ text: RawSpan, from start: Int) throws(JSONError) -> Int {
    var at = start
    while true {
      skipPlainBytes(text, &at)
      switch byte(text, at) {
      case UInt8(ascii: "\""): return at &+ 1
      case UInt8(ascii: "\\"): at = try endOfEscape(text, from: at)
      case 0x80...: at = try endOfMultibyte(text, from: at)
      case ..<0x20: throw .syntax(at: at)
      default: at &+= 1
      }
    }
  }

  /// Steps to the next byte that needs attention: a quote, a backslash, one below 0x20 or outside ASCII. Looks at 16,
  /// because the next one is mostly near, then at 64, 16 and eight at a time; `at` may be left at the end of the text.
  @inline(__always)
  private static func skipPlainBytes(_ text: RawSpan, _ at: inout Int) {
    let count = text.byteCount
    if at &+ 16 <= count, skipPlainBlock(text, &at) { return }
    while at &+ 64 <= count {
      let first = attention(text, at) .| attention(text, at &+ 16)
      let second = attention(text, at &+ 32) .| attention(text, at &+ 48)
      guard ByteMarks.areMissing(in: first .| second) else { break }
      at &+= 64
    }
    while at &+ 16 <= count { if skipPlainBlock(text, &at) { return } }
    if at &+ 8 <= count, skipPlainWord(text, &at) { return }
    skipLastPlainBytes(text, &at)
  }

  /// The same for 16 bytes; whether one of them needs attention.
  @inline(__always)
  private static func skipPlainBlock(_ text: RawSpan, _ at: inout Int) -> Bool {
    let marks = attention(text, at)
    guard !ByteMarks.areMissing(in: marks) else {
      at &+= 16
      return false
    }
    at &+= ByteMarks.first(in: marks)
    return true
  }

  /// The same for eight bytes; whether one of them needs attention.
  @inline(__always)
  private static func skipPlainWord(_ text: RawSpan, _ at: inout Int) -> Bool {
    let marked = attention(text.unsafeLoadUnaligned(fromUncheckedByteOffset: at, as: UInt64.self).littleEndian)
    at &+= marked == 0 ? 8 : marked.trailingZeroBitCount &>> 3
    return marked != 0
  }

  /// The same for less than eight bytes at the end of a text: they are looked at together with those before them.
  @inline(__always)
  private static func skipLastPlainBytes(_ text: RawSpan, _ at: inout Int) {
    let count = text.byteCount
    guard count >= 8, at < count else {
      while at < count, attention(UInt64(byte(text, at)) | 0x6161_6161_6161_6100) == 0 { at &+= 1 }
      return
    }
    let word = text.unsafeLoadUnaligned(fromUncheckedByteOffset: count &- 8, as: UInt64.self).littleEndian
    // What has been looked at is shifted out, and the zeros behind the end are marked.
    let marked = attention(word &>> UInt64(truncatingIfNeeded: 8 &* (8 &- (count &- at))))
    at &+= marked.trailingZeroBitCount &>> 3
  }

  /// The highest bit of each byte that needs attention. Others may have it too, but only above one that rightly has it.
  @inline(__always)
  private static func attention(_ word: UInt64) -> UInt64 {
    (ByteMarks.find(.quote, in: word) | word) & ByteMarks.highest
  }

  /// Which of 16 bytes need attention. As signed numbers those outside ASCII are below 0x20, too.
  @inline(__always)
  private static func attention(_ text: RawSpan, _ at: Int) -> ByteMarks.Marks {
    typealias Block = SIMD16<Int8>
    let block = text.unsafeLoadUnaligned(fromUncheckedByteOffset: at, as: Block.self)
    return (block .< Block(repeating: 0x20)) .| (block .== Block(repeating: 0x22))
      .| (block .== Block(repeating: 0x5c))
  }

  private static func endOfEscape(_ text: RawSpan, from at: Int) throws(JSONError) -> Int {
    switch byte(text, at &+ 1) {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
      UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      return at &+ 2
    case UInt8(ascii: "u"):
      guard codeUnit(text, at &+ 2) != nil else { throw .syntax(at: at) }
      return at &+ 6
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
  private static func endOfMultibyte(_ text: RawSpan, from start: Int) throws(JSONError) -> Int {
    var at = start
    while true {
      let second = byte(text, at &+ 1)
      let length: Int
      switch byte(text, at) {
      case ..<0x80: return at
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

/// What a scanned string means.
extension JSONScanner {
  /// The text of a scanned string; the range includes its quotes. An escaped surrogate without its partner, which is
  /// no character, becomes U+FFFD.
  public static func decodeString(_ text: RawSpan, _ range: Range<Int>) -> String {
    let inside = inside(text, range)
    guard hasEscape(text, inside) else {
      return text.extracting(inside).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }
    return String(decoding: decodeBytes(text, range).bytes, as: UTF8.self)
  }

  /// The text of a scanned string as UTF-8, and whether each of its escapes is a character: a lone surrogate became
  /// U+FFFD and makes `wellFormed` false.
  static func decodeBytes(_ text: RawSpan, _ range: Range<Int>) -> (bytes: [UInt8], wellFormed: Bool) {
    let inside = inside(text, range)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(inside.count)
    var wellFormed = true
    // What stands behind it is not looked at.
    let text = text.extracting(0..<inside.upperBound)
    var at = inside.lowerBound
    while at < inside.upperBound {
      let plain = at
      stepToEscape(text, &at, end: inside.upperBound)
      if plain < at { bytes.append(text.extracting(plain..<at)) }
      guard at < inside.upperBound else { break }
      at &+= 1
      let scalar = decodeEscape(text, &at, end: inside.upperBound)
      if let scalar, scalar.isASCII {
        bytes.append(UInt8(truncatingIfNeeded: scalar.value))
        continue
      }
      if scalar == nil { wellFormed = false }
      bytes.append(contentsOf: Unicode.UTF8.encode(scalar ?? "\u{FFFD}") ?? .init())
    }
    return (bytes, wellFormed)
  }

  /// Steps to the next backslash, or to `end`.
  private static func stepToEscape(_ text: RawSpan, _ at: inout Int, end: Int) {
    while at < end {
      skipPlainBytes(text, &at)
      guard at < end, byte(text, at) != UInt8(ascii: "\\") else { break }
      at &+= 1
      while at < end, byte(text, at) >= 0x80 { at &+= 1 }
    }
    at = min(at, end)
  }

  /// `at` stands behind a backslash. Nil for half a surrogate pair, and for four digits that are none.
  static func decodeEscape(_ text: RawSpan, _ at: inout Int, end: Int) -> Unicode.Scalar? {
    let letter = byte(text, at)
    at &+= 1
    switch letter {
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{c}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"): break
    default: return Unicode.Scalar(letter)
    }
    guard let first = codeUnit(text, at) else { return nil }
    at &+= 4
    guard UTF16.isLeadSurrogate(first) else { return Unicode.Scalar(first) }
    guard at &+ 6 <= end, byte(text, at) == UInt8(ascii: "\\"), byte(text, at &+ 1) == UInt8(ascii: "u"),
      let second = codeUnit(text, at &+ 2), UTF16.isTrailSurrogate(second)
    else { return nil }
    at &+= 6
    return Unicode.Scalar(0x10000 + (UInt32(first & 0x3ff) << 10 | UInt32(second & 0x3ff)))
  }

  /// The text of a scanned string, or its first `limit` bytes and the mark; what follows them is not looked at.
  static func decodeString(_ text: RawSpan, _ range: Range<Int>, shortenedTo limit: Int) -> String {
    // Of the raw text an escape takes at most six bytes for one; behind these nothing can belong to what is kept.
    let most = 6 * (limit + 3)
    guard range.count > most + 2 else { return decodeString(text, range).shortened(to: limit) }
    let front = decodeBytes(text, range.lowerBound..<range.lowerBound + most + 2).bytes
    return String(shortening: front.span.bytes, to: limit)
  }

  /// The next character of a string, as it stands or escaped, if it is one of ASCII; steps behind it. `end` is where the
  /// closing quote stands. Nil for any other character, and there.
  @inline(__always)
  static func character(_ text: RawSpan, _ at: inout Int, end: Int) -> UInt8? {
    guard at < end else { return nil }
    let next = byte(text, at)
    at &+= 1
    guard next == UInt8(ascii: "\\") else { return next < 0x80 ? next : nil }
    guard let scalar = decodeEscape(text, &at, end: end), scalar.isASCII else { return nil }
    return UInt8(truncatingIfNeeded: scalar.value)
  }

  /// Whether a scanned value is a string that means this text of ASCII, however it is escaped.
  static func stringEquals(_ text: RawSpan, _ range: Range<Int>, _ expected: StaticString) -> Bool {
    guard byte(text, range.lowerBound) == UInt8(ascii: "\"") else { return false }
    let inside = inside(text, range)
    let count = expected.utf8CodeUnitCount
    if inside.count == count { return bytesEqual(text, inside.lowerBound, expected) }
    // An escape stands for fewer bytes than it has, and has six at most for one: whatever else is long is not looked at.
    guard inside.count > count, inside.count <= 6 * count else { return false }
    return expected.withUTF8Buffer { expected in
      var at = inside.lowerBound
      for letter in expected {
        guard character(text, &at, end: inside.upperBound) == letter else { return false }
      }
      return at == inside.upperBound
    }
  }

  /// Whether a stretch of text contains a backslash.
  @inline(__always)
  static func hasEscape(_ text: RawSpan, _ range: Range<Int>) -> Bool {
    var at = range.lowerBound
    let end = min(range.upperBound, text.byteCount)
    guard end &- at >= 8 else { return hasEscape(text, short: at..<max(at, end)) }
    while at &+ 8 < end {
      let word = text.unsafeLoadUnaligned(fromUncheckedByteOffset: at, as: UInt64.self)
      if ByteMarks.hasBackslash(word) { return true }
      at &+= 8
    }
    // The last ones are looked at together with those before them.
    return ByteMarks.hasBackslash(text.unsafeLoadUnaligned(fromUncheckedByteOffset: end &- 8, as: UInt64.self))
  }

  private static func hasEscape(_ text: RawSpan, short range: Range<Int>) -> Bool {
    var at = range.lowerBound
    while at < range.upperBound {
      if byte(text, at) == UInt8(ascii: "\\") { return true }
      at &+= 1
    }
    return false
  }

  /// The range without the quotes; a range that does not lie inside the text, or is no string, yields what there is.
  @inline(__always)
  static func inside(_ text: RawSpan, _ range: Range<Int>) -> Range<Int> {
    let start = min(max(range.lowerBound, 0) &+ 1, text.byteCount)
    return start..<max(start, min(range.upperBound &- 1, text.byteCount))
  }
}
