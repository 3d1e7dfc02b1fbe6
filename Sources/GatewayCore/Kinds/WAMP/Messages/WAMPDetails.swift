/// Looks into the options, details and extras of messages. Members that are not asked for are ignored (WAMP section
/// "Extensibility"); of a member that occurs twice the last one counts. `range` is always a scanned object of the text.
enum WAMPDetails {
  /// Where the member's value stands; nil if there is none.
  static func value(_ name: StaticString, in text: RawSpan, _ range: Range<Int>) -> Range<Int>? {
    // Longer ones are not read.
    guard range.count <= WAMPReader.sessionLimit else { return nil }
    var found: Range<Int>?
    var at = range.lowerBound
    do {
      try JSONScanner.scanObject(text, &at) { key, value in
        if JSONScanner.stringEquals(text, key, name) { found = value }
      }
    } catch { return nil }
    return found
  }

  /// Where the member's value, a string with its quotes, stands.
  static func rawString(_ name: StaticString, in text: RawSpan, _ range: Range<Int>) -> Range<Int>? {
    value(name, in: text, range).flatMap { JSONScanner.byte(text, $0.lowerBound) == UInt8(ascii: "\"") ? $0 : nil }
  }

  static func string(_ name: StaticString, in text: RawSpan, _ range: Range<Int>) -> String? {
    rawString(name, in: text, range).map { JSONScanner.decodeString(text, $0) }
  }

  /// A string for people, of at most `limit` bytes and the mark, on one line.
  static func words(_ name: StaticString, in text: RawSpan, _ range: Range<Int>, limit: Int) -> String? {
    rawString(name, in: text, range).map { JSONScanner.decodeString(text, $0, shortenedTo: limit).singleLine }
  }

  static func integer(_ name: StaticString, in text: RawSpan, _ range: Range<Int>) -> Int? {
    value(name, in: text, range).flatMap { JSONScanner.integer(text, $0) }.flatMap(Int.init(exactly:))
  }

  /// An id; nil where none stands.
  static func id(_ name: StaticString, in text: RawSpan, _ range: Range<Int>) -> UInt64? {
    value(name, in: text, range).flatMap { JSONScanner.integer(text, $0) }.flatMap(UInt64.init(exactly:))
      .flatMap { WAMPID.range.contains($0) ? $0 : nil }
  }

  /// An object's text.
  static func object(_ name: StaticString, in text: RawSpan, _ range: Range<Int>) -> Range<Int>? {
    value(name, in: text, range).flatMap { JSONScanner.byte(text, $0.lowerBound) == UInt8(ascii: "{") ? $0 : nil }
  }

  /// Whether the member is `true`.
  static func isTrue(_ name: StaticString, in text: RawSpan, _ range: Range<Int>) -> Bool {
    value(name, in: text, range).map { JSONScanner.byte(text, $0.lowerBound) == UInt8(ascii: "t") } ?? false
  }
}
