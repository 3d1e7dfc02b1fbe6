/// What a program, the configuration, a file or a command gives as `auth`: a JSON object, or nothing. Secret.
enum AuthPayload {
  /// Makes the payload from what was read. A JSON object is taken as it is; other text is a token.
  static func payload(from content: [UInt8], of source: SecretSource) throws(CredentialProblem) -> [UInt8] {
    let subject = source.subject
    guard content.count <= SecretSource.sizeLimit else {
      throw CredentialProblem("\(subject) is larger than \(SecretSource.sizeLimit >> 10) KiB")
    }
    guard let text = String(validating: content, as: UTF8.self) else {
      throw CredentialProblem("\(subject) is not UTF-8")
    }
    switch content.first(where: { !isSpace($0) }) {
    case nil: throw CredentialProblem("\(subject) is empty")
    case UInt8(ascii: "{"):
      guard isObject(content) else { throw CredentialProblem("\(subject) is not well-formed JSON") }
      return trimmed(content)
    case UInt8(ascii: "["), UInt8(ascii: "\""):
      guard (try? JSONScanner.validate(content.span.bytes)) == nil else {
        throw CredentialProblem("\(subject) holds JSON that is not an object")
      }
    default: break
    }
    var writer = JSONWriter(reserving: content.count + 16)
    writer.beginObject()
    writer.key("token")
    writer.string(SecretText.withoutLineEnd(text))
    writer.endObject()
    return writer.bytes
  }

  /// Whether a text is exactly one well-formed JSON object.
  static func isObject(_ text: [UInt8]) -> Bool {
    guard let range = try? JSONScanner.validate(text.span.bytes) else { return false }
    return text[range.lowerBound] == UInt8(ascii: "{")
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 32 || (9...13).contains(byte) }

  private static func trimmed(_ bytes: [UInt8]) -> [UInt8] {
    let front = bytes.drop(while: isSpace)
    return [UInt8](front.prefix(through: front.lastIndex { !isSpace($0) } ?? front.startIndex))
  }
}

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
