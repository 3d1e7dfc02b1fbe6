/// The names of a table's rows, as the engine has answered them. There may be 100,000: they are taken out in portions, so that
/// each turn makes, and frees, no more than it looks at.
struct FleetNames: Equatable, Sendable {
  /// As they came; taken from the end.
  private var replies: [FleetReply]
  /// What stands before the names.
  private let start: Int

  /// Names that are taken out at once: a millisecond or two, with what is done about each.
  static let portion = 1_024

  /// Nil where one of them is none. `start`: how many replies before them are something else.
  init?(_ replies: [FleetReply], from start: Int = 0) {
    guard replies.count >= start else { return nil }
    for place in start..<replies.count {
      guard case .bytes = replies[place] else { return nil }
    }
    self.replies = replies
    self.start = start
  }

  /// None.
  init() { (replies, start) = ([], 0) }

  var isEmpty: Bool { replies.count == start }

  /// Takes out some of them; none when it is empty.
  mutating func takePortion() -> [String] {
    let count = min(Self.portion, replies.count - start)
    let names = replies.suffix(count).compactMap { reply -> String? in
      if case .bytes(let name) = reply { String(decoding: name, as: UTF8.self) } else { nil }
    }
    replies.removeLast(count)
    return names
  }

  static func == (a: FleetNames, b: FleetNames) -> Bool { a.replies.dropFirst(a.start) == b.replies.dropFirst(b.start) }
}

extension FleetNames: ExpressibleByArrayLiteral {
  init(_ names: [String]) { (replies, start) = (names.map { .bytes(Array($0.utf8)) }, 0) }
  init(arrayLiteral names: String...) { self.init(names) }
}
