/// Makes JSON of whatever is `Encodable`.
enum PayloadEncoder {
  static func encode<Value: Encodable>(_ value: Value, path: [any CodingKey] = []) throws -> JSON {
    if let json = value as? JSON { return json }
    // An empty array of anything can be cast to an empty array of bytes.
    if Value.self == [UInt8].self, let bytes = value as? [UInt8] { return .bytes(bytes) }
    let place = Place()
    try value.encode(to: PlaceEncoder(place: place, codingPath: path))
    return place.json
  }

  fileprivate static func number(_ value: Double, path: [any CodingKey]) throws -> JSON {
    guard let number = JSONNumber(value) else {
      throw EncodingError.invalidValue(
        value, .init(codingPath: path, debugDescription: "JSON has no infinities, and no NaN"))
    }
    return .number(number)
  }
}

/// What is being put together: a value, or a list whose parts are.
private final class Place {
  enum Content {
    case value(JSON)
    case array([Place])
    case object([(key: String, place: Place)])
  }

  var content: Content?

  init(_ value: JSON? = nil) { content = value.map { .value($0) } }

  var json: JSON {
    switch content {
    case nil: .object([])
    case .value(let value): value
    case .array(let places): .array(places.map(\.json))
    case .object(let members): .object(members.map { JSON.Member($0.key, $0.place.json) })
    }
  }

  var count: Int { if case .array(let places) = content { places.count } else { 0 } }

  func append(_ place: Place) {
    guard case .array(let places) = content else { return }
    // Two owners of the array would copy it with each element.
    content = nil
    var longer = places
    longer.append(place)
    content = .array(longer)
  }

  func set(_ key: String, _ place: Place) {
    guard case .object(var members) = content else { return }
    if let index = members.firstIndex(where: { $0.key == key }) {
      members[index].place = place
    } else {
      members.append((key, place))
    }
    content = .object(members)
  }
}

/// The place of an element, as a step of a path.
struct IndexKey: CodingKey {
  let intValue: Int?
  var stringValue: String { intValue.map(String.init) ?? "" }

  init(_ index: Int) { intValue = index }
  init?(intValue: Int) { self.init(intValue) }
  init?(stringValue: String) { nil }
}

private struct PlaceEncoder: Encoder {
  let place: Place
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    if case .object = place.content {} else { place.content = .object([]) }
    return KeyedEncodingContainer(KeyedPlace<Key>(place: place, codingPath: codingPath))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    if case .array = place.content {} else { place.content = .array([]) }
    return UnkeyedPlace(place: place, codingPath: codingPath)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { SinglePlace(place: place, codingPath: codingPath) }
}

private struct KeyedPlace<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let place: Place
  let codingPath: [any CodingKey]

  func encodeNil(forKey key: Key) { place.set(key.stringValue, Place(.null)) }

  func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
    place.set(key.stringValue, Place(try PayloadEncoder.encode(value, path: codingPath + [key])))
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Nested> {
    encoder(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { encoder(key).unkeyedContainer() }
  func superEncoder() -> any Encoder { encoder(named: "super", codingPath) }
  func superEncoder(forKey key: Key) -> any Encoder { encoder(key) }

  private func encoder(_ key: Key) -> PlaceEncoder { encoder(named: key.stringValue, codingPath + [key]) }

  private func encoder(named name: String, _ path: [any CodingKey]) -> PlaceEncoder {
    let inner = Place()
    place.set(name, inner)
    return PlaceEncoder(place: inner, codingPath: path)
  }
}

private struct UnkeyedPlace: UnkeyedEncodingContainer {
  let place: Place
  let codingPath: [any CodingKey]
  var count: Int { place.count }

  func encodeNil() { place.append(Place(.null)) }

  func encode<Value: Encodable>(_ value: Value) throws {
    place.append(Place(try PayloadEncoder.encode(value, path: codingPath + [IndexKey(count)])))
  }

  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
    encoder().container(keyedBy: type)
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { encoder().unkeyedContainer() }
  func superEncoder() -> any Encoder { encoder() }

  private func encoder() -> PlaceEncoder {
    let inner = Place()
    let path = codingPath + [IndexKey(count)]
    place.append(inner)
    return PlaceEncoder(place: inner, codingPath: path)
  }
}

private struct SinglePlace: SingleValueEncodingContainer {
  let place: Place
  let codingPath: [any CodingKey]

  private func set(_ value: JSON) { place.content = .value(value) }

  func encodeNil() { set(.null) }
  func encode(_ value: Bool) { set(.bool(value)) }
  func encode(_ value: String) { set(.string(value)) }
  func encode(_ value: Double) throws { set(try PayloadEncoder.number(value, path: codingPath)) }

  func encode(_ value: Float) throws {
    guard value.isFinite else { return try encode(Double(value)) }
    // Its own digits, and not those of the nearest Double.
    set(.number(JSONNumber(unchecked: value.description)))
  }

  func encode(_ value: Int) { set(.number(JSONNumber(value))) }
  func encode(_ value: Int8) { set(.number(JSONNumber(value))) }
  func encode(_ value: Int16) { set(.number(JSONNumber(value))) }
  func encode(_ value: Int32) { set(.number(JSONNumber(value))) }
  func encode(_ value: Int64) { set(.number(JSONNumber(value))) }
  func encode(_ value: UInt) { set(.number(JSONNumber(value))) }
  func encode(_ value: UInt8) { set(.number(JSONNumber(value))) }
  func encode(_ value: UInt16) { set(.number(JSONNumber(value))) }
  func encode(_ value: UInt32) { set(.number(JSONNumber(value))) }
  func encode(_ value: UInt64) { set(.number(JSONNumber(value))) }

  func encode<Value: Encodable>(_ value: Value) throws { set(try PayloadEncoder.encode(value, path: codingPath)) }
}

extension JSON: Codable {
  /// With this module's coders a value is taken as it is; with others, such as Foundation's, as far as they can say it.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .number(let number):
      if let integer = number.integer(as: Int64.self) {
        try container.encode(integer)
      } else {
        try container.encode(number.double ?? .nan)
      }
    case .string(let value): try container.encode(value)
    case .bytes(let value): try container.encode(value)
    case .array(let elements): try container.encode(elements)
    case .object(let members):
      try container.encode(Dictionary(members.map { ($0.key, $0.value) }, uniquingKeysWith: { $1 }))
    }
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Int64.self) {
      self = .number(JSONNumber(value))
    } else if let number = (try? container.decode(Double.self)).flatMap({ JSONNumber($0) }) {
      self = .number(number)
    } else if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if let value = try? container.decode([JSON].self) {
      self = .array(value)
    } else {
      self = .object(try container.decode([String: JSON].self).map { Member($0.key, $0.value) })
    }
  }
}
