/// The one place where text is cut that others chose and people read: in messages, replies, log records, traces,
/// findings. It is cut by bytes, because a character may be of any length, and never within one that Unicode numbers (a
/// scalar). What was cut ends with a mark. Decision 0091.
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
  init(shortening bytes: RawSpan, to limit: Int) {
    var end = Swift.min(Swift.max(0, limit), bytes.byteCount)
    let isCut = end < bytes.byteCount
    // No more: what is no text may have any number of them.
    for _ in 0..<3 where isCut && end > 0 {
      guard UTF8.isContinuation(bytes.unsafeLoad(fromByteOffset: end, as: UInt8.self)) else { break }
      end -= 1
    }
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

  /// For what is written to a terminal or a stream as it is: control characters, and what is not seen, are written out as
  /// JSON writes them, `\u001b`, beyond U+FFFF as two surrogates, so that JSON text stays JSON. `isEscaped` may take more.
  public func escapingControls(
    where isEscaped: (Unicode.Scalar) -> Bool = { $0.isInvisibleControl }
  ) -> String {
    guard unicodeScalars.contains(where: isEscaped) else { return self }
    var result = ""
    for scalar in unicodeScalars {
      if isEscaped(scalar) { result += Self.escape(scalar) } else { result.unicodeScalars.append(scalar) }
    }
    return result
  }

  private static func escape(_ scalar: Unicode.Scalar) -> String {
    scalar.utf16.map { unit in
      let digits = String(unit, radix: 16)
      return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }.joined()
  }
}

/// What text from elsewhere may hold that is not shown as itself: the one list for everything that is written to a
/// terminal, a log or into a sentence.
extension Unicode.Scalar {
  /// Whether it steers a terminal or a page rather than being seen: control characters (categories Cc, Zl, Zp) and
  /// format characters (Cf), with all that turn the direction of text round (Unicode Standard Annex 9) or hide text.
  /// Those format characters that writing needs are text: the joiners of Persian, of Indian scripts and of emoji, and
  /// the Arabic number signs, which have a shape of their own.
  public var isInvisibleControl: Bool {
    switch value {
    case 0x20..<0x7f: return false
    case 0x200c, 0x200d: return false
    case 0x600...0x605, 0x6dd, 0x70f, 0x890, 0x891, 0x8e2, 0x110bd, 0x110cd: return false
    default: break
    }
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: return true
    default: return false
    }
  }
}
