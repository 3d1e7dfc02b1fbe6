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
