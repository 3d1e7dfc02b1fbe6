/// Checks one JSON value whose text is still coming, so that other clients do not wait for a long one: each call goes
/// on where the one before stopped, in the middle of a string if need be. Accepts and refuses what
/// `JSONScanner.scanValue` does, with the same errors, and `NonNumbers` besides if it is told to. Decision 0076.
struct JSONProgress: Equatable, Sendable {
  /// What has become of the value.
  enum Outcome: Equatable, Sendable {
    /// It ends before this byte.
    case ended(at: Int)
    case broken(JSONError)
  }

  /// What stands next, white space before it not counted.
  private enum Place: Equatable {
    case value, firstElement, firstKey, key, colon, behindValue
    /// Within a string, behind its opening quote.
    case string, keyString
    /// A part of a number that was cut: within its digits, or where its first digit or a sign has to stand.
    case digits(NumberPart), firstDigit(NumberPart), sign
  }

  private enum NumberPart: Equatable {
    /// A leading zero, which has no digit behind it.
    case zero
    case integer, fraction, exponent
  }

  /// What stands directly in the outermost array or object.
  struct Element: Equatable, Sendable {
    /// Nil in an array.
    var key: Range<Int>?
    var value: Range<Int>
  }

  /// Nil as long as more has to come.
  private(set) var outcome: Outcome?
  /// The first elements, as far as they are complete.
  private(set) var elements: [Element] = []
  /// How many elements are complete; only the first `elementLimit` of them are remembered.
  private(set) var elementCount = 0
  /// Where the last of them ends.
  private(set) var elementsEnd = 0
  /// Where the value begins; of no meaning before `outcome` is there.
  private(set) var valueStart = 0
  private let elementLimit: Int
  /// Where the element under way begins, and its key; negative while there is none.
  private var elementStart = -1
  private var key: Range<Int>?
  private var place = Place.value
  private var at: Int
  private var level = 0
  /// One bit for each open container, the innermost lowest: set for an object. Of each 64 levels the bits of those
  /// further out are in `outer`.
  private var objects: UInt64 = 0
  private var outer: [UInt64] = []
  private let depth: Int
  private let takesDeeper: Bool
  /// It was nested more deeply than `depth` says.
  private(set) var isTooDeep = false
  private let takesNonNumbers: Bool
  /// Some were there, so that the value is no JSON.
  private(set) var hasNonNumbers = false

  /// No escape, no character and no literal name is longer: what is wrong closer to the end may only be cut.
  private static let margin = 8

  /// The value's first byte stands at `start`; `depth` is the number of levels that it may have, `elements` how many of
  /// its elements are remembered, `nonNumbers` whether those are taken for numbers, `takesDeeper` whether a value with
  /// more levels is looked at to its end all the same, which takes a bit for each.
  init(
    from start: Int, depth: Int = JSONScanner.depthLimit, elements: Int = 0, nonNumbers: Bool = false,
    takesDeeper: Bool = false
  ) {
    takesNonNumbers = nonNumbers
    self.takesDeeper = takesDeeper
    at = start
    elementLimit = elements
    self.depth = min(depth, JSONScanner.depthLimit)
  }

  /// Looks at what has come since the last call. `text` is all that has come so far, the same bytes as before and more;
  /// with `isWhole` there is nothing behind it.
  mutating func advance(_ text: RawSpan, isWhole: Bool = false) {
    do throws(JSONError) {
      while outcome == nil {
        guard try step(text, isWhole) else { return }
      }
    } catch { outcome = .broken(error) }
  }

  /// One step of the grammar; false when what stands at the end may be cut.
  private mutating func step(_ text: RawSpan, _ isWhole: Bool) throws(JSONError) -> Bool {
    switch place {
    case .string, .keyString: return try stepThroughString(text, isWhole)
    case .digits(let part): return stepThroughDigits(text, isWhole, part)
    case .behindValue where level == 0:
      outcome = .ended(at: at)
      return true
    case .behindValue:
      if elementStart >= 0, level == 1 { noteElement() }
      JSONScanner.skipWhitespace(text, &at)
    case .value, .firstElement, .firstKey, .key, .colon: JSONScanner.skipWhitespace(text, &at)
    case .firstDigit, .sign: break
    }
    guard at < text.byteCount || isWhole else { return false }
    let byte = JSONScanner.byte(text, at)
    switch place {
    case .value: return try stepIntoValue(text, isWhole, byte)
    case .firstElement: if byte == UInt8(ascii: "]") { close() } else { place = .value }
    case .firstKey: if byte == UInt8(ascii: "}") { close() } else { place = .key }
    case .key:
      if level == 1 { key = at..<at }
      try stepOver(byte, UInt8(ascii: "\""), to: .keyString)
    case .colon: try stepOver(byte, UInt8(ascii: ":"), to: .value)
    case .behindValue: try stepToNext(byte)
    case .firstDigit(let part):
      guard Self.isDigit(byte) else { throw .syntax(at: at) }
      at &+= 1
      place = .digits(part == .integer && byte == UInt8(ascii: "0") ? .zero : part)
    case .sign:
      if byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") { at &+= 1 }
      place = .firstDigit(.exponent)
    case .string, .keyString, .digits: break
    }
    return true
  }

