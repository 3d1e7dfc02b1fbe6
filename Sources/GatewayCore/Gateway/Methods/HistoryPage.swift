/// As many past events as fit into one answer.
struct HistoryPage {
  /// JSON text of an array.
  private(set) var events: [UInt8] = [UInt8(ascii: "[")]
  /// The last number that the answer covers.
  private(set) var sequence: UInt64
  private(set) var isComplete: Bool
  private(set) var hasMore: Bool

  /// What the array has beside the events, in bytes.
  static let brackets = 2

  init(_ call: HistoryCall, _ replay: EventReplay, of stream: EventStream, byteLimit: Int) {
    sequence = stream.sequence
    isComplete = replay.isComplete
    let found = replay.items.drained()
    let items = call.since == nil ? Self.newest(found, byteLimit) : found[...]
    if items.count < found.count { isComplete = false }
    hasMore = replay.missedCount > 0
    var count = 0
    var last: UInt64?
    for case .event(let number, let tail, _) in items {
      // It was taken under a larger limit.
      guard tail.count <= byteLimit else {
        isComplete = false
        continue
      }
      guard count < call.limit, events.count + tail.count <= byteLimit + Self.brackets else {
        hasMore = true
        break
      }
      append(tail, isFirst: count == 0)
      count += 1
      last = number
    }
    if hasMore, let last { sequence = last }
    events.append(UInt8(ascii: "]"))
  }

  /// A tail ends with the braces of `params` and of the line, and with the line's end.
  private mutating func append(_ tail: [UInt8], isFirst: Bool) {
    if !isFirst { events.append(UInt8(ascii: ",")) }
    events.append(UInt8(ascii: "{"))
    events += tail.dropLast(2)
  }

  /// Without a position the newest count: the oldest are left out where not all fit.
  private static func newest(_ items: [Backlog.Item], _ byteLimit: Int) -> ArraySlice<Backlog.Item> {
    var bytes = 0
    var first = items.endIndex
    while first > items.startIndex {
      bytes += items[first - 1].byteCount
      guard bytes <= byteLimit else { break }
      first -= 1
    }
    return items[first...]
  }
}
