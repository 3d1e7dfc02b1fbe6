/// The segments of one history on the disk: the one that is written, and those before it that still hold a part of the
/// past. Decision 0042.
struct HistorySegments {
  /// A segment that is not written any more.
  private struct Older {
    var id: HistorySegment.ID
    /// The place behind its last event; 0 where nothing of it counts.
    var end: UInt64
    var bytes: Int
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

  /// Of all files.
  var byteCount: Int { older.reduce(file == nil ? 0 : written.all) { $0 + $1.bytes } }

  /// No segment was ever there.
  var areNone: Bool { number == 0 }
  var hasOlder: Bool { !older.isEmpty }
  /// For the segment that comes next.
  var nextID: HistorySegment.ID { id(number + 1) }

  /// What stood on the disk at the beginning: of the segments up to the number `last` these can be read.
  mutating func found(_ segments: [HistorySegment], last: UInt64) {
    older = segments.map { Older(id: $0.id, end: 0, bytes: $0.size) }
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
    if file != nil { older.append(Older(id: id(number), end: end, bytes: written.all)) }
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

extension StorageProblem {
  /// The files of a history have no more room beside others in a folder that is in memory.
  static let noHistoryMemory = StorageProblem(
    .full, "other histories take the memory that the files of a user's may have (limits.history_bytes)")
}
