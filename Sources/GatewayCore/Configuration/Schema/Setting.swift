/// One setting of a table of the configuration: its name, what it may be, where it lands and what it is for. Reading,
/// defaults, guesses at misspelt names and the documents all come from these declarations.
struct Setting<Target>: Sendable {
  /// What the documents say about a setting.
  struct Document: Sendable {
    /// What it may be, in a few words.
    var label: String
    /// Some sentences: what it bounds or does, and what happens at the limit. Names of settings and values stand between
    /// backquotes.
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
