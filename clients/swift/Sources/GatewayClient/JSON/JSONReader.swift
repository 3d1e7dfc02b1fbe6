/// Reads JSON: the whole grammar and nothing more, nested at most as deeply as the local protocol takes, or as it answers.
struct JSONReader {
  /// What objects whose only key is `$bin` (with any number of further `$` in front) mean.
  enum Form: Equatable, Sendable {
    /// Nothing.
    case plain
    /// Bytes, or an object that had to be told apart from them: "Payloads" in docs/protocol.md.
    case payload
  }

  enum Failure: Error, Equatable {
    case malformed(at: Int)
    case tooDeep
  }

  /// Levels that a line may have ("Lines" in docs/protocol.md).
  static let depthLimit = 64
  /// The same of an answer.
  static let answerDepthLimit = 68

  let text: [UInt8]
  private(set) var position: Int
  private let end: Int
  private let depthLimit: Int
  /// The deepest level so far, the outermost being 1.
  private(set) var deepest = 0
  private var level = 0

  init(_ text: [UInt8], range: Range<Int>? = nil, depthLimit: Int = Self.depthLimit) {
    self.text = text
    self.depthLimit = depthLimit
    position = range?.lowerBound ?? 0
    end = range?.upperBound ?? text.count
  }

  /// The one value of a text.
  static func value(
    of text: [UInt8], range: Range<Int>? = nil, form: Form, depthLimit: Int = Self.depthLimit
  ) throws(Failure) -> JSON {
    var reader = JSONReader(text, range: range, depthLimit: depthLimit)
    let value = try reader.value(form)
    try reader.finish()
    return value
  }

  /// How many levels the one value of a text has, which is of that grammar and in strict UTF-8.
  static func depth(of text: [UInt8]) throws(Failure) -> Int {
    guard String(validating: text, as: UTF8.self) != nil else { throw .malformed(at: 0) }
    var reader = JSONReader(text)
    try reader.skip()
    try reader.finish()
    return reader.deepest
  }

  static func isNumber(_ text: [UInt8]) -> Bool {
    var reader = JSONReader(text)
    return (try? reader.skipNumber()) != nil && reader.position == text.count
  }

  // MARK: Values

