/// What servers write when they decline.
enum LinesError {
  /// Longest name of an error, in bytes.
  static let nameLimit = 256

  /// From the member that makes an answer a failure: a text or a number is the error's name, an object has one.
  static func read(_ error: Range<Int>, _ text: RawSpan, _ parts: RemoteAnswer) -> RemoteError {
    let value = text.extracting(error).withUnsafeBytes { [UInt8]($0) }
    let isObject = value.first == UInt8(ascii: "{") || value.first == UInt8(ascii: "[")
    let name = words(text, error) ?? "error"
    guard isObject else { return RemoteError(name, parts) }
    return RemoteError(
      name,
      RemoteAnswer(LocalForm.plain(fromServer: value.span.bytes, 0..<value.count) ?? value, kwargs: parts.kwargs))
  }

  /// The words in a text, a number, or an object that has some under a usual name; nil when there are none.
  static func words(_ text: RawSpan, _ range: Range<Int>) -> String? {
    switch (try? JSONValue.parse(text.extracting(range))) ?? .null {
    case .string(let words), .number(let words): return cut(words)
    case .object(let members):
      for name in ["code", "name", "type", "message", "reason", "error"] {
        switch members.first(where: { $0.key == name })?.value {
        case .string(let words)?, .number(let words)?: return cut(words)
        case .null?, .bool?, .array?, .object?, nil: continue
        }
      }
      return nil
    case .null, .bool, .array: return nil
    }
  }

  /// At the last scalar that ends within the limit, so that the costs are bounded too: a character may be of any length.
  private static func cut(_ words: String) -> String? {
    guard !words.isEmpty else { return nil }
    guard words.utf8.count > nameLimit else { return words }
    let mark = "…"
    var end = words.utf8.index(words.utf8.startIndex, offsetBy: nameLimit - mark.utf8.count)
    while end.samePosition(in: words.unicodeScalars) == nil { end = words.utf8.index(before: end) }
    return words[..<end] + mark
  }
}
