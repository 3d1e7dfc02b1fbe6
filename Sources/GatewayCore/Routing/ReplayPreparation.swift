/// Works out which events of a history somebody asks for, a portion in each turn of the loop, so that many globs and many
/// names hold up nobody else. The replay itself then only looks the answers up.
final class ReplayPreparation {
  /// What may be compared in one turn, in bytes of globs times bytes of names: a millisecond or two where the globs are as
  /// bad as they can be, and less with usual ones.
  static let portion = 2_000_000
  /// What a name costs that needs no comparison.
  private static let step = 8
  /// A name's length, for a first estimate.
  private static let usualName = 16
  /// Turns after which what came meanwhile is left to the replay: a stream that is faster than this will always be ahead.
  private static let turnLimit = 10_000

  /// With the answers so far.
  private(set) var filter: RememberingFilter
  /// Names of events that are gone, whose number a gap tells.
  private var names: [[UInt8]]
  /// Where the walk to older events ends, and how many that match end it too.
  private let oldest: UInt64
  private var wanted: Int
  /// Everything from here on up to `end` has its answer.
  private var start: UInt64
  private var end: UInt64
  private var turns = 0

  /// Where a walk to older events would end; nil where all of it is done quickly enough at once.
  static func oldestPlace(_ resume: SubscribeCall.Resume?, _ filter: EventFilter, _ history: EventHistory) -> UInt64? {
    guard let resume, !filter.globs.isEmpty else { return nil }
    var place = history.oldestPlace
    // Of another epoch, or of a number that was never given, all is looked at.
    if case .since(let epoch, let sequence) = resume,
      let span = history.spans.last(where: { $0.epoch == epoch }), sequence >= span.start
    {
      place = max(place, min(span.place &+ (sequence - span.start), history.nextPlace))
    }
    let bytes = filter.globs.reduce(0) { $0 + $1.utf8.count }
    let count = Int(history.nextPlace - place) + history.expired.count
    return count > portion / (bytes * usualName) ? place : nil
  }

  /// Nil where it is done quickly enough at once.
  init?(_ resume: SubscribeCall.Resume?, _ filter: EventFilter, in history: EventHistory) {
    guard let place = Self.oldestPlace(resume, filter, history) else { return nil }
    if case .last(let count) = resume { wanted = count } else { wanted = .max }
    oldest = place
    (start, end) = (history.nextPlace, history.nextPlace)
    names = history.expired.names
    self.filter = RememberingFilter(filter)
    self.filter.begin(place..<history.nextPlace)
  }

  /// One portion. Returns whether nothing is left to do.
  func advance(_ history: EventHistory) -> Bool {
    let limit = filter.work &+ Self.portion
    var steps = 0
    turns += 1
    while filter.work &+ steps < limit {
      steps &+= Self.step
      if let name = names.popLast() {
        _ = filter.passes(name: name[...])
      } else if start > max(oldest, history.oldestPlace), wanted > 0 {
        start -= 1
        if let content = history.content(at: start), filter.prepare(content, at: start) { wanted -= 1 }
      } else if end < history.nextPlace, turns < Self.turnLimit {
        if let content = history.content(at: end) { _ = filter.prepare(content, at: end) }
        end += 1
      } else {
        return true
      }
    }
    return false
  }
}
