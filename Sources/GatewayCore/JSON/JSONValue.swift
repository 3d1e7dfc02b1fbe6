/// A JSON text as a value: for programs that look into it and for whatever is not on the path of messages, whose
/// payloads stay raw text. Numbers keep the text they were written with, objects the order of their members.
public indirect enum JSONValue: Equatable, Sendable {
  case null
  case bool(Bool)
  /// As it was written, such as `1.50`.
  case number(String)
  case string(String)
  case array([JSONValue])
  /// Members in their order; a key that occurs twice is kept twice.
  case object([Member])

  /// One member of an object.
  public struct Member: Equatable, Sendable {
    public var key: String
    public var value: JSONValue
    public init(_ key: String, _ value: JSONValue) {
      self.key = key
      self.value = value
    }
  }

  /// Longest text, in bytes, that is read unless the caller says otherwise: the objects of a value take up to thirty
  /// times as much memory as its text. What strangers write is never read without this limit; `JSONScanner` looks into
  /// longer ones.
  public static let textLimit = 64 << 10

  /// Reads a text that is exactly one value, with white space around it allowed. Accepts what
  /// `JSONScanner.validate(_:depth:)` accepts, up to `limit` bytes; an escaped surrogate without its partner becomes
  /// U+FFFD.
  public static func parse(
    _ text: RawSpan, depth: Int = JSONScanner.depthLimit, limit: Int = textLimit
  ) throws(JSONError) -> JSONValue {
    guard text.byteCount <= limit else { throw .tooLong(limit: limit) }
    var at = 0
    JSONScanner.skipWhitespace(text, &at)
    let value = try read(text, &at, depth: min(depth, JSONScanner.depthLimit))
    JSONScanner.skipWhitespace(text, &at)
    guard at == text.byteCount else { throw .syntax(at: at) }
    return value
  }

  private static func read(_ text: RawSpan, _ at: inout Int, depth: Int) throws(JSONError) -> JSONValue {
    let start = at
    switch JSONScanner.byte(text, at) {
    case UInt8(ascii: "{"): return try readObject(text, &at, depth: depth)
    case UInt8(ascii: "["): return try readArray(text, &at, depth: depth)
    case UInt8(ascii: "\""): return .string(JSONScanner.decodeString(text, try JSONScanner.scanString(text, &at)))
    case UInt8(ascii: "t"):
      try JSONScanner.stepOverScalar(text, &at)
      return .bool(true)
    case UInt8(ascii: "f"):
      try JSONScanner.stepOverScalar(text, &at)
      return .bool(false)
    case UInt8(ascii: "n"):
      try JSONScanner.stepOverScalar(text, &at)
      return .null
    default:
      try JSONScanner.stepOverScalar(text, &at)
      return .number(text.extracting(start..<at).withUnsafeBytes { String(decoding: $0, as: UTF8.self) })
    }
  }

  private static func readObject(_ text: RawSpan, _ at: inout Int, depth: Int) throws(JSONError) -> JSONValue {
    guard depth > 0 else { throw .depth(at: at) }
    var members: [Member] = []
    guard JSONScanner.openContainer(text, &at, end: UInt8(ascii: "}")) else { return .object(members) }
    repeat {
      let key = try JSONScanner.scanKey(text, &at)
      members.append(Member(JSONScanner.decodeString(text, key), try read(text, &at, depth: depth - 1)))
    } while try JSONScanner.stepToNext(text, &at, end: UInt8(ascii: "}"))
    return .object(members)
  }

  private static func readArray(_ text: RawSpan, _ at: inout Int, depth: Int) throws(JSONError) -> JSONValue {
    guard depth > 0 else { throw .depth(at: at) }
    var elements: [JSONValue] = []
    guard JSONScanner.openContainer(text, &at, end: UInt8(ascii: "]")) else { return .array(elements) }
    repeat {
      elements.append(try read(text, &at, depth: depth - 1))
    } while try JSONScanner.stepToNext(text, &at, end: UInt8(ascii: "]"))
    return .array(elements)
  }
}

extension JSONValue {
  /// The member with this key; of several, the last one. Nil if there is none or this is no object.
  public subscript(_ key: String) -> JSONValue? { members?.last { $0.key == key }?.value }

  /// The element at this index; nil beyond the end or if this is no array.
  public subscript(_ index: Int) -> JSONValue? {
    guard let elements, elements.indices.contains(index) else { return nil }
    return elements[index]
  }

  /// An object's members; nil for everything else.
  public var members: [Member]? { if case .object(let members) = self { members } else { nil } }
  /// An array's elements; nil for everything else.
  public var elements: [JSONValue]? { if case .array(let elements) = self { elements } else { nil } }
  /// A string's text; nil for everything else.
  public var stringValue: String? { if case .string(let text) = self { text } else { nil } }
  /// True or false; nil for everything else.
  public var boolValue: Bool? { if case .bool(let value) = self { value } else { nil } }
  /// Whether this is `null`.
  var isNull: Bool { self == .null }
  /// A number that is written as a plain integer.
  public var integerValue: Int? { if case .number(let text) = self { Int(text) } else { nil } }
  /// A number as the nearest binary one.
  public var doubleValue: Double? { if case .number(let text) = self { Double(text) } else { nil } }

  /// Writes the value compactly.
  func write(into writer: inout JSONWriter) {
    switch self {
    case .null: writer.null()
    case .bool(let value): writer.bool(value)
    case .number(let text): writer.raw(Array(text.utf8))
    case .string(let text): writer.string(text)
    case .array(let elements):
      writer.beginArray()
      for element in elements { element.write(into: &writer) }
      writer.endArray()
    case .object(let members):
      writer.beginObject()
      for member in members {
        writer.key(member.key)
        member.value.write(into: &writer)
      }
      writer.endObject()
    }
  }

  /// Compact JSON text.
  public var text: String {
    var writer = JSONWriter()
    write(into: &writer)
    return String(decoding: writer.bytes, as: UTF8.self)
  }
}
