/// The auth payload of a CONNECT packet: a JSON object, or nothing. Secret.
enum SocketIOCredentials {
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

  /// The payload as a query, for servers of Engine.IO revision 3, whose namespaces take no other. Nil when a value is
  /// neither text, nor number, nor boolean; `null` is left out.
  static func query(_ payload: [UInt8]) -> String? {
    guard let members = (try? JSONValue.parse(payload.span.bytes))?.members else { return nil }
    var pairs: [String] = []
    for member in members {
      let value: String
      switch member.value {
      case .null: continue
      case .bool(let flag): value = flag ? "true" : "false"
      case .number(let text), .string(let text): value = text
      case .array, .object: return nil
      }
      pairs.append(PercentEncoding.component(member.key) + "=" + PercentEncoding.component(value))
    }
    return pairs.joined(separator: "&")
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 32 || (9...13).contains(byte) }

  private static func trimmed(_ bytes: [UInt8]) -> [UInt8] {
    let front = bytes.drop(while: isSpace)
    return [UInt8](front.prefix(through: front.lastIndex { !isSpace($0) } ?? front.startIndex))
  }
}
