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
    var at = inside.lowerBound
    while at < inside.upperBound {
      let next = byte(text, at)
      at &+= 1
      guard next == UInt8(ascii: "\\") else {
        bytes.append(next)
        continue
      }
      let scalar = decodeEscape(text, &at, end: inside.upperBound)
      if scalar == nil { wellFormed = false }
      bytes.append(contentsOf: Unicode.UTF8.encode(scalar ?? "\u{FFFD}") ?? .init())
    }
    return (bytes, wellFormed)
  }

  /// `at` stands behind a backslash. Nil for half a surrogate pair.
  private static func decodeEscape(_ text: RawSpan, _ at: inout Int, end: Int) -> Unicode.Scalar? {
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

  /// Whether a scanned value is a string that means this text, however it is escaped.
  static func stringEquals(_ text: RawSpan, _ range: Range<Int>, _ expected: StaticString) -> Bool {
    guard byte(text, range.lowerBound) == UInt8(ascii: "\"") else { return false }
    let inside = inside(text, range)
    let count = expected.utf8CodeUnitCount
    if inside.count == count { return bytesEqual(text, inside.lowerBound, expected) }
    // An escape stands for fewer bytes than it has, and has six at most for one: whatever else is long is not decoded.
    guard inside.count > count, inside.count <= 6 * count, hasEscape(text, inside) else { return false }
    let decoded = decodeBytes(text, range)
    return expected.withUTF8Buffer { decoded.wellFormed && $0.elementsEqual(decoded.bytes) }
  }

  /// Whether a stretch of text contains a backslash.
  @inline(__always)
  static func hasEscape(_ text: RawSpan, _ range: Range<Int>) -> Bool {
    for at in range where byte(text, at) == UInt8(ascii: "\\") { return true }
    return false
  }

  /// The range without the quotes; a range that does not lie inside the text, or is no string, yields what there is.
  @inline(__always)
  static func inside(_ text: RawSpan, _ range: Range<Int>) -> Range<Int> {
    let start = min(max(range.lowerBound, 0) &+ 1, text.byteCount)
    return start..<max(start, min(range.upperBound &- 1, text.byteCount))
  }
}
