/// The one place where text is cut that others chose and people read: in messages, replies, log records, traces, findings.
/// It is cut by bytes, because a character may be of any length, and never within one that Unicode numbers (a scalar). What
/// was cut ends with a mark. Decision 0091.
extension String {
  /// What stands behind a text that was cut; three bytes.
  public static let cutMark = "…"

  /// The text, or its first `limit` bytes and the mark. Costs no more than what is kept.
  public func shortened(to limit: Int) -> String {
    guard utf8.count > limit else { return self }
    let utf8 = utf8
    var end = utf8.index(utf8.startIndex, offsetBy: max(0, limit))
    while end > utf8.startIndex, UTF8.isContinuation(utf8[end]) { end = utf8.index(before: end) }
    return self[..<end] + Self.cutMark
  }

  /// The same of bytes that may be no text: what is none in them becomes U+FFFD.
  public init(shortening bytes: RawSpan, to limit: Int) {
    var end = Swift.min(Swift.max(0, limit), bytes.byteCount)
    let isCut = end < bytes.byteCount
    // No more: what is no text may have any number of them.
    for _ in 0..<3 where end > 0 && UTF8.isContinuation(JSONScanner.byte(bytes, end)) { end -= 1 }
    let kept = bytes.extracting(0..<end).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    self.init(isCut ? kept + Self.cutMark : kept)
  }

  /// For sentences: control characters, and what is not seen, become spaces.
  var singleLine: String {
    guard unicodeScalars.contains(where: \.isInvisibleControl) else { return self }
    var kept = String.UnicodeScalarView()
    kept.append(contentsOf: unicodeScalars.lazy.map { $0.isInvisibleControl ? " " : $0 })
    return String(kept)
  }
}

extension JSONScanner {
  /// The text of a scanned string, or its first `limit` bytes and the mark; what follows them is not looked at.
  static func decodeString(_ text: RawSpan, _ range: Range<Int>, shortenedTo limit: Int) -> String {
    // Of the raw text an escape takes at most six bytes for one; behind these nothing can belong to what is kept.
    let most = 6 * (limit + 3)
    guard range.count > most + 2 else { return decodeString(text, range).shortened(to: limit) }
    let front = decodeBytes(text, range.lowerBound..<range.lowerBound + most + 2).bytes
    return String(shortening: front.span.bytes, to: limit)
  }
}
