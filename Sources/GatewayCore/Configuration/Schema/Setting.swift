/// One setting of a table of the configuration: its name, what it may be, where it lands and what it is for. Reading,
/// defaults, guesses at misspelt names and the documents all come from these declarations.
struct Setting<Target>: Sendable {
  /// What the documents say about a setting.
  struct Document: Sendable {
    /// What it may be, in a few words.
    var label: String
    /// Some sentences: what it bounds or does, and what happens at the limit. Names of settings and values stand
    /// between backquotes.
    var summary: String
    /// TOML text of a value, where the default is the absence of the setting.
    var example: String?
    /// The stored value as TOML text; nil when it is the absence of the setting.
    var text: @Sendable (Target) -> String?
  }

  /// Within its table, such as `line` or `tls.ca`.
  let name: String
  /// Where the value may be a secret.
  let secret: SecretMark?
  /// Reads the value and stores it.
  let apply: @Sendable (ConfigurationNode, inout Target) throws(SettingFindings) -> Void
  let document: DocumentOnly<Document>

  init<Value>(
    _ name: String, _ path: WritableKeyPath<Target, Value> & Sendable, _ type: SettingType<Value>,
    _ summary: @autoclosure () -> String, example: @autoclosure () -> String? = nil
  ) {
    self.name = name
    secret = type.secret
    apply = { (node, target) throws(SettingFindings) in target[keyPath: path] = try type.read(node) }
    document = DocumentOnly(
      Document(
        label: type.label.value ?? "", summary: summary(), example: example(),
        text: { target in type.write.value.flatMap { $0(target[keyPath: path]) } }))
  }

  private init<Inner>(_ inner: Setting<Inner>, at path: WritableKeyPath<Target, Inner> & Sendable, prefix: String) {
    name = prefix + inner.name
    secret = inner.secret
    apply = { (node, target) throws(SettingFindings) in try inner.apply(node, &target[keyPath: path]) }
    document = DocumentOnly(inner.document.value?.within(path))
  }

  /// The same setting of something that is a part of something larger.
  func within<Outer>(_ path: WritableKeyPath<Outer, Target> & Sendable, prefix: String = "") -> Setting<Outer> {
    Setting<Outer>(self, at: path, prefix: prefix)
  }
}

extension Setting.Document {
  /// The same of something that is a part of something larger.
  fileprivate func within<Outer>(_ path: WritableKeyPath<Outer, Target> & Sendable) -> Setting<Outer>.Document {
    Setting<Outer>.Document(label: label, summary: summary, example: example, text: { text($0[keyPath: path]) })
  }
}

/// What the value of a setting may be: how it is read from a configuration file, and how it is written into one.
struct SettingType<Value: Sendable>: Sendable {
  /// A few words for the documents, such as `size`.
  let label: DocumentOnly<String>
  /// Where the value may be a secret.
  let secret: SecretMark?
  let read: @Sendable (ConfigurationNode) throws(SettingFindings) -> Value
  /// TOML text that reads as this value; nil for a value that is the absence of the setting.
  let write: DocumentOnly<@Sendable (Value) -> String?>

  init(
    _ label: @autoclosure () -> String?, secret: SecretMark? = nil,
    read: @escaping @Sendable (ConfigurationNode) throws(SettingFindings) -> Value,
    write: @escaping @Sendable (Value) -> String?
  ) {
    self.label = DocumentOnly(label())
    self.secret = secret
    self.read = read
    self.write = DocumentOnly(write)
  }
}

extension SettingType {
  /// The same, for a setting that can also be absent.
  var optional: SettingType<Value?> {
    SettingType<Value?>(
      label.value, secret: secret, read: { (node) throws(SettingFindings) in try self.read(node) },
      write: { value in value.flatMap { write.value?($0) } })
  }
}

extension ConfigurationNode {
  /// The text of a string; everything else is a finding that says what was expected.
  func text(expected expectation: String = "a string", member: String? = nil) throws(SettingFindings) -> String {
    guard case .string(let text) = value else {
      throw SettingFindings(expected: expectation, found: self, member: member)
    }
    return text
  }
}

extension String {
  /// As a basic string of TOML, section "String" of its specification.
  var tomlString: String {
    var text = "\""
    for scalar in unicodeScalars {
      switch scalar {
      case "\"", "\\": text += "\\\(scalar)"
      case "\n": text += "\\n"
      case "\t": text += "\\t"
      case "\u{0}"..<"\u{20}", "\u{7f}":
        let digits = String(scalar.value, radix: 16)
        text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text + "\""
  }
}

/// What is wrong with the value of one setting; never empty.
struct SettingFindings: Error {
  /// One thing that is wrong.
  struct Finding {
    var position: TextPosition
    /// The member of the value that is meant, when the setting is a table.
    var member: String?
    /// Completes a sentence that begins with the setting's name, such as `must be a string, not a date`.
    var predicate: String
  }

  var all: [Finding]

  init(_ all: [Finding]) { self.all = all }

  init(_ predicate: String, at node: ConfigurationNode, member: String? = nil) {
    all = [Finding(position: node.position, member: member, predicate: predicate)]
  }

  /// `must be EXPECTATION, not a date`.
  init(expected expectation: String, found node: ConfigurationNode, member: String? = nil) {
    self.init("must be \(expectation), not \(node.kind)", at: node, member: member)
  }
}

/// Something that only the documents need: `make documents` writes them with a build for debugging, and a build for
/// release carries nothing of it.
struct DocumentOnly<Value: Sendable>: Sendable {
  #if DEBUG
    let value: Value?

    init(_ value: @autoclosure () -> Value?) { self.value = value() }
  #else
    var value: Value? { nil }

    @inline(__always) init(_ value: @autoclosure () -> Value?) {}
  #endif
}
