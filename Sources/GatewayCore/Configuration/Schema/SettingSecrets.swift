extension SettingType<SecretSource> {
  /// The path of a file that is read at each connect.
  static var secretFile: Self {
    Self(
      "path",
      read: { (node) throws(SettingFindings) in .file(try SettingType<String>.path().read(node)) },
      write: { source in if case .file(let path) = source { path.tomlString } else { nil } })
  }

  /// The name of a file in the folder of credentials that the service manager passes.
  static var credential: Self {
    Self(
      "name",
      read: { (node) throws(SettingFindings) in .credential(try name.read(node)) },
      write: { source in if case .credential(let name) = source { name.tomlString } else { nil } })
  }

  /// A program and its arguments. They may be secrets and are in no message.
  static var command: Self {
    Self(
      "array",
      read: { (node) throws(SettingFindings) in .command(try words(node)) },
      write: { source in
        if case .command(let words) = source {
          "[" + words.map(\.tomlString).joined(separator: ", ") + "]"
        } else {
          nil
        }
      })
  }

  private static var name: SettingType<String> {
    .text("name", expected: "the name of a credential: 1 to 255 printable characters without /") {
      (1...255).contains($0.utf8.count) && $0 != "." && $0 != ".." && !$0.contains("/")
        && $0.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value != 0x7f }
    }
  }

  private static let wordLimit = 64
  private static let byteLimit = 32 << 10

  private static func words(_ node: ConfigurationNode) throws(SettingFindings) -> [String] {
    let expectation = "an array of strings: a program and its arguments"
    guard case .array(let elements) = node.value else { throw SettingFindings(expected: expectation, found: node) }
    var words: [String] = []
    for element in elements { words.append(try element.text(expected: expectation)) }
    guard let program = words.first, program.hasPrefix("/") || !program.isEmpty && !program.contains("/") else {
      throw SettingFindings("must begin with a program: an absolute path, or a name without /", at: node)
    }
    guard words.count <= wordLimit, words.reduce(0, { $0 + $1.utf8.count }) <= byteLimit else {
      throw SettingFindings("must have at most \(wordLimit) words and \(byteLimit) bytes", at: node)
    }
    guard !words.contains(where: { $0.utf8.contains(0) }) else {
      throw SettingFindings("must not hold a zero byte", at: node)
    }
    return words
  }
}

extension SettingType<AuthSource> {
  /// The payload read from elsewhere.
  static func external(_ type: SettingType<SecretSource>) -> Self {
    Self(
      type.label.value,
      read: { (node) throws(SettingFindings) in .external(try type.read(node)) },
      write: { auth in if case .external(let source) = auth { type.write.value?(source) } else { nil } })
  }
}

extension SecretMember {
  private static let kinds: [(name: String, type: SettingType<SecretSource>)] = [
    ("file", .secretFile), ("credential", .credential), ("command", .command),
  ]

  /// Reads `{ file = "…", prefix = "…" }`, `{ credential = "…" }` or `{ command = […] }`; nil for what is no table.
  static func read(_ name: String, _ node: ConfigurationNode) throws(SettingFindings) -> SecretMember? {
    guard let entries = node.entries else { return nil }
    var prefix = ""
    var source: SecretSource?
    for entry in entries {
      if entry.key == "prefix" {
        prefix = try entry.node.text(member: "\(name).prefix")
        guard prefix.isFieldText else {
          throw SettingFindings(
            "must not hold a line break or another control character", at: entry.node, member: "\(name).prefix")
        }
        continue
      }
      guard let kind = kinds.first(where: { $0.name == entry.key }), source == nil else { throw oneOf(node, name) }
      do throws(SettingFindings) { source = try kind.type.read(entry.node) } catch {
        throw SettingFindings(
          error.all.map { finding in
            var finding = finding
            finding.member = "\(name).\(entry.key)"
            return finding
          })
      }
    }
    guard let source else { throw oneOf(node, name) }
    return SecretMember(name: name, prefix: prefix, source: source)
  }

