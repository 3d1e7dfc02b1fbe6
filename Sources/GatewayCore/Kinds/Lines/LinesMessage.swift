/// One message of a server, as ranges of its line. Nothing is copied; the other members are those that the profile does
/// not name. Decision 0052.
struct LinesMessage: Equatable, Sendable {
  /// The text of the type, with its quotes; nil when there is none.
  private(set) var type: Range<Int>?
  private(set) var id: Range<Int>?
  private(set) var body: Range<Int>?
  /// Also `null`, which makes an answer no failure.
  private(set) var error: Range<Int>?
  /// Of each other member, from its key to the end of its value.
  private(set) var others: [Range<Int>] = []
  /// The line is no JSON: it holds `NonNumbers`, and is too long for them to be replaced.
  private(set) var hasNonNumbers = false
  /// Why it cannot be shown, although it is a JSON object; of several reasons one.
  private(set) var flaw: Flaw?
  private var idCount = 0
  private var memberCount = 0

  /// What keeps a message from being shown. An answer finds its request all the same, where its id stands there once.
  enum Flaw: Equatable, Sendable {
    case tooDeep
    /// One of the profile's members stands there twice, or there are too many others.
    case unclear

    /// As a sentence.
    var detail: String {
      switch self {
      case .tooDeep: "the line is nested too deeply"
      case .unclear: "the line has a member of lines.type, id, body or error twice, or too many members"
      }
    }
  }

  /// Most members whose names are looked at: those of the profile and one more than it may have of others.
  static let elementLimit = LinesProfile.memberLimit + 5

  /// Levels that a message may have: its own around those of an argument, unless it is the argument.
  private static func depthLimit(_ names: LinesSettings) -> Int {
    names.body.isEmpty ? LineDepth.argumentLimit : LineDepth.argumentLimit + 1
  }

  /// What looks at a long line while it comes.
  static func long(_ profile: LinesProfile) -> LongText {
    LongText(from: 0, depth: depthLimit(profile.settings), elements: elementLimit, takesDeeper: true)
  }

  /// `long` is what is known of the line already. Throws where it is no JSON object.
  init(_ line: RawSpan, _ profile: LinesProfile, long: LongText? = nil) throws(JSONError) {
    if let long, !long.isAnother {
      try take(line, long.outline(line), profile.settings)
      return
    }
    do throws(JSONError) { self = try Self(whole: line, profile.settings) } catch {
      guard case .depth = error else { throw error }
      var long = Self.long(profile)
      long.advance(line, isWhole: true)
      try take(line, long.outline(line), profile.settings)
    }
  }

  private init(whole line: RawSpan, _ names: LinesSettings) throws(JSONError) {
    var at = 0
    JSONScanner.skipWhitespace(line, &at)
    try JSONScanner.scanObject(line, &at, depth: Self.depthLimit(names)) { key, value in
      take(line, key, value, names)
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
    for element in known.elements { if let key = element.key { take(line, key, element.value, names) } }
    if known.isTooDeep { flaw = .tooDeep }
  }

  private mutating func take(_ line: RawSpan, _ key: Range<Int>, _ value: Range<Int>, _ names: LinesSettings) {
    guard memberCount < Self.elementLimit else { return }
    memberCount += 1
    // A longer one is none of the profile's.
    let name = key.count <= Self.keyLimit ? JSONScanner.decodeString(line, key) : nil
    switch name {
    // Only a text, a number or a literal can name an event.
    case names.type where Self.isContainer(line, value): break
    case names.type: type = once(type, value)
    case names.id:
      idCount += 1
      id = idCount == 1 ? value : nil
      if idCount > 1 { flaw = .unclear }
    case names.error: error = once(error, value)
    case names.body where !names.body.isEmpty: body = once(body, value)
    default:
      guard others.count < LinesProfile.memberLimit else { return flaw = .unclear }
      others.append(key.lowerBound..<value.upperBound)
    }
  }

  private static let keyLimit = 64 << 10

  private static func isContainer(_ line: RawSpan, _ value: Range<Int>) -> Bool {
    let first = JSONScanner.byte(line, value.lowerBound)
    return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
  }

  private mutating func once(_ member: Range<Int>?, _ value: Range<Int>) -> Range<Int> {
    if member != nil { flaw = .unclear }
    return member ?? value
  }

  // MARK: - What it means

  /// The type as a text; a number or a literal stands for itself. One that no configuration names is shortened.
  func typeText(_ line: RawSpan) -> String? { type.map { Self.text(line, $0) } }

  /// What makes an answer a failure.
  func failure(_ line: RawSpan) -> Range<Int>? {
    error.flatMap { JSONScanner.byte(line, $0.lowerBound) == UInt8(ascii: "n") ? nil : $0 }
  }

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
