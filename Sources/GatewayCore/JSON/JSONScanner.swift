/// Walks over JSON text without building anything: it checks the grammar of RFC 8259 strictly, the UTF-8 strictly and
/// the depth of nesting, and answers with ranges of bytes. Payloads are thus judged once and carried verbatim.
///
/// Every function takes the whole text and a position in it. A position behind the end reads as a NUL byte, which the
/// grammar allows nowhere, so that a text which ends too early is a syntax error and never an access out of bounds.
/// Decision 0002.
public enum JSONScanner {
  /// How many levels of arrays and objects a text may have unless the caller says otherwise. Also the largest number
  /// that a caller may ask for; more counts as this one.
  public static let depthLimit = 64

  /// What is noticed on the way over values, so that they need not be looked at again for it.
  struct Notes: Equatable {
    /// A key begins with `$` or an escape.
    var hasMarks = false
    /// A line end stands between two tokens.
    var hasLineEnds = false
  }

  /// Steps over spaces, tabs and line ends (RFC 8259 section 2).
  @inline(__always)
  public static func skipWhitespace(_ text: RawSpan, _ at: inout Int) {
    var ignored = Notes()
    skipWhitespace(text, &at, &ignored)
  }

  @inline(__always)
  static func skipWhitespace(_ text: RawSpan, _ at: inout Int, _ notes: inout Notes) {
    while true {
      switch byte(text, at) {
      case 0x20, 0x09: break
      case 0x0a, 0x0d: notes.hasLineEnds = true
      default: return
      }
      at &+= 1
    }
  }

  /// The whole text is exactly one value, with white space around it allowed. Returns the value's range.
  public static func validate(_ text: RawSpan, depth: Int = depthLimit) throws(JSONError) -> Range<Int> {
    var at = 0
    skipWhitespace(text, &at)
    let value = try scanValue(text, &at, depth: depth)
    skipWhitespace(text, &at)
    guard at == text.byteCount else { throw .syntax(at: at) }
    return value
  }

  /// Scans one value. `at` stands on its first byte and is left behind its last; `depth` is the number of levels that
  /// the value may still have.
  @inline(__always)
  static func scanValue(
    _ text: RawSpan, _ at: inout Int, depth: Int = depthLimit
  ) throws(JSONError) -> Range<Int> {
    var ignored = Notes()
    return try scanValue(text, &at, depth: depth, &ignored)
  }

  /// The same, with notes of what is in it.
  @inline(__always)
  static func scanValue(
    _ text: RawSpan, _ at: inout Int, depth: Int, _ notes: inout Notes
  ) throws(JSONError) -> Range<Int> {
    let start = at
    // Most are strings.
    at =
      byte(text, at) == UInt8(ascii: "\"")
      ? try endOfString(text, from: at) : try endOfAnyValue(text, from: at, depth: depth, &notes)
    return start..<at
  }

  private static func endOfAnyValue(
    _ text: RawSpan, from start: Int, depth: Int, _ notes: inout Notes
  ) throws(JSONError) -> Int {
    var at = start
    var level = 0
    var objects: UInt64 = 0
    try stepOverValues(text, &at, &level, &objects, allowed: min(depth, depthLimit), &notes)
    return at
  }

  /// Steps over a value and everything behind it in the containers that are open: so many as `level` says, with one bit
  /// for each in `objects`, the innermost lowest, set for an object. A container that is nested too deeply is not
  /// stepped into: all of them stand for what is before it then.
  @inline(__always)
  private static func stepOverValues(
    _ text: RawSpan, _ at: inout Int, _ level: inout Int, _ objects: inout UInt64, allowed: Int, _ notes: inout Notes
  ) throws(JSONError) {
    repeat {
      switch byte(text, at) {
      case UInt8(ascii: "{"):
        guard level < allowed else { throw .depth(at: at) }
        guard openContainer(text, &at, end: UInt8(ascii: "}"), &notes) else { break }
        level &+= 1
        objects = objects &<< 1 | 1
        _ = try scanKey(text, &at, &notes)
        continue
      case UInt8(ascii: "["):
        guard level < allowed else { throw .depth(at: at) }
        guard openContainer(text, &at, end: UInt8(ascii: "]"), &notes) else { break }
        level &+= 1
        objects = objects &<< 1
        continue
      case UInt8(ascii: "\""): at = try endOfString(text, from: at)
      default: try stepOverScalar(text, &at)
      }
      try closeContainers(text, &at, &level, &objects, &notes)
    } while level > 0
  }