  private static func oneOf(_ node: ConfigurationNode, _ name: String) -> SettingFindings {
    SettingFindings(
      "must be a string, or a table with exactly one of file, credential and command and perhaps prefix", at: node,
      member: name)
  }

  /// As it stands in a configuration file.
  var tomlText: String {
    let source = Self.kinds.compactMap { kind in kind.type.write.value?(self.source).map { "\(kind.name) = \($0)" } }
    let parts = source + (prefix.isEmpty ? [] : ["prefix = \(prefix.tomlString)"])
    return "{ " + parts.joined(separator: ", ") + " }"
  }
}

extension String {
  /// What may stand in a header line, RFC 9110 section 5.5: no line break and no other control character.
  var isFieldText: Bool { unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7f || $0 == "\t" } }
}

extension SettingType<AuthSource> {
  /// The payload itself: a table, carried on as the JSON text of an object. Its values are in no message.
  static var payload: Self {
    Self(
      "table", secret: SecretMark(instead: "auth_file"),
      read: { (node) throws(SettingFindings) in
        guard node.entries != nil else { throw SettingFindings(expected: "a table", found: node) }
        var writer = JSONWriter()
        try node.writeJSON(into: &writer)
        return .inline(writer.bytes)
      },
      write: { _ in nil })
  }
}

extension ConfigurationNode {
  /// Writes the value as JSON. Dates, times, infinities and NaN have no JSON form.
  func writeJSON(into writer: inout JSONWriter) throws(SettingFindings) {
    switch value {
    case .string(let text): writer.string(text)
    case .integer(let number): writer.integer(number)
    case .boolean(let value): writer.bool(value)
    case .float(let text) where text.utf8.last.map { (0x30...0x39).contains($0) } ?? false: writer.raw(Array(text.utf8))
    case .float(let text): throw SettingFindings("must hold only what JSON can express, not \(text)", at: self)
    case .date, .time, .dateAndTime:
      throw SettingFindings("must hold only what JSON can express, not \(kind)", at: self)
    case .array(let elements):
      writer.beginArray()
      for element in elements { try element.writeJSON(into: &writer) }
      writer.endArray()
    case .table(let entries):
      writer.beginObject()
      for entry in entries {
        writer.key(entry.key)
        try entry.node.writeJSON(into: &writer)
      }
      writer.endObject()
    }
  }
}

/// Marks a setting whose value may be a secret that stands in the configuration file itself.
struct SecretMark: Sendable {
  /// What keeps the secret out of the file; nil when nothing does.
  let instead: String?
  /// Whether the value holds one.
  let isHeld: @Sendable (ConfigurationNode) -> Bool

  init(instead: String? = nil, isHeld: @escaping @Sendable (ConfigurationNode) -> Bool = { _ in true }) {
    self.instead = instead
    self.isHeld = isHeld
  }

  /// The values of headers and query parameters that are not read from elsewhere.
  static let members = SecretMark(instead: "{ file = \"…\" } as the value") { node in
    node.entries?.contains { $0.node.entries == nil } ?? false
  }

  /// A URL with a user and a password.
  static let login = SecretMark(instead: "proxy_password_file", isHeld: { hasPassword($0) })

  /// A URL, or one of several, with a password or a query.
  static let address = SecretMark { node in
    guard case .array(let nodes) = node.value else { return hasPassword(node) || hasQuery(node) }
    return nodes.contains { hasPassword($0) || hasQuery($0) }
  }

  /// RFC 3986 section 3.2.1: between the scheme and an `@` before the path.
  private static func hasPassword(_ node: ConfigurationNode) -> Bool {
    guard case .string(let text) = node.value, let mark = text.firstRange(ofText: "://") else { return false }
    let authority = text[mark.upperBound...].prefix { !"/?#".contains($0) }
    guard let at = authority.lastIndex(of: "@") else { return false }
    return authority[..<at].contains(":")
  }

  private static func hasQuery(_ node: ConfigurationNode) -> Bool {
    guard case .string(let text) = node.value else { return false }
    return text.prefix { $0 != "#" }.contains("?")
  }
}
