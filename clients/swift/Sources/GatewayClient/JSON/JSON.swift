/// A JSON value. Digits of numbers, the order of members, and repeated members stay as they were.
public enum JSON: Sendable, Hashable {
  /// A member of an object.
  public struct Member: Sendable, Hashable {
    public var key: String
    public var value: JSON

    public init(_ key: String, _ value: JSON) {
      self.key = key
      self.value = value
    }
  }

  case null
  case bool(Bool)
  case number(JSONNumber)
  case string(String)
  /// Bytes, which payloads may hold anywhere: the binary attachments of Socket.IO. On the socket they are
  /// `{"$bin":"<base64>"}`.
  case bytes([UInt8])
  case array([JSON])
  case object([Member])

  /// Whatever is `Encodable`, as JSON. Sequences of bytes (`[UInt8]`) become `bytes`.
  public init(encoding value: some Encodable) throws { self = try PayloadEncoder.encode(value) }

  /// The value as a type of yours.
  public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
    try PayloadDecoder.decode(type, from: self)
  }

  public var isNull: Bool { self == .null }
  public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
  public var string: String? { if case .string(let value) = self { value } else { nil } }
  public var bytes: [UInt8]? { if case .bytes(let value) = self { value } else { nil } }
  public var array: [JSON]? { if case .array(let value) = self { value } else { nil } }
  public var members: [Member]? { if case .object(let value) = self { value } else { nil } }
  /// The number, where it is an integer that an `Int` holds.
  public var int: Int? { if case .number(let value) = self { value.integer() } else { nil } }
  public var double: Double? { if case .number(let value) = self { value.double } else { nil } }

  /// The member of an object; of several with that name the last.
  public subscript(key: String) -> JSON? { members?.last { $0.key == key }?.value }
  /// The element of an array.
  public subscript(index: Int) -> JSON? { array.flatMap { $0.indices.contains(index) ? $0[index] : nil } }
}

/// A number as JSON writes it. Two are equal when their texts are.
public struct JSONNumber: Sendable, Hashable, CustomStringConvertible {
  /// The digits, as they were written.
  public let text: String

  /// A text by the grammar of JSON's numbers.
  public init?(_ text: String) {
    guard JSONReader.isNumber(Array(text.utf8)) else { return nil }
    self.text = text
  }

  public init(_ value: some BinaryInteger) { text = String(value) }

  /// JSON has no infinities, and no NaN.
  public init?(_ value: Double) {
    guard value.isFinite else { return nil }
    text = value.description
  }

  /// Without a look at the grammar.
  init(unchecked text: String) { self.text = text }

  public var double: Double? { Double(text) }
  public var description: String { text }

  /// The number, where it is an integer that the type holds; `1.0` and `1e3` are such.
  public func integer<Value: FixedWidthInteger>(as type: Value.Type = Value.self) -> Value? {
    if let value = Value(text) { return value }
    guard text.utf8.contains(where: { [UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E")].contains($0) })
    else { return nil }
    return double.flatMap { $0.magnitude <= 0x1p53 ? Value(exactly: $0) : nil }
  }
}

// Not by `nil`: an optional value that is missing would equal `null`.
extension JSON: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  public init(integerLiteral value: Int) { self = .number(JSONNumber(value)) }
  public init(floatLiteral value: Double) { self = JSONNumber(value).map { .number($0) } ?? .null }
  public init(stringLiteral value: String) { self = .string(value) }
  public init(arrayLiteral elements: JSON...) { self = .array(elements) }
  public init(dictionaryLiteral elements: (String, JSON)...) {
    self = .object(elements.map { Member($0.0, $0.1) })
  }
}

extension JSON: CustomStringConvertible {
  /// The text of the value, in one line.
  public var text: [UInt8] { JSONWriter.text(of: self, form: .plain) }
  public var description: String { String(decoding: text, as: UTF8.self) }
}
