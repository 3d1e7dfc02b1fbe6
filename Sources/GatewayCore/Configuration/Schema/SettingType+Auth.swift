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

extension SettingType {
  /// A setting whose name is taken but which a later version will bring. Any value is a finding.
  static var unavailable: Self {
    Self(
      "later",
      read: { (node) throws(SettingFindings) in throw SettingFindings("is not available in this version", at: node) },
      write: { _ in nil })
  }
}

extension ConfigurationNode {
  /// Writes the value as JSON. Dates, times, infinities and NaN have no JSON form.
  fileprivate func writeJSON(into writer: inout JSONWriter) throws(SettingFindings) {
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
