/// Looks for entries of the outbox a portion at a time, and then gives them, the oldest first. There may be hundreds of
/// thousands, and each that is looked at lies elsewhere in memory: to look at all takes tens of milliseconds. Decision
/// 0102.
///
/// It finds what was there when it began. What ends while it looks is found once; what comes later, and what is sent
/// again, is not.
final class OutboxSearch {
  /// What is looked for.
  struct Wish {
    /// Nil: whatever its state is.
    var states: Set<OutboxState>?
    /// Whether there can be any among the finished entries of a user, so that those of others cost nothing.
    var concerns: (_ owner: UInt32) -> Bool
    /// Asked once for all unfinished ones of a user to a target, for the same reason.
    var isWanted: (OutboxTarget, _ owner: UInt32) -> Bool
    var isMeant: (OutboxRecord) -> Bool = { _ in true }
  }

  private enum Step {
    case lines
    case unfinished
    case finished
    case found
  }

  /// A finished entry; the oldest comes first.
  private struct Ended: Comparable {
    let number: UInt64
    let record: OutboxRecord

    init(_ record: OutboxRecord) { (number, self.record) = (record.entry.number, record) }

    static func == (a: Ended, b: Ended) -> Bool { a.number == b.number }
    static func < (a: Ended, b: Ended) -> Bool { a.number < b.number }
  }

  private let outbox: Outbox
  private let wish: Wish
  /// All that there was when it began has a lower number.
  private let end: UInt64
  /// More are not given.
  private var limit: Int

  private var step: Step
  private var lines: ArraySlice<OutboxLine>
  private var reader: OutboxLinesReader
  /// Nil before the unfinished ones are found.
  private var archive: OutboxArchive.Reader?
  /// Both are in the order of their numbers. One that ended in between stands in both.
  private var unfinished = Ring<OutboxRecord>()
  private var finished = Heap<Ended>()
  private var lastNumber: UInt64?

  /// Entries that are looked at in one go: a millisecond.
  static let portion = 1_000
  /// As how many entries the first look at a user and a target counts: rules and URLs are compared for it.
  private static let lineCost = 16

  /// - Parameters:
  ///   - end: all that there is has a lower number.
  ///   - limit: how many are given at most.
  init(_ outbox: Outbox, before end: UInt64, limit: Int = .max, _ wish: Wish) {
    self.outbox = outbox
    self.wish = wish
    self.end = end
    self.limit = limit
    step = .lines
    let showsQueued = wish.states?.contains(.queued) ?? true
    lines = showsQueued ? Array(outbox.usage.allLines)[...] : []
    reader = OutboxLinesReader(before: end)
  }

  /// Gives entries that were found otherwise.
  init(_ outbox: Outbox, found records: [OutboxRecord], limit: Int = .max) {
    self.outbox = outbox
    wish = Wish(concerns: { _ in false }, isWanted: { _, _ in false })
    (end, self.limit) = (.max, limit)
    step = .found
    lines = []
    reader = OutboxLinesReader(before: end)
    for record in records.sorted(by: { $0.entry.number < $1.entry.number }) {
      if record.line == nil { finished.push(Ended(record)) } else { unfinished.append(record) }
    }
  }

  // MARK: - Looking

  /// Looks at so many more. Returns whether all are found.
  func look(_ portion: inout Int) -> Bool {
    while portion > 0, step != .found {
      switch step {
      case .lines: lookAtLine(&portion)
      case .unfinished: lookAtUnfinished(&portion)
      case .finished: lookAtFinished(&portion)
      case .found: break
      }
    }
    return step == .found
  }

  private func lookAtLine(_ portion: inout Int) {
    guard let line = lines.popFirst() else { return step = .unfinished }
    portion -= Self.lineCost
    if wish.isWanted(line.target, line.owner) { reader.add(line) }
  }

  private func lookAtUnfinished(_ portion: inout Int) {
    guard unfinished.count < limit, let record = reader.next() else {
      reader = OutboxLinesReader(before: end)
      step = .finished
      guard wish.states?.contains(where: \.isFinal) ?? true else { return }
      return archive = OutboxArchive.Reader(outbox.archive, where: wish.concerns)
    }
    portion -= 1
    // What has ended since is found among the finished ones.
    if record.line != nil, wish.isMeant(record) { unfinished.append(record) }
  }

  private func lookAtFinished(_ portion: inout Int) {
    portion -= 1
    guard let record = archive?.next(in: outbox.archive) else { return step = .found }
    let entry = record.entry
    guard entry.number < end, wish.states?.contains(entry.state) ?? true, wish.isWanted(entry.target, entry.owner),
      wish.isMeant(record)
    else { return }
    finished.push(Ended(record))
  }

  // MARK: - Giving

  /// The oldest finished one that was found and not given.
  var firstFinished: OutboxRecord? { finished.first?.record }

  /// That one is not given.
  func skipFirstFinished() { finished.removeFirst() }

  /// The next one that was found, whatever has become of it since; nil after the last.
  func next() -> OutboxRecord? {
    while limit > 0, let record = takeFirst() {
      guard record.entry.number != lastNumber else { continue }
      lastNumber = record.entry.number
      limit -= 1
      return record
    }
    return nil
  }

  private func takeFirst() -> OutboxRecord? {
    guard let ended = finished.first, unfinished.first.map({ ended.number <= $0.entry.number }) ?? true else {
      return unfinished.popFirst()
    }
    finished.removeFirst()
    return ended.record
  }
}
