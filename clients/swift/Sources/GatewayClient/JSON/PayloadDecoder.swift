/// Makes whatever is `Decodable` of JSON.
enum PayloadDecoder {
  static func decode<Value: Decodable>(
    _ type: Value.Type, from json: JSON, path: [any CodingKey] = []
  ) throws -> Value {
    if let json = json as? Value { return json }
    if case .bytes(let bytes) = json, let bytes = bytes as? Value, Value.self == [UInt8].self { return bytes }
    return try Value(from: ValueDecoder(json: json, codingPath: path))
  }
}

private struct ValueDecoder: Decoder {
  let json: JSON
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard let members = json.members else { throw mismatch([String: JSON].self) }
    let values = Dictionary(members.map { ($0.key, $0.value) }, uniquingKeysWith: { $1 })
    return KeyedDecodingContainer(KeyedValues<Key>(values: values, codingPath: codingPath))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    if let bytes = json.bytes {
      return UnkeyedValues(values: bytes.map { .number(JSONNumber($0)) }, codingPath: codingPath)
    }
    guard let values = json.array else { throw mismatch([JSON].self) }
    return UnkeyedValues(values: values, codingPath: codingPath)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { SingleValue(decoder: self) }

  func mismatch(_ type: Any.Type) -> DecodingError {
    .typeMismatch(type, .init(codingPath: codingPath, debugDescription: "expected \(type), found \(kind)"))
  }

  private var kind: String {
    switch json {
    case .null: "null"
    case .bool: "a Boolean"
    case .number(let number): "the number \(number.text.prefix(32))"
    case .string: "a string"
    case .bytes: "bytes"
    case .array: "an array"
    case .object: "an object"
    }
  }
}

private struct SingleValue: SingleValueDecodingContainer {
  let decoder: ValueDecoder
  var codingPath: [any CodingKey] { decoder.codingPath }

  func decodeNil() -> Bool { decoder.json.isNull }
  func decode(_ type: Bool.Type) throws -> Bool { try found(decoder.json.bool) }
  func decode(_ type: String.Type) throws -> String { try found(decoder.json.string) }
  func decode(_ type: Double.Type) throws -> Double { try found(decoder.json.double) }
  func decode(_ type: Float.Type) throws -> Float { try found(decoder.json.double.map { Float($0) }) }
  func decode(_ type: Int.Type) throws -> Int { try integer() }
  func decode(_ type: Int8.Type) throws -> Int8 { try integer() }
  func decode(_ type: Int16.Type) throws -> Int16 { try integer() }
  func decode(_ type: Int32.Type) throws -> Int32 { try integer() }
  func decode(_ type: Int64.Type) throws -> Int64 { try integer() }
  func decode(_ type: UInt.Type) throws -> UInt { try integer() }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try integer() }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try integer() }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try integer() }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try integer() }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try PayloadDecoder.decode(type, from: decoder.json, path: codingPath)
  }

  private func integer<Value: FixedWidthInteger>() throws -> Value {
    if case .number(let number) = decoder.json { return try found(number.integer()) }
    return try found(nil)
  }

  private func found<Value>(_ value: Value?) throws -> Value {
    guard let value else { throw decoder.mismatch(Value.self) }
    return value
  }
}

private struct KeyedValues<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let values: [String: JSON]
  let codingPath: [any CodingKey]

  var allKeys: [Key] { values.keys.compactMap { Key(stringValue: $0) } }
  func contains(_ key: Key) -> Bool { values[key.stringValue] != nil }
  func decodeNil(forKey key: Key) throws -> Bool { try value(key).isNull }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try PayloadDecoder.decode(type, from: value(key), path: codingPath + [key])
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    try decoder(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try decoder(key).unkeyedContainer()
  }

  func superDecoder() -> any Decoder { ValueDecoder(json: values["super"] ?? .null, codingPath: codingPath) }
  func superDecoder(forKey key: Key) throws -> any Decoder { try decoder(key) }

  private func decoder(_ key: Key) throws -> ValueDecoder {
    ValueDecoder(json: try value(key), codingPath: codingPath + [key])
  }

  private func value(_ key: Key) throws -> JSON {
    guard let value = values[key.stringValue] else {
      throw DecodingError.keyNotFound(
        key, .init(codingPath: codingPath, debugDescription: "there is no '\(key.stringValue)'"))
    }
    return value
  }
}

private struct UnkeyedValues: UnkeyedDecodingContainer {
  let values: [JSON]
  let codingPath: [any CodingKey]
  var currentIndex = 0

  init(values: [JSON], codingPath: [any CodingKey]) {
    self.values = values
    self.codingPath = codingPath
  }

  var count: Int? { values.count }
  var isAtEnd: Bool { currentIndex == values.count }

  mutating func decodeNil() throws -> Bool {
    guard try peek(Any?.self).isNull else { return false }
    currentIndex += 1
    return true
  }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    let value = try PayloadDecoder.decode(type, from: peek(type), path: codingPath + [IndexKey(currentIndex)])
    currentIndex += 1
    return value
  }

  mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) throws -> KeyedDecodingContainer<Nested> {
    let container = try decoder().container(keyedBy: type)
    currentIndex += 1
    return container
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    let container = try decoder().unkeyedContainer()
    currentIndex += 1
    return container
  }

  mutating func superDecoder() throws -> any Decoder {
    let inner = try decoder()
    currentIndex += 1
    return inner
  }

  private func decoder() throws -> ValueDecoder {
    ValueDecoder(json: try peek(JSON.self), codingPath: codingPath + [IndexKey(currentIndex)])
  }

  private func peek(_ type: Any.Type) throws -> JSON {
    guard !isAtEnd else {
      throw DecodingError.valueNotFound(
        type,
        .init(codingPath: codingPath + [IndexKey(currentIndex)], debugDescription: "there are only \(values.count)"))
    }
    return values[currentIndex]
  }
}
