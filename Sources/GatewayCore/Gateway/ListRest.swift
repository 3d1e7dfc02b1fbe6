/// What of a list is not written yet, and how many were left out.
struct ListRest<Element> {
  private let elements: AnyIterator<Element>
  private var first: Element?
  private(set) var leftOut = 0

  /// A list of all is made at once: for what is a few thousand at most.
  init(_ elements: some Sequence<Element>, for session: LocalSession) {
    let listed = Snapshot(elements, session.gateway.shares.work, for: .user(session.peer.uid))
    self.init(oneByOne: AnyIterator { listed.next() })
  }

  /// Each is looked for when its turn has come, and no list of all is made, however many they are.
  init(oneByOne elements: AnyIterator<Element>) {
    self.elements = elements
    first = elements.next()
  }

  var isEmpty: Bool { first == nil }

  /// Writes the next of those that `shown` finds, or counts them once one did not fit: so many at most.
  mutating func write<Shown>(
    _ count: Int, for session: LocalSession, into out: inout JSONWriter, _ shown: (Element) -> Shown?,
    _ write: (Shown, inout JSONWriter) -> Void
  ) {
    let limit = StatusDocument.listLimit(session.gateway)
    var portion = Portion(count, session.gateway.seams.timers)
    while !isEmpty, portion.takesMore() {
      guard let one = takeFirst().flatMap(shown) else { continue }
      leftOut += leftOut > 0 ? 1 : out.values([one], within: limit, write)
    }
  }

  private mutating func takeFirst() -> Element? {
    defer { first = elements.next() }
    return first
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
