/// The shape of a JSON value, to be written as a JSON Schema (draft 2020-12). Only what the local protocol needs.
indirect enum JSONSchema: Equatable, Sendable {
  case any
  case null
  case boolean
  case number
  case integer(ClosedRange<Int>?)
  /// Bounds in bytes of UTF-8. A schema counts characters, so the upper bound is exact for ASCII only.
  case string(ClosedRange<Int>?)
  case choice([String])
  case array(JSONSchema, count: ClosedRange<Int>?)
  /// An object with these members. Members may be added in later versions.
  case object([Member])
  /// An object with these members and no other.
  case closed([Member])
  case either([JSONSchema])

  /// One member of an object.
  struct Member: Equatable, Sendable {
    var name: String
    var schema: JSONSchema
    var isRequired: Bool
    var summary: String?

    static func always(_ name: String, _ schema: JSONSchema, _ summary: String? = nil) -> Self {
      Self(name: name, schema: schema, isRequired: true, summary: summary)
    }
    static func sometimes(_ name: String, _ schema: JSONSchema, _ summary: String? = nil) -> Self {
      Self(name: name, schema: schema, isRequired: false, summary: summary)
    }
  }

  static let text = JSONSchema.string(nil)
  static let count = JSONSchema.integer(0...ParameterKind.exactIntegerLimit)
  static func optional(_ schema: JSONSchema) -> JSONSchema { .either([schema, .null]) }
  static func list(_ schema: JSONSchema) -> JSONSchema { .array(schema, count: nil) }

  /// The value of a param.
  init(_ kind: ParameterKind) {
    switch kind {
    case .boolean: self = .boolean
    case .integer(let bounds): self = .integer(bounds)
    case .duration: self = .integer(0...ParameterKind.durationLimit)
    case .string(let length): self = .string(length)
    case .choice(let words): self = .choice(words)
    case .strings(let count, let length): self = .array(.string(length), count: count)
    case .array: self = .list(.any)
    case .object: self = .object([])
    case .options:
      let texts = JSONSchema.object([])
      self = .closed([
        .sometimes("path", .text), .sometimes("headers", texts, "Names and values."),
        .sometimes("query", texts, "Names and values, not yet percent-encoded."),
        .sometimes(
          "tls",
          .closed([
            .sometimes("ca", .text, "PEM text of the certificates to trust, not a path."),
            .sometimes("verify", .boolean),
          ])),
      ])
    case .messages(let count, let orNull):
      let message = JSONSchema.closed([
        .always("event", .string(1...EventName.limit)), .sometimes("args", .list(.any)),
        .sometimes("kwargs", .object([])), .sometimes("ack", .boolean),
      ])
      self = .array(orNull ? .optional(message) : message, count: count)
    case .position:
      self = .closed([
        .always("epoch", .string(1...ParameterKind.identifierLimit)), .always("seq", .count),
      ])
    case .part:
      self = .closed([
        .always("id", JSONSchema(.requestID), "The same for all parts of a message."),
        .always("at", .count, "Bytes of the text before this part."),
        .always("of", .count, "Bytes of the whole text."),
        .always("data", .string(1...MessagePart.limit), "A piece of the text, which is a JSON array."),
      ])
    case .requestID:
      self = .either([
        .integer(-ParameterKind.exactIntegerLimit...ParameterKind.exactIntegerLimit),
        .string(0...ParameterKind.identifierLimit),
      ])
    }
  }

  /// Writes the schema as an object.
  func write(into writer: inout JSONWriter, summary: String? = nil) {
    writer.beginObject()
    if let summary { writer.member("description", summary) }
    writeKeywords(into: &writer)
    writer.endObject()
  }

  private func writeKeywords(into writer: inout JSONWriter) {
    switch self {
    case .any: break
    case .null: writer.member("type", "null")
    case .boolean: writer.member("type", "boolean")
    case .number: writer.member("type", "number")
    case .integer(let bounds):
      writer.member("type", "integer")
      writer.bounds("minimum", "maximum", bounds)
    case .string(let bounds):
      writer.member("type", "string")
      writer.bounds("minLength", "maxLength", bounds)
    case .choice(let words):
      writer.key("enum")
      writer.beginArray()
      words.forEach { writer.string($0) }
      writer.endArray()
    case .array(let element, let count):
      writer.member("type", "array")
      writer.key("items")
      element.write(into: &writer)
      writer.bounds("minItems", "maxItems", count)
    case .object(let members): Self.writeMembers(members, into: &writer)
    case .closed(let members):
      Self.writeMembers(members, into: &writer)
      writer.key("additionalProperties")
      writer.bool(false)
    case .either(let schemas):
      writer.key("anyOf")
      writer.beginArray()
      schemas.forEach { $0.write(into: &writer) }
      writer.endArray()
    }
  }

  private static func writeMembers(_ members: [Member], into writer: inout JSONWriter) {
    writer.member("type", "object")
    guard !members.isEmpty else { return }
    writer.key("properties")
    writer.beginObject()
    for member in members {
      writer.key(member.name)
      member.schema.write(into: &writer, summary: member.summary)
    }
    writer.endObject()
    guard members.contains(where: \.isRequired) else { return }
    writer.key("required")
    writer.beginArray()
    for member in members where member.isRequired { writer.string(member.name) }
    writer.endArray()
  }
}

extension JSONWriter {
  fileprivate mutating func bounds(_ lower: String, _ upper: String, _ range: ClosedRange<Int>?) {
    guard let range else { return }
    if range.lowerBound != 0 || lower == "minimum" {
      key(lower)
      integer(range.lowerBound)
    }
    key(upper)
    integer(range.upperBound)
  }
}
