/// A filter for a walk over many events. Most events share a few names, so its answers are remembered: each glob of a filter
/// costs once for a name, and not once for an event.
struct RememberingFilter {
  private let filter: EventFilter
  /// By the names' JSON texts.
  private var known: [[UInt8]: Bool] = [:]

  /// Most names that are remembered; of more the filter itself is asked.
  private static let limit = 4_096
  /// A longer text, in bytes, is not remembered.
  private static let textLimit = 256

  init(_ filter: EventFilter) { self.filter = filter }

  /// Whether it lets an event pass; what has no name passes every filter.
  mutating func passes(_ content: EventHistory.Content) -> Bool {
    guard !filter.passesAll, case .event(let tail) = content,
      let range = LocalNotification.nameRange(inTail: tail.span.bytes), range.count <= Self.textLimit
    else { return content.matches(filter) }
    let text = Array(tail[range])
    if let answer = known[text] { return answer }
    let answer = content.matches(filter)
    if known.count < Self.limit { known[text] = answer }
    return answer
  }
}
