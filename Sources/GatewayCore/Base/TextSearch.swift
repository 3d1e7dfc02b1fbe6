extension String {
  /// As `Substring.firstRange(ofText:)`.
  public func firstRange(ofText text: String) -> Range<Index>? { self[...].firstRange(ofText: text) }

  /// Whether a text that is not empty stands in it, byte by byte.
  public func contains(text: String) -> Bool { self[...].contains(text: text) }

  /// As `Substring.parts(before:)`.
  func parts(before separators: String) -> (Substring, Substring) { self[...].parts(before: separators) }
}

/// Not of every text: one function for all kinds of them looks for the types of its parts as it runs, which takes the
/// command line program a fifth of what a short run takes.
extension Substring {
  /// Where a text that is not empty stands first, byte by byte; nil: nowhere. It takes the product of both lengths at worst
  /// and is meant for short texts. Decision 0133.
  public func firstRange(ofText text: String) -> Range<Index>? {
    let wanted = text.utf8
    guard let first = wanted.first else { return nil }
    var start = utf8.startIndex
    while let found = utf8[start...].firstIndex(of: first) {
      if utf8[found...].starts(with: wanted) { return found..<utf8.index(found, offsetBy: wanted.count) }
      start = utf8.index(after: found)
    }
    return nil
  }

  /// Whether a text that is not empty stands in it, byte by byte.
  public func contains(text: String) -> Bool { firstRange(ofText: text) != nil }

  /// What stands before the first of these ASCII characters, and what from there on. By bytes: a combining sign makes
  /// another character of what it follows, and for a server that is a separator all the same.
  func parts(before separators: String) -> (Substring, Substring) {
    let end = utf8.firstIndex { separators.utf8.contains($0) } ?? endIndex
    return (self[..<end], self[end...])
  }
}
