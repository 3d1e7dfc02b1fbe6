/// What of a list is not written yet, and how many were left out.
struct ListRest<Element> {
  private let elements: Snapshot<Element>
  private(set) var leftOut = 0

  init(_ elements: some Sequence<Element>, for session: LocalSession) {
    self.elements = Snapshot(elements, session.gateway.shares.work, for: .user(session.peer.uid))
  }

  var isEmpty: Bool { elements.isEmpty }

  /// Writes the next of those that `shown` finds, or counts them once one did not fit: so many at most.
  mutating func write<Shown>(
    _ count: Int, for session: LocalSession, into out: inout JSONWriter, _ shown: (Element) -> Shown?,
    _ write: (Shown, inout JSONWriter) -> Void
  ) {
    let limit = StatusDocument.listLimit(session.gateway)
    var portion = Portion(count, session.gateway.seams.timers)
    while !isEmpty, portion.takesMore() {
      guard let one = elements.next().flatMap(shown) else { continue }
      leftOut += leftOut > 0 ? 1 : out.values([one], within: limit, write)
    }
  }
}

extension ListRest<Connection> {
  /// How many are looked at in one go, at most.
  static var portion: Int { 64 }

  /// Writes the next portion of those that a program may see.
  mutating func write(
    for session: LocalSession, into out: inout JSONWriter, _ write: (Connection, inout JSONWriter) -> Void
  ) {
    self.write(
      Self.portion, for: session, into: &out,
      { $0.state != .released && session.caller.maySee($0) ? $0 : nil }, write)
  }
}