  /// Behind a value: closes every container that ends here, and steps to the next value of the innermost open one.
  @inline(__always)
  private static func closeContainers(
    _ text: RawSpan, _ at: inout Int, _ level: inout Int, _ objects: inout UInt64, _ notes: inout Notes
  ) throws(JSONError) {
    while level > 0 {
      let inObject = objects & 1 == 1
      if try stepToNext(text, &at, end: inObject ? UInt8(ascii: "}") : UInt8(ascii: "]"), &notes) {
        if inObject { _ = try scanKey(text, &at, &notes) }
        return
      }
      level &-= 1
      objects &>>= 1
    }
  }

  /// Whether the whole text is exactly one value, however deeply it is nested: for what was found to be nested too
  /// deeply. Takes a bit of memory for each level.
  static func isJSON(atAnyDepth text: RawSpan) -> Bool {
    var at = 0
    skipWhitespace(text, &at)
    do { try stepOverDeepValue(text, &at) } catch { return false }
    skipWhitespace(text, &at)
    return at == text.byteCount
  }

  private static func stepOverDeepValue(_ text: RawSpan, _ at: inout Int) throws(JSONError) {
    var ignored = Notes()
    var level = 0
    var objects: UInt64 = 0
    // What was open wherever there were as many levels as have a bit, the outermost first.
    var outer: [UInt64] = []
    while true {
      do throws(JSONError) {
        try stepOverValues(text, &at, &level, &objects, allowed: depthLimit, &ignored)
      } catch {
        guard case .depth = error else { throw error }
        outer.append(objects)
        level = 0
        continue
      }
      while level == 0 {
        guard let bits = outer.popLast() else { return }
        level = depthLimit
        objects = bits
        try closeContainers(text, &at, &level, &objects, &ignored)
      }
    }
  }

  /// Scans the object whose `{` stands at `at`. `body` gets the range of each key, quotes included, and of its value.
  /// `depth` counts the object itself. Keys are compared as the texts they mean, so `"\u0061"` and `"a"` are the same.
  /// Where duplicates are refused, so is a key behind `JSONKeySet.limit` others.
  public static func scanObject(
    _ text: RawSpan, _ at: inout Int, depth: Int = depthLimit, refuseDuplicates: Bool = false,
    _ body: (_ key: Range<Int>, _ value: Range<Int>) throws(JSONError) -> Void
  ) throws(JSONError) {
    guard byte(text, at) == UInt8(ascii: "{") else { throw .syntax(at: at) }
    guard depth > 0 else { throw .depth(at: at) }
    var keys = JSONKeySet()
    guard openContainer(text, &at, end: UInt8(ascii: "}")) else { return }
    repeat {
      let key = try scanKey(text, &at)
      if refuseDuplicates, keys.insert(text, key) != .isNew { throw .duplicateKey(at: key.lowerBound) }
      let value = try scanValue(text, &at, depth: depth &- 1)
      try body(key, value)
    } while try stepToNext(text, &at, end: UInt8(ascii: "}"))
  }

  /// Scans the array whose `[` stands at `at`. `body` gets the range of each element. `depth` counts the array itself.
  public static func scanArray(
    _ text: RawSpan, _ at: inout Int, depth: Int = depthLimit,
    _ body: (_ element: Range<Int>) throws(JSONError) -> Void
  ) throws(JSONError) {
    guard byte(text, at) == UInt8(ascii: "[") else { throw .syntax(at: at) }
    guard depth > 0 else { throw .depth(at: at) }
    guard openContainer(text, &at, end: UInt8(ascii: "]")) else { return }
    repeat {
      try body(scanValue(text, &at, depth: depth &- 1))
    } while try stepToNext(text, &at, end: UInt8(ascii: "]"))
  }
}

/// Steps of the grammar, for callers that walk over an object or an array themselves.
extension JSONScanner {
  /// The byte at a position, or NUL behind the end.
  @inline(__always)
  static func byte(_ text: RawSpan, _ at: Int) -> UInt8 {
    at < text.byteCount ? text.unsafeLoad(fromUncheckedByteOffset: at, as: UInt8.self) : 0
  }

