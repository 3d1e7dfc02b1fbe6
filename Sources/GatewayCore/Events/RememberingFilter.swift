/// A filter for a walk over many events. Most events share a few names, so its answers are remembered: each glob of a
/// filter costs once for a name, and not once for an event. Where names are many and globs are made to cost, it says
/// when a portion of the walk has cost enough.
struct RememberingFilter {
  private let filter: EventFilter
  /// By the names' JSON texts.
  private var known: [[UInt8]: Bool] = [:]
  /// What it remembers takes so many bytes.
  private(set) var heldBytes = 0
  /// What the present portion may still cost: about the bytes that are compared with a glob.
  private var left = 0

  /// Most names that are remembered; of more the filter itself is asked.
  private static let limit = 4_096
  /// A longer text, in bytes, is not remembered.
  private static let textLimit = 256
  /// Bytes that a name takes beside its text.
  private static let rememberedCost = 64
  /// What one portion may cost: with the worst globs about two milliseconds.
  static let portion = 128 << 10
  /// What it costs to look at an event at all, and a name with one glob whatever its length.
  private static let lookCost = 32
  private static let nameCost = 16

  init(_ filter: EventFilter) { self.filter = filter }

  var passesAll: Bool { filter.passesAll }

  /// A portion begins, of this cost.
  mutating func begin(_ portion: Int) { left = portion }

  /// Whether the portion has something left.
  var hasLeft: Bool { left > 0 }

  /// Whether it lets an event pass; what has no name passes every filter.
  mutating func passes(_ content: EventHistory.Content) -> Bool {
    guard !filter.passesAll else {
      left -= Self.lookCost
      return true
    }
    guard case .event(let tail) = content, let range = LocalNotification.nameRange(inTail: tail.span.bytes) else {
      left -= Self.lookCost
      return content.matches(filter)
    }
    guard range.count <= Self.textLimit else {
      noteMatching(range.count)
      return content.matches(filter)
    }
    return passes(Array(tail[range])) { content.matches($0) }
  }

  /// Whether it lets the name of a JSON text pass.
  mutating func passes(name text: [UInt8]) -> Bool {
    passes(text) { $0.matches(JSONScanner.decodeString(text.span.bytes, 0..<text.count)) }
  }

  private mutating func passes(_ text: [UInt8], _ ask: (EventFilter) -> Bool) -> Bool {
    left -= Self.lookCost
    if let answer = known[text] { return answer }
    noteMatching(text.count)
    let answer = ask(filter)
    if known.count < Self.limit {
      known[text] = answer
      heldBytes += text.count + Self.rememberedCost
    }
    return answer
  }

  private mutating func noteMatching(_ length: Int) {
    left -= max(1, filter.comparedGlobs) * (length + Self.nameCost)
  }

  /// Asks about the names of events that are gone, so that their count costs little. Returns whether the portion was
  /// enough.
  mutating func look(at expired: ExpiredNames) -> Bool {
    guard !filter.passesAll else { return true }
    for name in expired.names {
      // What cannot be remembered would cost the same in each portion: the count itself asks about it.
      guard known.count < Self.limit else { break }
      guard known[name] == nil else { continue }
      guard hasLeft else { return false }
      _ = passes(name: name)
    }
    return true
  }
}
