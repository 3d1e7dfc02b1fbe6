/// One setting of a table of the configuration: its name, what it may be, where it lands and what it is for. Reading,
/// defaults, guesses at misspelt names and the reference all come from these declarations.
struct Setting<Target>: Sendable {
  /// Within its table, such as `line` or `tls.ca`.
  let name: String
  /// What it may be, in one or two words.
  let label: String
  /// One or two sentences: what it bounds or does, and what happens at the limit.
  let summary: String
  /// Where the value may be a secret.
  let secret: SecretMark?
  /// Reads the value and stores it.
  let apply: @Sendable (ConfigurationNode, inout Target) throws(SettingFindings) -> Void
  /// The stored value as TOML text; nil when it is the absence of the setting.
  let text: @Sendable (Target) -> String?

  init<Value>(
    _ name: String, _ path: WritableKeyPath<Target, Value> & Sendable, _ type: SettingType<Value>, _ summary: String
  ) {
    self.name = name
    self.label = type.label
    self.summary = summary
    secret = type.secret
    apply = { (node, target) throws(SettingFindings) in target[keyPath: path] = try type.read(node) }
    text = { type.write($0[keyPath: path]) }
  }

  private init<Inner>(_ inner: Setting<Inner>, at path: WritableKeyPath<Target, Inner> & Sendable, prefix: String) {
    name = prefix + inner.name
    label = inner.label
    summary = inner.summary
    secret = inner.secret
    apply = { (node, target) throws(SettingFindings) in try inner.apply(node, &target[keyPath: path]) }
    text = { inner.text($0[keyPath: path]) }
  }

  /// The same setting of something that is a part of something larger.
  func within<Outer>(_ path: WritableKeyPath<Outer, Target> & Sendable, prefix: String = "") -> Setting<Outer> {
    Setting<Outer>(self, at: path, prefix: prefix)
  }
}