  /// `at` stands on `{` or `[`. Steps to the first item and returns true, or steps behind `end` and returns false.
  @inline(__always)
  static func openContainer(_ text: RawSpan, _ at: inout Int, end: UInt8) -> Bool {
    var ignored = Notes()
    return openContainer(text, &at, end: end, &ignored)
  }

  @inline(__always)
  private static func openContainer(_ text: RawSpan, _ at: inout Int, end: UInt8, _ notes: inout Notes) -> Bool {
    at &+= 1
    skipWhitespace(text, &at, &notes)
    guard byte(text, at) == end else { return true }
    at &+= 1
    return false
  }

  /// Scans a key, its colon and the space behind it; `at` is left on the first byte of the member's value.
  @inline(__always)
  static func scanKey(_ text: RawSpan, _ at: inout Int) throws(JSONError) -> Range<Int> {
    var ignored = Notes()
    return try scanKey(text, &at, &ignored)
  }

  @inline(__always)
  private static func scanKey(
    _ text: RawSpan, _ at: inout Int, _ notes: inout Notes
  ) throws(JSONError) -> Range<Int> {
    let first = byte(text, at &+ 1)
    if first == UInt8(ascii: "$") || first == UInt8(ascii: "\\") { notes.hasMarks = true }
    let key = try scanString(text, &at)
    skipWhitespace(text, &at, &notes)
    guard byte(text, at) == UInt8(ascii: ":") else { throw .syntax(at: at) }
    at &+= 1
    skipWhitespace(text, &at, &notes)
    return key
  }

  /// Behind an item: steps behind the comma to the next one and returns true, or behind `end` and returns false.
  @inline(__always)
  static func stepToNext(_ text: RawSpan, _ at: inout Int, end: UInt8) throws(JSONError) -> Bool {
    var ignored = Notes()
    return try stepToNext(text, &at, end: end, &ignored)
  }

  /// The same, with a note of line ends.
  @inline(__always)
  static func stepToNext(
    _ text: RawSpan, _ at: inout Int, end: UInt8, _ notes: inout Notes
  ) throws(JSONError) -> Bool {
    skipWhitespace(text, &at, &notes)
    let found = byte(text, at)
    guard found == UInt8(ascii: ",") || found == end else { throw .syntax(at: at) }
    at &+= 1
    guard found != end else { return false }
    skipWhitespace(text, &at, &notes)
    return true
  }
}

extension JSONScanner {
  /// Where each element of a text stands that is nothing but an array; nil for any other text, and for one of more
  /// elements than `limit`.
  static func elements(_ text: RawSpan, atMost limit: Int = .max) -> [Range<Int>]? {
    var at = 0
    var found: [Range<Int>] = []
    skipWhitespace(text, &at)
    do {
      try scanArray(text, &at) { (element) throws(JSONError) in
        guard found.count < limit else { throw .syntax(at: element.lowerBound) }
        found.append(element)
      }
    } catch { return nil }
    skipWhitespace(text, &at)
    return at == text.byteCount ? found : nil
  }
}

extension JSONScanner {
  /// Where the members of a text stand that is one object, or the elements of one array, however deeply it is nested:
  /// for what was found to be nested too deeply. Nil for a text that is no JSON.
  public static func parts(ofDeep text: RawSpan) -> [(key: Range<Int>?, value: Range<Int>)]? {
    var whole = LongText(from: 0, elements: .max, takesDeeper: true)
    whole.advance(text, isWhole: true)
    guard let known = try? whole.outline(text), !known.hasNonNumbers else { return nil }
    return known.elements.map { ($0.key, $0.value) }
  }
}

/// Numbers (RFC 8259 section 6) and the three literal names (section 3).
extension JSONScanner {
  /// A number or a literal name.
  @inline(__always)
  static func stepOverScalar(_ text: RawSpan, _ at: inout Int) throws(JSONError) {
    switch byte(text, at) {
    case UInt8(ascii: "t"): try stepOverName(text, &at, "true")
    case UInt8(ascii: "f"): try stepOverName(text, &at, "false")
    case UInt8(ascii: "n"): try stepOverName(text, &at, "null")
    default: try stepOverNumber(text, &at)
    }
  }

