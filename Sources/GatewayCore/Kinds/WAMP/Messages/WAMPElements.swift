/// The elements of one message: where each stands in the text, without any of them being taken apart. No message of
/// WAMP has more than seven.
struct WAMPElements {
  static let limit = 7
  /// Levels of nesting that a message may have: its own and that of `Arguments` or `ArgumentsKw` around an argument.
  static let depthLimit = LineDepth.argumentLimit + 2

  private var ranges = InlineArray<7, Range<Int>>(repeating: 0..<0)
  /// Beyond the limit only the number is kept.
  private(set) var count = 0
  /// The text is no JSON: it holds `NonNumbers`, and is too long for them to be replaced.
  private var hasNonNumbers = false
  /// It has more levels than `depthLimit`: it is a message, but one with a payload that cannot be handed on.
  private(set) var isTooDeep = false

  /// What looks at a long text while it comes.
  static func long() -> LongText { LongText(from: 0, depth: depthLimit, elements: limit, takesDeeper: true) }

  /// Checks the whole text, unless that was done, and finds its elements.
  init(_ text: RawSpan, _ long: LongText? = nil) throws(WAMPProblem) {
    if let long, !long.isAnother {
      try find(text, long)
      return
    }
    var at = 0
    JSONScanner.skipWhitespace(text, &at)
    guard JSONScanner.byte(text, at) == UInt8(ascii: "[") else {
      throw (try? JSONScanner.validate(text)) == nil ? .malformedJSON : .noMessage
    }
    do {
      try JSONScanner.scanArray(text, &at, depth: Self.depthLimit) { element in
        if count < Self.limit { ranges[count] = element }
        count &+= 1
      }
    } catch {
      guard case .depth = error else { throw .malformedJSON }
      var whole = Self.long()
      whole.advance(text, isWhole: true)
      try find(text, whole)
      return
    }
    JSONScanner.skipWhitespace(text, &at)
    guard at == text.byteCount else { throw .malformedJSON }
  }

  private mutating func find(_ text: RawSpan, _ long: LongText) throws(WAMPProblem) {
    let known: LongText.Outline
    do { known = try long.outline(text) } catch { throw .malformedJSON }
    guard JSONScanner.byte(text, known.range.lowerBound) == UInt8(ascii: "[") else { throw .noMessage }
    for (index, element) in known.elements.enumerated() { ranges[index] = element.value }
    count = known.count
    hasNonNumbers = known.hasNonNumbers
    isTooDeep = known.isTooDeep
  }

  /// Nil beyond the end.
  subscript(_ index: Int) -> Range<Int>? { index < min(count, Self.limit) ? ranges[index] : nil }

  private func element(_ index: Int, _ text: RawSpan, begins letter: UInt8) -> Range<Int>? {
    guard let range = self[index], JSONScanner.byte(text, range.lowerBound) == letter else { return nil }
    return range
  }

  /// An object; nil for everything else.
  func object(_ index: Int, _ text: RawSpan) -> Range<Int>? { element(index, text, begins: UInt8(ascii: "{")) }

  /// A string with its quotes; nil for everything else.
  func string(_ index: Int, _ text: RawSpan) -> Range<Int>? { element(index, text, begins: UInt8(ascii: "\"")) }

  /// An id; nil for everything that is none.
  func id(_ index: Int, _ text: RawSpan) -> UInt64? {
    guard let number = number(index, text), WAMPID.range.contains(number) else { return nil }
    return number
  }

  /// A plain integer that is not negative.
  func number(_ index: Int, _ text: RawSpan) -> UInt64? {
    self[index].flatMap { JSONScanner.integer(text, $0) }.flatMap(UInt64.init(exactly:))
  }

  /// `Arguments` and `ArgumentsKw` from this element on; nil if they are malformed, or if more follows.
  func payload(from index: Int, _ text: RawSpan) -> WAMPPayload? {
    guard count <= index + 2 else { return nil }
    var payload = WAMPPayload(hasNonNumbers: hasNonNumbers, isTooDeep: isTooDeep)
    if self[index] != nil {
      guard let arguments = element(index, text, begins: UInt8(ascii: "[")) else { return nil }
      payload.arguments = arguments
    }
    if self[index + 1] != nil {
      guard let keywords = object(index + 1, text) else { return nil }
      payload.keywords = keywords
    }
    return payload
  }
}
