/// The value of a header or of a query parameter, from what was read.
enum SecretText {
  /// Longest value, in bytes: servers take no longer header lines.
  static let limit = 8 << 10

  /// The text without its line end. What could end a header line or hide in one is refused without being shown.
  static func value(from content: [UInt8], of source: SecretSource) throws(CredentialProblem) -> String {
    let subject = source.subject
    guard let text = String(validating: content, as: UTF8.self) else {
      throw CredentialProblem("\(subject) is not UTF-8")
    }
    let value = withoutLineEnd(text)
    guard value.unicodeScalars.contains(where: { $0 != " " && $0 != "\t" }) else {
      throw CredentialProblem("\(subject) is empty")
    }
    guard value.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7f || $0 == "\t" }) else {
      throw CredentialProblem(
        "\(subject) holds a line break or another control character and cannot be the value of a header or parameter")
    }
    guard value.utf8.count <= limit else {
      throw CredentialProblem("\(subject) is larger than the \(limit) bytes that a header or parameter may have")
    }
    return value
  }

  /// One line end at the end of a text is no part of it.
  static func withoutLineEnd(_ text: String) -> String {
    var scalars = text.unicodeScalars
    if scalars.last == "\n" { scalars.removeLast() }
    if scalars.last == "\r" { scalars.removeLast() }
    return String(scalars)
  }
}
