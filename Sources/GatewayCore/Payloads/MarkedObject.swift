/// An object in validated JSON text whose keys have a meaning for binary data: `$bin` and its escaped forms in the
/// local form, `_placeholder` in the wire form.
struct MarkedObject: Equatable, Sendable {
  /// From brace to brace.
  let range: Range<Int>
  /// How many `$` stand before `bin` in the object's only key; nil for every other object. A key that is repeated
  /// counts as one.
  let dollars: Int?
  /// Where the first key begins, at its quote.
  private let firstKey: Int
  /// The same of the repetitions of the only key, while `dollars` is set; there hardly ever are any.
  private let repetitions: [Int]
  /// Where the value behind the last key begins.
  let value: Int
  /// Where the value of `_placeholder` begins.
  let placeholder: Int?
  /// Where the value of `num` begins.
  let number: Int?

  private init(_ open: Open, end: Int, repetitions: [Int]) {
    range = open.start..<end
    dollars = open.dollars == 0 ? nil : open.dollars
    firstKey = open.firstKey
    self.repetitions = repetitions
    value = open.value
    placeholder = open.placeholder == 0 ? nil : open.placeholder
    number = open.number == 0 ? nil : open.number
  }

  /// How many keys there are while `dollars` is set.
  var keyCount: Int { 1 + repetitions.count }

  /// Where each key begins, at its quote, while `dollars` is set.
  func forEachKey(_ body: (Int) -> Void) {
    body(firstKey)
    for key in repetitions { body(key) }
  }

  /// An array, or an object that is not closed yet: what is known of it. Bare numbers, because a server may open one
  /// for every other byte of a message; none of the offsets can be 0, where the outermost bracket stands.
  private struct Open {
    let start: Int
    let isObject: Bool
    var isEmpty = true
    /// 0 where its keys are not a repetition of one that matches.
    var dollars = 0
    var firstKey = 0
    var value = 0
    var placeholder = 0
    var number = 0

    /// Returns whether the key repeats the marked one before it.
    mutating func note(_ text: RawSpan, key: Range<Int>, value: Int) -> Bool {
      let found = MarkedObject.dollars(text, key)
      self.value = value
      if isEmpty {
        isEmpty = false
        (dollars, firstKey) = (found, key.lowerBound)
      } else if found != dollars {
        dollars = 0
      } else if found != 0 {
        return true
      }
      if found == 0 {
        if JSONScanner.stringEquals(text, key, "_placeholder") { placeholder = value }
        if JSONScanner.stringEquals(text, key, "num") { number = value }
      }
      return false
    }
  }

  /// The number of `$` in a key that matches `^\$+bin$`, however it is escaped; 0 for every other key.
  private static func dollars(_ text: RawSpan, _ key: Range<Int>) -> Int {
    guard key.count >= 6 else { return 0 }
    let first = JSONScanner.byte(text, key.lowerBound + 1)
    guard first == UInt8(ascii: "$") || first == UInt8(ascii: "\\") else { return 0 }
    if key.count == 6, JSONScanner.bytesEqual(text, key.lowerBound + 1, "$bin") { return 1 }
    var (at, count) = (key.lowerBound + 1, 0)
    let end = key.upperBound - 1
    var letter = JSONScanner.character(text, &at, end: end)
    while letter == UInt8(ascii: "$") {
      count += 1
      letter = JSONScanner.character(text, &at, end: end)
    }
    guard letter == UInt8(ascii: "b"), JSONScanner.character(text, &at, end: end) == UInt8(ascii: "i"),
      JSONScanner.character(text, &at, end: end) == UInt8(ascii: "n"), at == end
    else { return 0 }
    return count
  }

  /// Calls `body` for each marked object within validated text, at its closing brace: an inner object before the one
  /// around it. Linear in the text's length.
  static func forEach<Failure: Error>(
    in text: RawSpan, _ range: Range<Int>, _ body: (MarkedObject) throws(Failure) -> Void
  ) throws(Failure) {
    var open: [Open] = []
    // Of the open objects, innermost last.
    var repetitions: [(depth: Int, key: Int)] = []
    var expectsKey = false
    var at = range.lowerBound
    while at < range.upperBound {
      switch JSONScanner.byte(text, at) {
      case UInt8(ascii: "{"):
        open.append(Open(start: at, isObject: true))
        expectsKey = true
      case UInt8(ascii: "["):
        open.append(Open(start: at, isObject: false))
        expectsKey = false
      case UInt8(ascii: "]"):
        open.removeLast()
      case UInt8(ascii: "}"):
        guard let object = open.popLast(), object.isObject else { return }
        let keys = repetitions.isEmpty ? [] : take(from: &repetitions, depth: open.count)
        if object.dollars != 0 || object.placeholder != 0 {
          try body(MarkedObject(object, end: at + 1, repetitions: keys))
        }
      case UInt8(ascii: ","):
        expectsKey = open.last?.isObject ?? false
      case UInt8(ascii: "\""):
        let string = at..<endOfString(text, at, range.upperBound)
        at = string.upperBound
        guard expectsKey, !open.isEmpty else { continue }
        expectsKey = false
        stepToValue(text, &at)
        let inner = open.count - 1
        if open[inner].note(text, key: string, value: at) { repetitions.append((inner, string.lowerBound)) }
        continue
      default: break
      }
      at += 1
    }
  }

  private static func take(from repetitions: inout [(depth: Int, key: Int)], depth: Int) -> [Int] {
    let first = repetitions.lastIndex { $0.depth < depth }.map { $0 + 1 } ?? 0
    let keys = repetitions[first...].map(\.key)
    repetitions.removeSubrange(first...)
    return keys
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
