extension String {
  /// For sentences: control characters become spaces, and no more than `limit` characters are kept.
  func singleLine(limit: Int) -> String {
    let scalars = unicodeScalars.prefix(limit).map { scalar in
      scalar.value < 0x20 || (0x7f..<0xa0).contains(scalar.value) || (0x2028...0x2029).contains(scalar.value)
        ? " " : scalar
    }
    var kept = String.UnicodeScalarView()
    kept.append(contentsOf: scalars)
    return String(kept) + (unicodeScalars.count > limit ? "…" : "")
  }
}
