@testable import GatewayCore

/// Judges a value by a JSON Schema, as far as the schemas of `rpc.discover` go: an unknown keyword is a problem too.
struct JSONSchemaChecker {
  /// What is wrong, with the path to it.
  private(set) var problems: [String] = []

  mutating func check(_ value: JSONValue, _ schema: JSONValue, at path: String = "$") {
    guard let keywords = schema.members else { return problems.append("\(path): the schema is no object") }
    for keyword in keywords {
      if !holds(keyword.key, keyword.value, value, schema, path) { problems.append("\(path): \(keyword.key)") }
    }
  }

  private mutating func holds(
    _ keyword: String, _ wanted: JSONValue, _ value: JSONValue, _ schema: JSONValue, _ path: String
  ) -> Bool {
    switch keyword {
    case "description": return wanted.stringValue?.isEmpty == false
    case "type":
      return wanted.stringValue == value.typeName || wanted == .string("number") && value.typeName == "integer"
    case "minimum": return value.integerValue.map { $0 >= wanted.integerValue ?? .max } ?? true
    case "maximum": return value.integerValue.map { $0 <= wanted.integerValue ?? .min } ?? true
    case "minLength": return value.stringValue.map { $0.unicodeScalars.count >= wanted.integerValue ?? .max } ?? true
    case "maxLength": return value.stringValue.map { $0.unicodeScalars.count <= wanted.integerValue ?? .min } ?? true
    case "minItems": return value.elements.map { $0.count >= wanted.integerValue ?? .max } ?? true
    case "maxItems": return value.elements.map { $0.count <= wanted.integerValue ?? .min } ?? true
    case "enum": return wanted.elements?.contains(value) == true
    case "anyOf":
      return wanted.elements?.contains { alternative in
        var checker = JSONSchemaChecker()
        checker.check(value, alternative)
        return checker.problems.isEmpty
      } == true
    case "items":
      for (index, element) in (value.elements ?? []).enumerated() { check(element, wanted, at: "\(path)[\(index)]") }
      return true
    case "properties":
      for member in value.members ?? [] {
        if let schema = wanted[member.key] { check(member.value, schema, at: "\(path).\(member.key)") }
      }
      return true
    case "required":
      return wanted.elements?.allSatisfy { $0.stringValue.flatMap { value[$0] } != nil } == true
    case "additionalProperties":
      return wanted == .bool(false)
        && value.members?.allSatisfy { schema["properties"]?[$0.key] != nil } != false
    default: return false
    }
  }
}

extension JSONValue {
  fileprivate var typeName: String {
    switch self {
    case .null: "null"
    case .bool: "boolean"
    case .number(let text): text.contains { ".eE".contains($0) } ? "number" : "integer"
    case .string: "string"
    case .array: "array"
    case .object: "object"
    }
  }
}