  private mutating func stepOver(_ byte: UInt8, _ expected: UInt8, to next: Place) throws(JSONError) {
    guard byte == expected else { throw .syntax(at: at) }
    at &+= 1
    place = next
  }

  private mutating func stepToNext(_ byte: UInt8) throws(JSONError) {
    let inObject = objects & 1 == 1
    if byte == UInt8(ascii: ",") { return try stepOver(byte, byte, to: inObject ? .key : .value) }
    guard byte == (inObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else { throw .syntax(at: at) }
    close()
  }

  private mutating func noteElement() {
    if elements.count < elementLimit { elements.append(Element(key: key, value: elementStart..<at)) }
    elementCount &+= 1
    elementsEnd = at
    elementStart = -1
  }

  /// Steps behind the end of the innermost container.
  private mutating func close() {
    at &+= 1
    level &-= 1
    objects &>>= 1
    if level & 63 == 0, let bits = outer.popLast() { objects = bits }
    place = .behindValue
  }

  private mutating func open(object: Bool) throws(JSONError) {
    if level >= depth {
      guard takesDeeper else { throw .depth(at: at) }
      isTooDeep = true
    }
    if level & 63 == 0, level > 0 { outer.append(objects) }
    at &+= 1
    level &+= 1
    objects = objects &<< 1 | (object ? 1 : 0)
    place = object ? .firstKey : .firstElement
  }

  private mutating func stepIntoValue(_ text: RawSpan, _ isWhole: Bool, _ byte: UInt8) throws(JSONError) -> Bool {
    if level == 1 { elementStart = at } else if level == 0 { valueStart = at }
    switch byte {
    case UInt8(ascii: "{"): try open(object: true)
    case UInt8(ascii: "["): try open(object: false)
    case UInt8(ascii: "\""):
      at &+= 1
      place = .string
    case UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"):
      guard isWhole || text.byteCount &- at >= Self.margin else { return false }
      try JSONScanner.stepOverScalar(text, &at)
      place = .behindValue
    case UInt8(ascii: "N"), UInt8(ascii: "I"), UInt8(ascii: "-"):
      guard takesNonNumbers else { return try stepIntoNumber(text) }
      guard isWhole || text.byteCount &- at >= NonNumbers.wordLimit else { return false }
      guard let length = NonNumbers.length(text, at) else { return try stepIntoNumber(text) }
      at &+= length
      hasNonNumbers = true
      place = .behindValue
    default: return try stepIntoNumber(text)
    }
    return true
  }

  /// A number is read at once unless its end is not sure to be there.
  private mutating func stepIntoNumber(_ text: RawSpan) throws(JSONError) -> Bool {
    var end = at
    do throws(JSONError) {
      try JSONScanner.stepOverScalar(text, &end)
    } catch {
      guard end >= text.byteCount else { throw error }
    }
    guard end >= text.byteCount else {
      at = end
      place = .behindValue
      return true
    }
    if JSONScanner.byte(text, at) == UInt8(ascii: "-") { at &+= 1 }
    place = .firstDigit(.integer)
    return true
  }

  private mutating func stepThroughDigits(_ text: RawSpan, _ isWhole: Bool, _ part: NumberPart) -> Bool {
    if part != .zero {
      while Self.isDigit(JSONScanner.byte(text, at)) { at &+= 1 }
    }
    guard at < text.byteCount || isWhole else { return false }
    let byte = JSONScanner.byte(text, at)
    let mayHaveFraction = part == .zero || part == .integer
    if mayHaveFraction, byte == UInt8(ascii: ".") {
      at &+= 1
      place = .firstDigit(.fraction)
    } else if mayHaveFraction || part == .fraction, byte | 0x20 == UInt8(ascii: "e") {
      at &+= 1
      place = .sign
    } else {
      place = .behindValue
    }
    return true
  }

  private mutating func stepThroughString(_ text: RawSpan, _ isWhole: Bool) throws(JSONError) -> Bool {
    do throws(JSONError) {
      // From the byte before, which is taken for the opening quote.
      at = try JSONScanner.endOfString(text, from: at &- 1)
    } catch {
      // What is wrong, or cut, stands here.
      at = error.offset
      guard !isWhole, text.byteCount &- at < Self.margin else { throw error }
      return false
    }
    if place == .keyString, level == 1, let start = key?.lowerBound { key = start..<at }
    place = place == .keyString ? .colon : .behindValue
    return true
  }

  @inline(__always)
  private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }
}
