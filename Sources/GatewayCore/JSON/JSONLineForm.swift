/// What a text has to be where it is put into a line as it is: JSON of that form, without a line end.
enum JSONLineForm {
  /// A string with its quotes.
  case string
  case object
  /// One value of any kind.
  case value
  /// Any number of values with commas between them.
  case elements

  /// Whether a text has this form, where each of its values has so many levels at most. White space may be around each.
  func fits(_ text: RawSpan, depth: Int) -> Bool {
    switch self {
    case .string: JSONScanner.byte(text, 0) == UInt8(ascii: "\"") && Self.areValues(text, depth, isOne: true)
    case .object: JSONScanner.byte(text, 0) == UInt8(ascii: "{") && Self.areValues(text, depth, isOne: true)
    case .value: Self.areValues(text, depth, isOne: true)
    case .elements: text.byteCount == 0 || Self.areValues(text, depth, isOne: false)
    }
  }

  /// Values with commas between them, or exactly one.
  private static func areValues(_ text: RawSpan, _ depth: Int, isOne: Bool) -> Bool {
    var (at, notes) = (0, JSONScanner.Notes())
    while true {
      JSONScanner.skipWhitespace(text, &at, &notes)
      guard (try? JSONScanner.scanValue(text, &at, depth: depth, &notes)) != nil else { return false }
      JSONScanner.skipWhitespace(text, &at, &notes)
      if at == text.byteCount { return !notes.hasLineEnds }
      guard !isOne, JSONScanner.byte(text, at) == UInt8(ascii: ",") else { return false }
      at += 1
    }
  }
}