  /// The next value.
  mutating func value(_ form: Form) throws(Failure) -> JSON {
    switch try peek() {
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "{"): return try object(form)
    case UInt8(ascii: "["):
      var elements: [JSON] = []
      try eachElement { (reader) throws(Failure) in elements.append(try reader.value(form)) }
      return .array(elements)
    case UInt8(ascii: "t"):
      try skipWord("true")
      return .bool(true)
    case UInt8(ascii: "f"):
      try skipWord("false")
      return .bool(false)
    case UInt8(ascii: "n"):
      try skipWord("null")
      return .null
    default:
      let start = position
      try skipNumber()
      return .number(JSONNumber(unchecked: String(decoding: text[start..<position], as: UTF8.self)))
    }
  }

  /// Goes past the next value, which has to be of the grammar.
  mutating func skip() throws(Failure) {
    switch try peek() {
    case UInt8(ascii: "\""): _ = try skipString()
    case UInt8(ascii: "{"):
      try eachMember { (reader) throws(Failure) in
        _ = try reader.skipString()
        try reader.colon()
        try reader.skip()
      }
    case UInt8(ascii: "["): try eachElement { (reader) throws(Failure) in try reader.skip() }
    case UInt8(ascii: "t"): try skipWord("true")
    case UInt8(ascii: "f"): try skipWord("false")
    case UInt8(ascii: "n"): try skipWord("null")
    default: try skipNumber()
    }
  }

  /// The members of the next value, which has to be an object, with the places of their values.
  mutating func places() throws(Failure) -> [(key: String, place: Range<Int>)] {
    guard try peek() == UInt8(ascii: "{") else { throw .malformed(at: position) }
    var found: [(key: String, place: Range<Int>)] = []
    try eachMember { (reader) throws(Failure) in
      let key = try reader.string()
      try reader.colon()
      _ = try reader.peek()
      let start = reader.position
      try reader.skip()
      found.append((key, start..<reader.position))
    }
    return found
  }

  /// The same for each element of the next value, which has to be an array of objects.
  mutating func objects() throws(Failure) -> [[(key: String, place: Range<Int>)]] {
    guard try peek() == UInt8(ascii: "[") else { throw .malformed(at: position) }
    var found: [[(key: String, place: Range<Int>)]] = []
    try eachElement { (reader) throws(Failure) in found.append(try reader.places()) }
    return found
  }

  /// Nothing but space may follow.
  mutating func finish() throws(Failure) {
    skipSpace()
    guard position == end else { throw .malformed(at: position) }
  }

  private mutating func object(_ form: Form) throws(Failure) -> JSON {
    var members: [JSON.Member] = []
    try eachMember { (reader) throws(Failure) in
      let key = try reader.string()
      try reader.colon()
      members.append(JSON.Member(key, try reader.value(form)))
    }
    guard form == .payload, members.count == 1, BinaryMark.isOne(members[0].key) else { return .object(members) }
    if members[0].key == BinaryMark.key, let bytes = members[0].value.string.flatMap(Base64.decode) {
      return .bytes(bytes)
    }
    if members[0].key != BinaryMark.key { members[0].key.removeFirst() }
    return .object(members)
  }

  private mutating func eachElement(_ element: (inout Self) throws(Failure) -> Void) throws(Failure) {
    try list(closedBy: UInt8(ascii: "]"), element)
  }

  private mutating func eachMember(_ member: (inout Self) throws(Failure) -> Void) throws(Failure) {
    try list(closedBy: UInt8(ascii: "}")) { (reader) throws(Failure) in
      guard try reader.peek() == UInt8(ascii: "\"") else { throw .malformed(at: reader.position) }
      try member(&reader)
    }
  }

  private mutating func list(
    closedBy close: UInt8, _ part: (inout Self) throws(Failure) -> Void
  ) throws(Failure) {
    level += 1
    deepest = max(deepest, level)
    guard level <= depthLimit else { throw .tooDeep }
    position += 1
    if try peek() == close {
      position += 1
    } else {
      while true {
        try part(&self)
        let next = try peek()
        position += 1
        if next == close { break }
        guard next == UInt8(ascii: ",") else { throw .malformed(at: position - 1) }
      }
    }
    level -= 1
  }

  // MARK: Tokens

  private mutating func string() throws(Failure) -> String {
    let (place, hasEscapes) = try skipString()
    guard hasEscapes else { return String(decoding: text[place], as: UTF8.self) }
    return unescaped(text[place])
  }

  /// Goes past a string, and returns where its characters stand.
  private mutating func skipString() throws(Failure) -> (place: Range<Int>, hasEscapes: Bool) {
    position += 1
    let start = position
    var hasEscapes = false
    while position < end {
      switch text[position] {
      case UInt8(ascii: "\""):
        position += 1
        return (start..<position - 1, hasEscapes)
      case UInt8(ascii: "\\"):
        hasEscapes = true
        try skipEscape()
      case 0..<0x20: throw .malformed(at: position)
      default: position += 1
      }
    }
    throw .malformed(at: end)
  }

  private mutating func skipEscape() throws(Failure) {
    guard position + 1 < end else { throw .malformed(at: end) }
    guard text[position + 1] == UInt8(ascii: "u") else {
      guard Self.escapes[text[position + 1]] != nil else { throw .malformed(at: position) }
      position += 2
      return
    }
    guard position + 6 <= end, text[position + 2..<position + 6].allSatisfy({ Self.digit($0) != nil }) else {
      throw .malformed(at: position)
    }
    position += 6
  }

  private mutating func skipNumber() throws(Failure) {
    if position < end, text[position] == UInt8(ascii: "-") { position += 1 }
    if position < end, text[position] == UInt8(ascii: "0") { position += 1 } else { try skipDigits() }
    if position < end, text[position] == UInt8(ascii: ".") {
      position += 1
      try skipDigits()
    }
    guard position < end, text[position] | 0x20 == UInt8(ascii: "e") else { return }
    position += 1
    if position < end, text[position] == UInt8(ascii: "+") || text[position] == UInt8(ascii: "-") { position += 1 }
    try skipDigits()
  }

  private mutating func skipDigits() throws(Failure) {
    let start = position
    while position < end, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(text[position]) { position += 1 }
    guard position > start else { throw .malformed(at: position) }
  }

  private mutating func skipWord(_ word: StaticString) throws(Failure) {
    let count = word.utf8CodeUnitCount
    let isThere = word.withUTF8Buffer { position + count <= end && text[position..<position + count].elementsEqual($0) }
    guard isThere else { throw .malformed(at: position) }
    position += count
  }

  private mutating func colon() throws(Failure) {
    guard try peek() == UInt8(ascii: ":") else { throw .malformed(at: position) }
    position += 1
  }

  /// The next byte that is no space.
  private mutating func peek() throws(Failure) -> UInt8 {
    skipSpace()
    guard position < end else { throw .malformed(at: end) }
    return text[position]
  }

  private mutating func skipSpace() {
    while position < end {
      switch text[position] {
      case 0x20, 0x0A, 0x0D, 0x09: position += 1
      default: return
      }
    }
  }

  /// A string with escapes. Half a surrogate pair becomes U+FFFD.
  private func unescaped(_ characters: ArraySlice<UInt8>) -> String {
    var result = ""
    var units: [UInt16] = []
    var plain = characters.startIndex
    var index = plain
    func take(_ place: Range<Int>) {
      guard !place.isEmpty else { return }
      result += String(decoding: units, as: UTF16.self) + String(decoding: characters[place], as: UTF8.self)
      units = []
    }
    while index < characters.endIndex {
      guard characters[index] == UInt8(ascii: "\\") else {
        index += 1
        continue
      }
      take(plain..<index)
      if let unit = Self.escapes[characters[index + 1]] {
        units.append(unit)
        index += 2
      } else {
        let digits = characters[index + 2..<index + 6]
        units.append(digits.reduce(0) { $0 << 4 | UInt16(Self.digit($1) ?? 0) })
        index += 6
      }
      plain = index
    }
    take(plain..<index)
    return result + String(decoding: units, as: UTF16.self)
  }

  private static let escapes: [UInt8: UInt16] = [
    UInt8(ascii: "\""): 0x22, UInt8(ascii: "\\"): 0x5C, UInt8(ascii: "/"): 0x2F, UInt8(ascii: "b"): 0x08,
    UInt8(ascii: "f"): 0x0C, UInt8(ascii: "n"): 0x0A, UInt8(ascii: "r"): 0x0D, UInt8(ascii: "t"): 0x09,
  ]

  /// What a hexadecimal digit stands for.
  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}

/// The key that marks bytes, and how an object that really has it is told apart: with one more `$` in front.
enum BinaryMark {
  static let key = "$bin"

  /// Whether a key is `$bin`, with any number of further `$` in front.
  static func isOne(_ key: String) -> Bool {
    key.hasSuffix(Self.key) && key.utf8.dropLast(3).allSatisfy { $0 == UInt8(ascii: "$") }
  }
}
