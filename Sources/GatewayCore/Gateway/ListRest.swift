/// What of a list is not written yet, and how many were left out.
struct ListRest<Element> {
  var elements: ArraySlice<Element> = []
  var leftOut = 0

  /// Writes the next of those that `shown` finds, or counts them once one did not fit.
  mutating func write<Shown>(
    _ portion: Int, within limit: Int, into out: inout JSONWriter, _ shown: (Element) -> Shown?,
    _ write: (Shown, inout JSONWriter) -> Void
  ) {
    let some = elements.prefix(portion).compactMap(shown)
    elements = elements.dropFirst(portion)
    leftOut += leftOut > 0 ? some.count : out.values(some, within: limit, write)
  }
}

extension ListRest<Connection> {
  /// How many are looked at in one go: less than a millisecond.
  static var portion: Int { 64 }

  /// Writes the next portion of those that a program may see.
  mutating func write(
    for session: LocalSession, into out: inout JSONWriter, _ write: (Connection, inout JSONWriter) -> Void
  ) {
    let limit = StatusDocument.listLimit(session.gateway)
    self.write(
      Self.portion, within: limit, into: &out, { $0.state != .released && session.caller.maySee($0) ? $0 : nil }, write)
  }
}
