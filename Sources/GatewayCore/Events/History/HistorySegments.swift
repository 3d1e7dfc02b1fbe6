/// The segments of one history on the disk: the one that is written, and those before it that still hold a part of the
/// past. Decision 0042.
struct HistorySegments {
  /// A segment that is not written any more.
  private struct Older {
    var id: HistorySegment.ID
    /// The place behind its last event; 0 where nothing of it counts.
    var end: UInt64
  }

  private let name: String
  private let store: any HistoryStore
  /// The last segment's.
  private var number: UInt64 = 0
  private var older: [Older] = []
  /// The last segment. Nil before there is anything to keep, while the disk fails, and after the end.
  private(set) var file: (any HistoryFile)?
  /// What stands in it.
  var written = FreshSegment.Fill()

  init(of name: String, in store: any HistoryStore) { (self.name, self.store) = (name, store) }

  /// No segment was ever there.
  var areNone: Bool { number == 0 }
  var hasOlder: Bool { !older.isEmpty }
  /// For the segment that comes next.
  var nextID: HistorySegment.ID { id(number + 1) }

  /// What stood on the disk at the beginning: of the segments up to the number `last` these can be read.
  mutating func found(_ segments: [HistorySegment.ID], last: UInt64) {
    older = segments.map { Older(id: $0, end: 0) }
    number = last
  }

  /// Puts a segment in its place, which is the last one from now on. `end` is the place behind the last event of the
  /// one before it.
  mutating func publish(_ fresh: FreshSegment, behind end: UInt64) throws(StorageProblem) {
    try fresh.file.publish()
    leaveFile(behind: end)
    number = fresh.id.number
    written = fresh.fill
    file = fresh.file
  }

  /// The last segment is not written any more.
  mutating func leaveFile(behind end: UInt64 = 0) {
    if file != nil { older.append(Older(id: id(number), end: end)) }
    file = nil
  }

  /// The last segment is complete: nothing will be said of it any more.
  mutating func closeFile() { file = nil }

  /// Removes the segments of which the history has nothing any more, as it begins at `place`.
  mutating func dropOlder(before place: UInt64) {
    while let first = older.first, first.end <= place {
      store.remove(first.id)
      older.removeFirst()
    }
  }

  /// The last segment holds all of the history.
  mutating func removeOlder() {
    for segment in older { store.remove(segment.id) }
    older = []
  }

  /// Marks the segments that are not written any more, so that they are not taken for all that there was. Returns why
  /// some could not be.
  func mark() -> [StorageProblem] {
    older.compactMap { (segment) -> StorageProblem? in
      do throws(StorageProblem) { try store.cut(segment.id) } catch { return error }
      return nil
    }
  }

  private func id(_ number: UInt64) -> HistorySegment.ID { .init(name: name, number: number) }
}
