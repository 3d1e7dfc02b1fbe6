extension JSONScanner {
  /// Where each element of a text stands that is nothing but an array; nil for any other text.
  static func elements(_ text: RawSpan) -> [Range<Int>]? {
    var at = 0
    var found: [Range<Int>] = []
    skipWhitespace(text, &at)
    do { try scanArray(text, &at) { found.append($0) } } catch { return nil }
    skipWhitespace(text, &at)
    return at == text.byteCount ? found : nil
  }
}
