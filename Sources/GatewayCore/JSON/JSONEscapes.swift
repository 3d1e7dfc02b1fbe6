/// The inside of a JSON string: quotes, backslashes and control characters are escaped (RFC 8259 section 7), everything
/// else stays as it is. How long that is is counted first, so that what is too long is not written and whether there is
/// room is asked once.
enum JSONEscapes {
  /// How many bytes the inside of a string takes that means this text.
  static func count(_ text: RawSpan) -> Int {
    text.withUnsafeBytes { plainPrefix(of: $0) == $0.count ? $0.count : count($0) }
  }

  /// Whether the inside of a string would be more than that text.
  static func areNeeded(by text: RawSpan) -> Bool { text.withUnsafeBytes { $0.contains(where: isEscaped) } }

  /// Without a way out in the middle, so that the processor takes many bytes at a time.
  fileprivate static func count(_ bytes: UnsafeRawBufferPointer) -> Int {
    var count = bytes.count
    for byte in bytes {
      let isShort = isEscapedByOne(byte)
      count &+= isShort ? 1 : byte < 0x20 ? 5 : 0
    }
    return count
  }

  @inline(__always)
  fileprivate static func isEscaped(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
  }

  /// Whether its escape is a backslash and one more byte.
  @inline(__always)
  private static func isEscapedByOne(_ byte: UInt8) -> Bool {
    (byte == UInt8(ascii: "\"")) || (byte == UInt8(ascii: "\\")) || (byte == UInt8(ascii: "\n"))
      || (byte == UInt8(ascii: "\r")) || (byte == UInt8(ascii: "\t"))
  }

  /// How many bytes at the beginning certainly need no escape, all of them where none does: looked at eight at a time,
  /// up to the first eight that may, the last ones together with those before them.
  fileprivate static func plainPrefix(of bytes: UnsafeRawBufferPointer) -> Int {
    guard bytes.count >= 8 else { return bytes.firstIndex(where: isEscaped) ?? bytes.count }
    var at = 0
    while at < bytes.count {
      let word = bytes.loadUnaligned(fromByteOffset: Swift.min(at, bytes.count &- 8), as: UInt64.self)
      guard ByteMarks.find(.quote, in: word) & ~word & ByteMarks.highest == 0 else { return at }
      at &+= 8
    }
    return bytes.count
  }

  /// What stands for a byte that is escaped, its first byte lowest, and how many bytes that are.
  @inline(__always)
  fileprivate static func escape(of byte: UInt8) -> (word: UInt64, count: Int) {
    switch byte {
    case UInt8(ascii: "\n"): return (short(UInt8(ascii: "n")), 2)
    case UInt8(ascii: "\r"): return (short(UInt8(ascii: "r")), 2)
    case UInt8(ascii: "\t"): return (short(UInt8(ascii: "t")), 2)
    case ..<0x20:
      let digit = byte & 15
      let last = digit < 10 ? UInt8(ascii: "0") &+ digit : UInt8(ascii: "a") &- 10 &+ digit
      // `\u00`, and two digits.
      return (0x3030_755c | UInt64(UInt8(ascii: "0") &+ byte >> 4) << 32 | UInt64(last) << 40, 6)
    default: return (short(byte), 2)
    }
  }

  @inline(__always)
  private static func short(_ letter: UInt8) -> UInt64 { UInt64(UInt8(ascii: "\\")) | UInt64(letter) << 8 }
}

extension RawWriter {
  /// The inside of a JSON string. It takes `JSONEscapes.count`, and room for `wordSize` more.
  mutating func put(escaping bytes: UnsafeRawBufferPointer) {
    var at = 0
    while at &+ 8 <= bytes.count {
      let word = bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self).littleEndian
      let marked = ByteMarks.find(.quote, in: word) & ~word & ByteMarks.highest
      let plain = marked.trailingZeroBitCount &>> 3
      put(word, count: plain)
      at &+= plain
      if plain < 8 { putEscape(bytes, &at) }
    }
    while at < bytes.count {
      guard !JSONEscapes.isEscaped(bytes[at]) else {
        putEscape(bytes, &at)
        continue
      }
      put(UInt64(bytes[at]), count: 1)
      at &+= 1
    }
  }

  @inline(__always)
  private mutating func putEscape(_ bytes: UnsafeRawBufferPointer, _ at: inout Int) {
    let escape = JSONEscapes.escape(of: bytes[at])
    put(escape.word, count: escape.count)
    at &+= 1
  }
}

extension [UInt8] {
  /// The inside of a JSON string.
  mutating func append(escaping utf8: UnsafeBufferPointer<UInt8>) {
    let bytes = UnsafeRawBufferPointer(utf8)
    guard JSONEscapes.plainPrefix(of: bytes) < bytes.count else { return append(contentsOf: utf8) }
    append(room: JSONEscapes.count(bytes) + RawWriter.wordSize) { $0.put(escaping: bytes) }
  }

  /// A whole JSON string, perhaps with a byte behind its opening quote that needs no escape. False, and nothing is
  /// written, where that takes more than so many bytes.
  mutating func append(string text: RawSpan, prefix: UInt8? = nil, within limit: Int) -> Bool {
    let count = JSONEscapes.count(text) + (prefix == nil ? 2 : 3)
    guard count <= limit else { return false }
    append(room: count + RawWriter.wordSize) { writer in
      writer.put(UInt64(UInt8(ascii: "\"")) | UInt64(prefix ?? 0) << 8, count: prefix == nil ? 1 : 2)
      text.withUnsafeBytes { writer.put(escaping: $0) }
      writer.put("\"")
    }
    return true
  }
}
