import GatewayCore

/// Descriptions of methods for a person.
struct IntrospectView {
  let palette: Palette
  /// Columns of the terminal; nil: as wide as it gets.
  var width: Int?

  /// Every method and notification with its summary.
  func list(_ document: JSONValue) -> String {
    var methods = Table(["METHOD", "RIGHT", "WHAT IT DOES"], expendable: ["RIGHT"], wrapped: true)
    for method in document["methods"]?.elements ?? [] {
      methods.add([
        .init(text(method["name"])), .init(method["x-right"]?.stringValue ?? "-"), .init(text(method["summary"])),
      ])
    }
    var notifications = Table(["NOTIFICATION", "WHAT IT SAYS"], wrapped: true)
    for notification in document["x-notifications"]?.elements ?? [] {
      notifications.add([.init(text(notification["name"])), .init(text(notification["summary"]))])
    }
    return methods.text(palette, width: width)
      + (notifications.isEmpty ? "" : "\n" + notifications.text(palette, width: width))
  }

  /// One method or notification with its params and its result.
  func page(_ item: JSONValue) -> String {
    var page = palette.paint(TextWidth.escaped(text(item["name"])), .heading) + "\n"
    page += TextWidth.wrapped(
      TextWidth.escaped(text(item["summary"])), indent: 0, width: min(width ?? .max, TextWidth.ordinary))
    if let right = item["x-right"]?.stringValue { page += "Needs the right '\(TextWidth.escaped(right))'.\n" }
    if let params = item["params"]?.elements {
      page += section("Params", rows: params.map { row($0, $0["schema"], isRequired: $0["required"]?.boolValue) })
    } else {
      page += section("Params", rows: members(item["params"]))
    }
    page += section("Result", rows: members(item["result"]?["schema"]))
    return page
  }

  private func section(_ title: String, rows: [[Table.Cell]]) -> String {
    guard !rows.isEmpty else { return "" }
    var table = Table([title.uppercased(), "TYPE", "MEANING"], elastic: ["TYPE"], expendable: ["TYPE"], wrapped: true)
    for row in rows { table.add(row) }
    return "\n" + table.text(palette, width: width)
  }

  /// The members of a schema of an object.
  private func members(_ schema: JSONValue?) -> [[Table.Cell]] {
    let required = Set(schema?["required"]?.elements?.compactMap(\.stringValue) ?? [])
    return schema?["properties"]?.members?.map { member in
      row(
        .object([.init("name", .string(member.key)), .init("summary", member.value["description"] ?? .null)]),
        member.value, isRequired: required.contains(member.key))
    } ?? []
  }

  private func row(_ item: JSONValue, _ schema: JSONValue?, isRequired: Bool?) -> [Table.Cell] {
    let name = text(item["name"]) + (isRequired == false ? "?" : "")
    return [.init(name), .init(Self.type(schema ?? .null)), .init(item["summary"]?.stringValue ?? "")]
  }

  /// A schema in a few words.
  static func type(_ schema: JSONValue) -> String {
    if let words = schema["enum"]?.elements { return words.map { $0.stringValue ?? $0.text }.joined(separator: "|") }
    if let word = schema["const"] { return word.stringValue ?? word.text }
    if let choices = schema["anyOf"]?.elements { return choices.map { type($0) }.joined(separator: "|") }
    guard let name = schema["type"]?.stringValue else { return "any" }
    if name == "array", let items = schema["items"] { return "[\(type(items))…]" }
    if name == "object", let members = schema["properties"]?.members {
      return "{\(members.map(\.key).joined(separator: ","))}"
    }
    return name
  }

  private func text(_ value: JSONValue?) -> String { value?.stringValue ?? "?" }
}
