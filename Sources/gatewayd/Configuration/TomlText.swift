import CToml
import GatewayCore

/// Adapter of toml++: the text of a configuration file as a tree of values with their places.
enum TomlText {
  /// Longest text, in bytes; a longer one is a problem.
  static var limit: Int { Int(GW_TOML_TEXT_LIMIT) }

  /// The tree, or the first syntax error: the parser stops there.
  static func parse(_ text: [UInt8], file: String) -> Result<ConfigurationTree, ConfigurationProblem> {
    var result = text.withUnsafeBytes { bytes in
      gw_toml_parse(bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
    }
    defer { gw_toml_free(&result) }
    if let message = result.message {
      let column = result.line > 0 ? Int(result.column) : nil
      return .failure(
        ConfigurationProblem(
          file: file, line: Int(result.line), column: column, message: sentence(String(cString: message))))
    }
    guard let json = result.json else { return .failure(unusable(file, "there is not enough memory")) }
    let answer = UnsafeRawBufferPointer(start: json, count: result.json_length).bytes
    guard let value = try? JSONValue.parse(answer, limit: .max), let root = ConfigurationNode(answer: value) else {
      return .failure(unusable(file, "the parser's answer makes no sense"))
    }
    return .success(ConfigurationTree(file: file, root: root))
  }

  private static func unusable(_ file: String, _ reason: String) -> ConfigurationProblem {
    ConfigurationProblem(file: file, line: 0, message: "cannot be read: \(reason)")
  }

  /// The parser says `Error while parsing PART: …`, or `Encountered …`. Forgotten quotes are the commonest slip, and
  /// what it says then needs a word of explanation.
  private static func sentence(_ message: String) -> String {
    let prefix = "Error while parsing "
    guard message.hasPrefix(prefix) else {
      return "syntax error: \(message.prefix(1).lowercased())\(message.dropFirst())"
    }
    let rest = message.dropFirst(prefix.count)
    guard let mark = rest.firstRange(ofText: ": ") else { return "syntax error in \(rest)" }
    let (part, reason) = (rest[..<mark.lowerBound], rest[mark.upperBound...])
    if part.hasSuffix("string"), reason.contains(text: "control characters other than TAB") {
      return "syntax error in \(part): it is not closed on its line, or holds a control character"
    }
    let mayBeText =
      reason.hasPrefix("could not determine")
      || reason.hasPrefix("expected") && ["boolean", "floating-point", "decimal integer"].contains(String(part))
    return "syntax error in \(part): \(reason)" + (mayBeText ? "; text needs quotes" : "")
  }
}

extension ConfigurationNode {
  /// From the form that `CToml.h` describes; nil if the answer has another form.
  fileprivate init?(answer: JSONValue) {
    guard let type = answer["t"]?.stringValue, let line = answer["l"]?.integerValue,
      let column = answer["c"]?.integerValue, let content = answer["v"], let value = Value(type, content)
    else { return nil }
    self.init(at: TextPosition(line: line, column: column), value)
  }
}

extension ConfigurationNode.Value {
  fileprivate init?(_ type: String, _ content: JSONValue) {
    switch (type, content) {
    case ("string", .string(let text)): self = .string(text)
    case ("float", .string(let text)): self = .float(text)
    case ("boolean", .bool(let value)): self = .boolean(value)
    case ("date", _): self = .date
    case ("time", _): self = .time
    case ("datetime", _): self = .dateAndTime
    case ("integer", .number(let text)):
      guard let number = Int64(text) else { return nil }
      self = .integer(number)
    case ("array", .array(let elements)):
      let nodes = elements.compactMap(ConfigurationNode.init(answer:))
      guard nodes.count == elements.count else { return nil }
      self = .array(nodes)
    case ("table", .object(let members)):
      let entries = members.compactMap { ConfigurationEntry($0) }
      guard entries.count == members.count else { return nil }
      // The parser keeps tables sorted by name; the order of the file is the one that readers expect.
      self = .table(entries.sorted { $0.keyPosition < $1.keyPosition })
    default: return nil
    }
  }
}

extension ConfigurationEntry {
  fileprivate init?(_ member: JSONValue.Member) {
    guard let line = member.value["kl"]?.integerValue, let column = member.value["kc"]?.integerValue,
      let node = ConfigurationNode(answer: member.value)
    else { return nil }
    self.init(member.key, at: TextPosition(line: line, column: column), node)
  }
}
