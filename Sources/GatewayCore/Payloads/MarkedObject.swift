/// An object in validated JSON text whose keys have a meaning for binary data: `$bin` and its escaped forms in the
/// local form, `_placeholder` in the wire form.
struct MarkedObject: Equatable, Sendable {
  /// From brace to brace.
  var range: Range<Int>
  /// How many `$` stand before `bin` in the object's only key; nil for every other object. A key that is repeated
  /// counts as one.
  private(set) var dollars: Int?
  /// Where the first key begins, at its quote.
  private var firstKey = 0
  /// The same of the repetitions of the only key, while `dollars` is set; there hardly ever are any.
  private var repetitions: [Int] = []
  /// Where the value behind the last key begins.
  private(set) var value = 0
  /// Where the value of `_placeholder` begins.
  private(set) var placeholder: Int?
  /// Where the value of `num` begins.
  private(set) var number: Int?
  private var isEmpty = true

  private init(start: Int) { range = start..<start }

  private var isMarked: Bool { dollars != nil || placeholder != nil }

  /// How many keys there are while `dollars` is set.
  var keyCount: Int { 1 + repetitions.count }

  /// Where each key begins, at its quote, while `dollars` is set.
  func forEachKey(_ body: (Int) -> Void) {
    body(firstKey)
    for key in repetitions { body(key) }
  }

  private mutating func note(_ text: RawSpan, key: Range<Int>, value: Int) {
    let found = Self.dollars(text, key)
    if isEmpty {
      (dollars, firstKey) = (found, key.lowerBound)
    } else if found != dollars {
      dollars = nil
    } else if found != nil {
      repetitions.append(key.lowerBound)
    }
    if found == nil {
      if JSONScanner.stringEquals(text, key, "_placeholder") { placeholder = value }
      if JSONScanner.stringEquals(text, key, "num") { number = value }
    }
    self.value = value
    isEmpty = false
  }

  /// The number of `$` in a key that matches `^\$+bin$`, however it is escaped.
  private static func dollars(_ text: RawSpan, _ key: Range<Int>) -> Int? {
    guard key.count >= 6 else { return nil }
    let first = JSONScanner.byte(text, key.lowerBound + 1)
    guard first == UInt8(ascii: "$") || first == UInt8(ascii: "\\") else { return nil }
    if key.count == 6, JSONScanner.bytesEqual(text, key.lowerBound + 1, "$bin") { return 1 }
    guard key.count > 6 else { return nil }
    let decoded = JSONScanner.decodeBytes(text, key).bytes
    let count = decoded.prefix { $0 == UInt8(ascii: "$") }.count
    return count > 0 && decoded[count...].elementsEqual("bin".utf8) ? count : nil
  }

  /// Calls `body` for each marked object within validated text, at its closing brace: an inner object before the one
  /// around it. Linear in the text's length.
  static func forEach<Failure: Error>(
    in text: RawSpan, _ range: Range<Int>, _ body: (MarkedObject) throws(Failure) -> Void
  ) throws(Failure) {
    // Nil stands for an array.
    var open: [MarkedObject?] = []
    var expectsKey = false
    var at = range.lowerBound
    while at < range.upperBound {
      switch JSONScanner.byte(text, at) {
      case UInt8(ascii: "{"):
        open.append(MarkedObject(start: at))
        expectsKey = true
      case UInt8(ascii: "["):
        open.append(nil)
        expectsKey = false
      case UInt8(ascii: "]"):
        open.removeLast()
      case UInt8(ascii: "}"):
        guard var object = open.popLast() ?? nil else { return }
        object.range = object.range.lowerBound..<at + 1
        if object.isMarked { try body(object) }
      case UInt8(ascii: ","):
        expectsKey = (open.last ?? nil) != nil
      case UInt8(ascii: "\""):
        let string = at..<endOfString(text, at, range.upperBound)
        at = string.upperBound
        guard expectsKey, !open.isEmpty else { continue }
        expectsKey = false
        stepToValue(text, &at)
        open[open.count - 1]?.note(text, key: string, value: at)
        continue
      default: break
      }
      at += 1
    }
  }

  /// Behind the string that begins at `start`, in validated text.
  static func endOfString(_ text: RawSpan, _ start: Int, _ limit: Int) -> Int {
    var at = start + 1
    while at < limit {
      switch JSONScanner.byte(text, at) {
      case UInt8(ascii: "\""): return at + 1
      case UInt8(ascii: "\\"): at += 2
      default: at += 1
      }
    }
    return limit
  }

  private static func stepToValue(_ text: RawSpan, _ at: inout Int) {
    JSONScanner.skipWhitespace(text, &at)
    at += 1
    JSONScanner.skipWhitespace(text, &at)
  }
}
