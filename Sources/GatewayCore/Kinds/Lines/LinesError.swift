/// What servers write when they decline.
enum LinesError {
  /// Longest name of an error, in bytes.
  static let nameLimit = 256

  /// From the member that makes an answer a failure: a text or a number is the error's name, an object has one.
  static func read(_ error: Range<Int>, _ text: RawSpan, _ parts: RemoteAnswer) -> RemoteError {
    let value = text.extracting(error).withUnsafeBytes { [UInt8]($0) }
    let isObject = value.first == UInt8(ascii: "{") || value.first == UInt8(ascii: "[")
    let name = name(text, error)
    guard isObject else { return RemoteError(name, parts) }
    return RemoteError(
      name,
      RemoteAnswer(LocalForm.plain(fromServer: value.span.bytes, 0..<value.count) ?? value, kwargs: parts.kwargs))
  }

  /// What an error is called.
  static func name(_ text: RawSpan, _ error: Range<Int>) -> String { words(text, error) ?? "error" }

  /// The words in a text, a number, or an object that has some under a usual name; nil when there are none.
  static func words(_ text: RawSpan, _ range: Range<Int>) -> String? {
    guard JSONScanner.byte(text, range.lowerBound) == UInt8(ascii: "{") else { return scalar(text, range) }
    var best = members.count
    var found: Range<Int>?
    var at = range.lowerBound
    // Of a member that occurs twice the first counts.
    try? JSONScanner.scanObject(text, &at) { key, value in
      guard let rank = members[..<best].firstIndex(where: { JSONScanner.stringEquals(text, key, $0) }),
        isScalar(text, value)
      else { return }
      (best, found) = (rank, value)
    }
    return found.flatMap { scalar(text, $0) }
  }

  /// Where an object says it, the best first.
  private static let members: [StaticString] = ["code", "name", "type", "message", "reason", "error"]

  /// A text or a number.
  private static func isScalar(_ text: RawSpan, _ range: Range<Int>) -> Bool {
    switch JSONScanner.byte(text, range.lowerBound) {
    case UInt8(ascii: "\""), UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
    default: false
    }
  }

  /// The words of a text or a number; nil for an empty text and for everything else.
  private static func scalar(_ text: RawSpan, _ range: Range<Int>) -> String? {
    guard isScalar(text, range) else { return nil }
    let limit = nameLimit - String.cutMark.utf8.count
    guard JSONScanner.byte(text, range.lowerBound) == UInt8(ascii: "\"") else {
      return String(shortening: text.extracting(range), to: limit)
    }
    let words = JSONScanner.decodeString(text, range, shortenedTo: limit)
    return words.isEmpty ? nil : words
  }
}
