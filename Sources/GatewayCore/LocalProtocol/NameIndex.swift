/// Finds short names among a fixed few without building a text: a hash table over the names' bytes as two words.
struct NameIndex: Sendable {
  /// Longest name that can be found, in bytes.
  static let lengthLimit = 16

  private struct Entry {
    /// The first eight bytes of the name and the next eight, padded with zeros. A zero: no name.
    var low: UInt64 = 0
    var high: UInt64 = 0
    /// Tells a name from the same name with NUL characters behind it.
    var length = 0
    var index = 0
  }

  /// Twice as many as there are names, at least: a search always ends at an empty entry.
  private let entries: [Entry]
  private let mask: Int

  /// The names are found again by their position. They must be different, not empty and no longer than the limit.
  init(_ names: [String]) {
    var capacity = 4
    while capacity < names.count * 3 { capacity *= 2 }
    var entries = [Entry](repeating: Entry(), count: capacity)
    for (index, name) in names.enumerated() {
      let bytes = Array(name.utf8)
      precondition(
        !bytes.isEmpty && bytes.count <= Self.lengthLimit && !bytes.contains(UInt8(ascii: "\\")),
        "\(name) cannot be indexed")
      let (low, high) = Self.words(bytes.span.bytes, 0..<bytes.count)
      var slot = Self.slot(low, high) & (capacity - 1)
      while entries[slot].low != 0 { slot = (slot + 1) & (capacity - 1) }
      entries[slot] = Entry(low: low, high: high, length: bytes.count, index: index)
    }
    self.entries = entries
    mask = capacity - 1
  }

  /// The position of the name that a scanned string means; the range includes its quotes.
  @inline(__always)
  func find(_ text: RawSpan, _ range: Range<Int>) -> Int? {
    let inside = JSONScanner.inside(text, range)
    return find(plain: text, inside) ?? find(escaped: text, range)
  }

  /// No name has a backslash: what has one is looked for once more, as the text that it means.
  private func find(escaped text: RawSpan, _ range: Range<Int>) -> Int? {
    guard JSONScanner.hasEscape(text, JSONScanner.inside(text, range)) else { return nil }
    let decoded = JSONScanner.decodeBytes(text, range).bytes
    return find(plain: decoded.span.bytes, 0..<decoded.count)
  }

  @inline(__always)
  private func find(plain text: RawSpan, _ range: Range<Int>) -> Int? {
    guard range.count > 0, range.count <= Self.lengthLimit else { return nil }
    let (low, high) = Self.words(text, range)
    let entries = entries.span
    var slot = Self.slot(low, high) & mask
    while entries[slot].low != 0 {
      let entry = entries[slot]
      if entry.low == low, entry.high == high, entry.length == range.count { return entry.index }
      slot = (slot &+ 1) & mask
    }
    return nil
  }

  @inline(__always)
  private static func words(_ text: RawSpan, _ range: Range<Int>) -> (low: UInt64, high: UInt64) {
    (word(text, range.lowerBound, min(range.count, 8)), word(text, range.lowerBound &+ 8, range.count &- 8))
  }

  /// Up to eight bytes as a number, the first one lowest.
  @inline(__always)
  private static func word(_ text: RawSpan, _ at: Int, _ count: Int) -> UInt64 {
    guard count > 0 else { return 0 }
    guard at &+ 8 > text.byteCount else {
      let word = text.unsafeLoadUnaligned(fromUncheckedByteOffset: at, as: UInt64.self).littleEndian
      return word & (.max &>> UInt64(truncatingIfNeeded: 64 &- 8 &* count))
    }
    var word: UInt64 = 0
    for offset in 0..<count { word |= UInt64(JSONScanner.byte(text, at &+ offset)) &<< UInt64(8 &* offset) }
    return word
  }

  @inline(__always)
  private static func slot(_ low: UInt64, _ high: UInt64) -> Int {
    Int(truncatingIfNeeded: ((low ^ (high &* 31)) &* 0x9e37_79b9_7f4a_7c15) &>> 48)
  }
}
