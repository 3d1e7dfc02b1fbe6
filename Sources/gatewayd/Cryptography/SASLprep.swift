import CStringprep

/// The preparation of names and passwords (RFC 4013), as libidn does it.
enum SASLprep {
  /// For a text that is not stored, in which characters that Unicode 3.2 did not know are allowed; nil for one with
  /// forbidden characters.
  static func prepare(_ text: String) -> String? {
    guard !text.utf8.allSatisfy({ (0x20..<0x7f).contains($0) }) else { return text }
    var output: UnsafeMutablePointer<CChar>?
    guard !text.utf8.contains(0),
      stringprep_profile(text, &output, "SASLprep", Stringprep_profile_flags(rawValue: 0)) == 0,
      let output
    else { return nil }
    defer { free(output) }
    return String(cString: output)
  }
}
