import GatewayCore

/// The members of one JSON object as raw text, however deeply it is nested: answers of the daemon have more levels than
/// a text may have that programs write.
struct RawJSONObject: Equatable, Sendable {
  private let members: [Member]
  private let text: [UInt8]

  private struct Member {
    var key: String
    /// Where its value stands in the text.
    var range: Range<Int>
  }

  /// Nil: the text is no JSON object.
  init?(_ text: [UInt8]) {
    self.text = text
    let span = text.span.bytes
    var at = 0
    JSONScanner.skipWhitespace(span, &at)
    var found: [Member] = []
    do throws(JSONError) {
      try JSONScanner.scanObject(span, &at) { key, value in
        found.append(Member(key: JSONScanner.decodeString(span, key), range: value))
      }
      JSONScanner.skipWhitespace(span, &at)
      guard at == text.count else { return nil }
    } catch {
      guard case .depth = error, let parts = JSONScanner.parts(ofDeep: span) else { return nil }
      found = parts.compactMap { part in
        part.key.map { Member(key: JSONScanner.decodeString(span, $0), range: part.value) }
      }
    }
    members = found
  }

  static func == (a: Self, b: Self) -> Bool { a.text == b.text }

  var isEmpty: Bool { members.isEmpty }

  subscript(_ key: String) -> [UInt8]? {
    members.first { $0.key == key }.map { Array(text[$0.range]) }
  }

  /// The text of a string member.
  func string(_ key: String) -> String? {
    guard let range = members.first(where: { $0.key == key })?.range, text[range].first == UInt8(ascii: "\"") else {
      return nil
    }
    return JSONScanner.decodeString(text.span.bytes, range)
  }

  /// The text of a member that is a whole number.
  func integer(_ key: String) -> String? {
    guard let raw = self[key], raw.allSatisfy({ $0 == 0x2d || (0x30...0x39).contains($0) }) else { return nil }
    return String(decoding: raw, as: UTF8.self)
  }

  /// The members as values; null where one is nested too deeply for that.
  var shallow: JSONValue {
    .object(
      members.map { member in
        let value = try? JSONValue.parse(text.span.bytes.extracting(member.range), limit: .max)
        return JSONValue.Member(member.key, value ?? .null)
      })
  }

  /// The object without one member, in the same order.
  func text(without key: String) -> [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    for member in members where member.key != key {
      writer.key(member.key)
      writer.raw(Array(text[member.range]))
    }
    writer.endObject()
    return writer.bytes
  }

  /// The elements of a member that is an array.
  func elements(_ key: String) -> [[UInt8]]? {
    guard let raw = self[key] else { return nil }
    return RawJSONObject.elements(of: raw)
  }

  /// The elements of an array; nil if the text is none.
  static func elements(of text: [UInt8]) -> [[UInt8]]? {
    let span = text.span.bytes
    var at = 0
    JSONScanner.skipWhitespace(span, &at)
    var found: [Range<Int>] = []
    do throws(JSONError) {
      try JSONScanner.scanArray(span, &at) { found.append($0) }
      JSONScanner.skipWhitespace(span, &at)
      guard at == text.count else { return nil }
    } catch {
      guard case .depth = error, let parts = JSONScanner.parts(ofDeep: span) else { return nil }
      found = parts.map(\.value)
    }
    return found.map { Array(text[$0]) }
  }
}