  private static func stepOverName(_ text: RawSpan, _ at: inout Int, _ name: StaticString) throws(JSONError) {
    guard bytesEqual(text, at, name) else { throw .syntax(at: at) }
    at &+= name.utf8CodeUnitCount
  }

  private static func stepOverNumber(_ text: RawSpan, _ at: inout Int) throws(JSONError) {
    if byte(text, at) == UInt8(ascii: "-") { at &+= 1 }
    if byte(text, at) == UInt8(ascii: "0") {
      at &+= 1
    } else {
      try stepOverDigits(text, &at)
    }
    if byte(text, at) == UInt8(ascii: ".") {
      at &+= 1
      try stepOverDigits(text, &at)
    }
    if byte(text, at) | 0x20 == UInt8(ascii: "e") {
      at &+= 1
      let sign = byte(text, at)
      if sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { at &+= 1 }
      try stepOverDigits(text, &at)
    }
  }

  /// At least one digit.
  @inline(__always)
  private static func stepOverDigits(_ text: RawSpan, _ at: inout Int) throws(JSONError) {
    let start = at
    while byte(text, at) &- UInt8(ascii: "0") < 10 { at &+= 1 }
    guard at > start else { throw .syntax(at: at) }
  }

  /// Whether the bytes at a position are these.
  @inline(__always)
  static func bytesEqual(_ text: RawSpan, _ at: Int, _ expected: StaticString) -> Bool {
    guard expected.utf8CodeUnitCount <= text.byteCount &- at else { return false }
    return expected.withUTF8Buffer { expected in
      for offset in 0..<expected.count where byte(text, at &+ offset) != expected[offset] { return false }
      return true
    }
  }

  /// The value of a scanned number that is written as a plain integer, without fraction and exponent; nil for every
  /// other value and beyond 64 bits.
  static func integer(_ text: RawSpan, _ range: Range<Int>) -> Int64? {
    var at = range.lowerBound
    let negative = byte(text, at) == UInt8(ascii: "-")
    if negative { at &+= 1 }
    guard at < range.upperBound else { return nil }
    var value: Int64 = 0
    while at < range.upperBound {
      let digit = byte(text, at) &- UInt8(ascii: "0")
      guard digit < 10 else { return nil }
      let (tenfold, overflowed) = value.multipliedReportingOverflow(by: 10)
      let (sum, carried) =
        negative
        ? tenfold.subtractingReportingOverflow(Int64(digit)) : tenfold.addingReportingOverflow(Int64(digit))
      guard !overflowed, !carried else { return nil }
      value = sum
      at &+= 1
    }
    return value
  }
}

/// The keys of one object, to notice a second use of one. Keys are the texts they mean: escapes are decoded, and no
/// Unicode normalisation takes place.
struct JSONKeySet {
  /// What became of a key.
  enum Insertion {
    case isNew
    case isRepeated
    /// It was not looked at: there are `limit` others.
    case isTooMany
  }

  /// Most keys of one object: remembering each costs more than reading over it.
  static let limit = 64

  private var keys: Set<[UInt8]> = []

  /// The range includes the quotes.
  mutating func insert(_ text: RawSpan, _ key: Range<Int>) -> Insertion {
    guard keys.count < Self.limit else { return .isTooMany }
    return keys.insert(JSONScanner.decodeBytes(text, key).bytes).inserted ? .isNew : .isRepeated
  }
}

/// Why a text is not the JSON that the daemon accepts. Offsets count bytes from the beginning of the text.
public enum JSONError: Error, Equatable, Sendable {
  /// The grammar of RFC 8259 is broken at this byte, or the text ends here too early.
  case syntax(at: Int)
  /// A malformed UTF-8 sequence begins at this byte (RFC 3629, section 4).
  case utf8(at: Int)
  /// The array or object that begins at this byte is nested more deeply than allowed.
  case depth(at: Int)
  /// The key that begins at this byte was used before in the same object.
  case duplicateKey(at: Int)
  /// It has more bytes than are read.
  case tooLong(limit: Int)

  /// Where it happened.
  public var offset: Int {
    switch self {
    case .syntax(let at), .utf8(let at), .depth(let at), .duplicateKey(let at), .tooLong(let at): at
    }
  }
}
