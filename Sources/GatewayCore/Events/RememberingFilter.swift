/// A filter for a walk over many events. Most events share a few names, so its answers are remembered: each glob of a filter
/// costs once for a name, and not once for an event. Where names are many and globs are made to cost, it can look ahead portion
/// by portion, so that the walk itself finds every answer.
struct RememberingFilter {
  private let filter: EventFilter
  /// By the names' JSON texts.
  private var known: [[UInt8]: Bool] = [:]
  /// The answers for places from `base` on, and for those before it, the nearest first.
  private var ahead: [Bool] = []
  private var behind: [Bool] = []
  private var base: UInt64?
  /// How many of them are yes.
  private var found = 0
  /// What the present portion has cost: about the bytes that were compared with a glob.
  private var spent = 0

  /// Most names that are remembered; of more the filter itself is asked.
  private static let limit = 4_096
  /// A longer text, in bytes, is not remembered.
  private static let textLimit = 256
  /// What one portion may cost: with the worst globs about two milliseconds.
  static let portion = 128 << 10
  /// What it costs to look at an event at all, and a name with one glob whatever its length.
  private static let lookCost = 8
  private static let nameCost = 16

  init(_ filter: EventFilter) { self.filter = filter }

  var passesAll: Bool { filter.passesAll }

  /// Whether it lets the event at a place pass; what has no name passes every filter.
  mutating func passes(_ content: EventHistory.Content, at place: UInt64) -> Bool {
    guard !filter.passesAll else { return true }
    if let base {
      if place >= base, place - base < UInt64(ahead.count) { return ahead[Int(place - base)] }
      if place < base, base - place <= UInt64(behind.count) { return behind[Int(base - place) - 1] }
    }
    return passes(content)
  }

  /// The same wherever the event stands.
  mutating func passes(_ content: EventHistory.Content) -> Bool {
    guard case .event(let tail) = content, let range = LocalNotification.nameRange(inTail: tail.span.bytes) else {
      spent += Self.lookCost
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
    spent += Self.lookCost
    if let answer = known[text] { return answer }
    noteMatching(text.count)
    let answer = ask(filter)
    if known.count < Self.limit { known[text] = answer }
    return answer
  }

  private mutating func noteMatching(_ length: Int) {
    spent += max(1, filter.globs.count) * (length + Self.nameCost)
  }

  // MARK: - Looking ahead

  /// Looks at the next portion of what a walk to a position will ask about. Returns whether that was all; what comes in
  /// later is asked about when the walk comes to it.
  mutating func look(at history: EventHistory, _ resume: SubscribeCall.Resume?) -> Bool {
    guard let resume, !filter.passesAll else { return true }
    spent = 0
    for name in history.expired.names {
      // What cannot be remembered would cost the same in each slice: the walk itself asks about it.
      guard known.count < Self.limit else { break }
      _ = passes(name: name)
      guard spent < Self.portion else { return false }
    }
    let start = base ?? history.nextPlace
    base = start
    while ahead.count < Self.limit, start + UInt64(ahead.count) < history.nextPlace {
      guard spent < Self.portion else { return false }
      note(history.content(at: start + UInt64(ahead.count)), in: \.ahead)
    }
    var (first, wanted) = (history.oldestPlace, Int.max)
    switch resume {
    case .last(let count): wanted = count
    case .since(let epoch, let sequence):
      if let span = history.spans.last(where: { $0.epoch == epoch }), sequence >= span.start {
        first = max(first, span.place + min(sequence - span.start, history.nextPlace))
      }
    }
    while found < wanted, start - UInt64(behind.count) > first {
      guard spent < Self.portion else { return false }
      note(history.content(at: start - UInt64(behind.count) - 1), in: \.behind)
    }
    return true
  }

  private mutating func note(_ content: EventHistory.Content?, in answers: WritableKeyPath<Self, [Bool]>) {
    let answer = content.map { passes($0) } ?? false
    self[keyPath: answers].append(answer)
    if answer { found += 1 }
  }
}
