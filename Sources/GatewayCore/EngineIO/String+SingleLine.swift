extension String {
  /// For sentences: control characters, and what is not seen, become spaces, and no more than `limit` characters are kept.
  func singleLine(limit: Int) -> String {
    let scalars = unicodeScalars.prefix(limit).map { $0.isInvisibleControl ? " " : $0 }
    var kept = String.UnicodeScalarView()
    kept.append(contentsOf: scalars)
    return String(kept) + (unicodeScalars.count > limit ? "…" : "")
  }
}
