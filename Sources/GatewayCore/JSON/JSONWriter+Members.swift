/// Shorthands for the members of an object.
extension JSONWriter {
  mutating func object(_ body: (inout JSONWriter) -> Void) {
    beginObject()
    body(&self)
    endObject()
  }

  mutating func member(_ name: String, _ value: String) {
    key(name)
    string(value)
  }

  /// Nil becomes `null`.
  mutating func member(_ name: String, _ value: String?) {
    key(name)
    if let value { string(value) } else { null() }
  }

  mutating func member(_ name: String, _ value: some BinaryInteger) {
    key(name)
    integer(value)
  }

  /// Nil becomes `null`.
  mutating func member(_ name: String, _ value: (some BinaryInteger)?) {
    key(name)
    if let value { integer(value) } else { null() }
  }
}
