/// A filter for a walk over many events. Most events share a few names, so its answers are remembered: each glob of a filter
/// costs once for a name, and not once for an event. Answers for places of a history can be worked out ahead.
struct RememberingFilter {
  private let filter: EventFilter
  /// By the names' JSON texts.
  private var known: [[UInt8]: Bool] = [:]
  /// For the places from `first` on; nil where nobody asked yet.
  private var answers: ContiguousArray<Bool?> = []
  private var first: UInt64 = 0
  /// What the comparisons so far may have cost: bytes of globs, times bytes of names.
  private(set) var work = 0
  private let globBytes: Int

  /// Most names that are remembered; of more the filter itself is asked.
  private static let limit = 4_096
  /// A longer text, in bytes, is not remembered.
  private static let textLimit = 256

  init(_ filter: EventFilter) {
    self.filter = filter
    globBytes = filter.globs.reduce(0) { $0 + $1.utf8.count }
  }

  /// Makes room for answers about these places, one byte for each.
  mutating func begin(_ places: Range<UInt64>) {
    first = places.lowerBound
    answers = ContiguousArray(repeating: nil, count: places.count)
  }

  /// Works out the answer for what stands at a place, and returns it.
  mutating func prepare(_ content: EventHistory.Content, at place: UInt64) -> Bool {
    let answer = passes(content, at: place)
    guard place >= first else { return answer }
    let index = Int(place - first)
    while answers.count <= index { answers.append(nil) }
    answers[index] = answer
    return answer
  }

  /// Whether it lets what stands at a place pass; what has no name passes every filter.
  mutating func passes(_ content: EventHistory.Content, at place: UInt64) -> Bool {
    if place >= first, place - first < UInt64(answers.count), let answer = answers[Int(place - first)] { return answer }
    guard !filter.passesAll, case .event(let tail) = content,
      let range = LocalNotification.nameRange(inTail: tail.span.bytes)
    else { return content.matches(filter) }
    return passes(name: tail[range])
  }

  /// Whether an event of that name passes; the name as JSON text.
  mutating func passes(name: ArraySlice<UInt8>) -> Bool {
    guard !filter.passesAll else { return true }
    let text = Array(name)
    if let answer = known[text] { return answer }
    work &+= globBytes &* text.count &+ 64
    let answer = filter.matches(JSONScanner.decodeString(text.span.bytes, 0..<text.count))
    if text.count <= Self.textLimit, known.count < Self.limit { known[text] = answer }
    return answer
  }
}
