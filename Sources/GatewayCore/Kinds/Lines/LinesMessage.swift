/// One message of a server, as ranges of its line. Nothing is copied; the other members are those that the profile does
/// not name. Decision 0052.
struct LinesMessage: Equatable, Sendable {
  /// The text of the type, with its quotes; nil when there is none.
  private(set) var type: Range<Int>?
  private(set) var id: Range<Int>?
  private(set) var body: Range<Int>?
  /// Nil also for `null`, which is no error.
  private(set) var error: Range<Int>?
  /// Of each other member, from its key to the end of its value.
  private(set) var others: [Range<Int>] = []
  /// The line is no JSON: it holds `NonNumbers`, and is too long for them to be replaced.
  private(set) var hasNonNumbers = false

  /// Most members whose names are looked at: those of the profile and one more than it may have of others.
  static let elementLimit = LinesProfile.memberLimit + 5

  /// `long` is what is known of the line already.
  init(_ line: RawSpan, _ profile: LinesProfile, long: LongText? = nil) throws(JSONError) {
    var at = 0
    if let long, !long.isAnother {
      try take(line, long.outline(line), profile.settings)
      return
    }
    JSONScanner.skipWhitespace(line, &at)
    try JSONScanner.scanObject(line, &at) { key, value throws(JSONError) in
      try take(line, key, value, profile.settings)
    }
    JSONScanner.skipWhitespace(line, &at)
    guard at == line.byteCount else { throw .syntax(at: at) }
  }

  private mutating func take(
    _ line: RawSpan, _ known: LongText.Outline, _ names: LinesSettings
  ) throws(JSONError) {
    guard JSONScanner.byte(line, known.range.lowerBound) == UInt8(ascii: "{") else {
      throw .syntax(at: known.range.lowerBound)
    }
    hasNonNumbers = known.hasNonNumbers
    for element in known.elements { if let key = element.key { try take(line, key, element.value, names) } }
  }

  private mutating func take(
    _ line: RawSpan, _ key: Range<Int>, _ value: Range<Int>, _ names: LinesSettings
  ) throws(JSONError) {
    // A longer one is none of the profile's.
    let name = key.count <= Self.keyLimit ? JSONScanner.decodeString(line, key) : nil
    switch name {
    // Only a text, a number or a literal can name an event.
    case names.type where Self.isContainer(line, value): break
    case names.type: type = try once(type, value)
    case names.id: id = try once(id, value)
    case names.error where JSONScanner.byte(line, value.lowerBound) == UInt8(ascii: "n"): break
    case names.error: error = try once(error, value)
    case names.body where !names.body.isEmpty: body = try once(body, value)
    default:
      guard others.count < LinesProfile.memberLimit else { throw .duplicateKey(at: key.lowerBound) }
      others.append(key.lowerBound..<value.upperBound)
    }
  }

  private static let keyLimit = 64 << 10

  private static func isContainer(_ line: RawSpan, _ value: Range<Int>) -> Bool {
    let first = JSONScanner.byte(line, value.lowerBound)
    return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
  }

  private func once(_ member: Range<Int>?, _ value: Range<Int>) throws(JSONError) -> Range<Int> {
    guard member == nil else { throw .duplicateKey(at: value.lowerBound) }
    return value
  }

  // MARK: - What it means

  /// The type as a text; a number or a literal stands for itself. One that no configuration names is shortened.
  func typeText(_ line: RawSpan) -> String? { type.map { Self.text(line, $0) } }

  /// The id, if it is one of ours: written as a number, or as a text of its digits.
  func number(_ line: RawSpan) -> UInt64? {
    guard let id else { return nil }
    if let value = JSONScanner.integer(line, id) { return UInt64(exactly: value) }
    // A longer text is none of ours, however its digits are escaped.
    guard JSONScanner.byte(line, id.lowerBound) == UInt8(ascii: "\""), id.count <= 128 else { return nil }
    return UInt64(JSONScanner.decodeString(line, id))
  }

  private static func text(_ line: RawSpan, _ range: Range<Int>) -> String {
    guard JSONScanner.byte(line, range.lowerBound) == UInt8(ascii: "\"") else {
      return String(shortening: line.extracting(range), to: EventName.limit)
    }
    return JSONScanner.decodeString(line, range, shortenedTo: EventName.limit)
  }
}
