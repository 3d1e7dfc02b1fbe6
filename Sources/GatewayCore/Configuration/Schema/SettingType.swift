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
