/// Finished entries, which are shown for a while. Those that failed keep their message, so that they can be sent again.
struct OutboxArchive {
  private struct Slot {
    var place: UInt64
    var record: OutboxRecord
    /// It was not taken out since.
    var isListed: Bool { record.archivePlace == place }
  }

  /// In the order of their end. One that was taken out stays until it surfaces or until those are the majority.
  private var order: ContiguousArray<Slot> = []
  private var head = 0
  private var nextPlace: UInt64 = 0
  private(set) var count = 0
  private(set) var bytes = 0

  /// All of them, in the order of their end.
  var records: some Sequence<OutboxRecord> { order[head...].lazy.filter(\.isListed).map(\.record) }

  /// Adds a finished entry, which is not listed yet.
  mutating func add(_ record: OutboxRecord) {
    record.archivePlace = nextPlace
    order.append(Slot(place: nextPlace, record: record))
    nextPlace += 1
    count += 1
    bytes += record.entry.cost
  }

  /// Takes one out; false if it is not here.
  @discardableResult
  mutating func remove(_ record: OutboxRecord) -> Bool {
    guard record.archivePlace != nil else { return false }
    record.archivePlace = nil
    count -= 1
    bytes -= record.entry.cost
    tidy()
    return true
  }

  private mutating func tidy() {
    while head < order.count, !order[head].isListed { head += 1 }
    guard order.count > 64, count < order.count / 2 else { return }
    order = ContiguousArray(order[head...].filter(\.isListed))
    head = 0
  }

  /// Takes the one that ended first out if there are too many, if they are too large, or if it ended before an instant.
  mutating func takeSurplus(count limit: Int, bytes byteLimit: Int, endedBefore horizon: Int64) -> OutboxRecord? {
    guard head < order.count else { return nil }
    let oldest = order[head].record
    guard count > limit || bytes > byteLimit || (oldest.entry.ended ?? 0) <= horizon else { return nil }
    remove(oldest)
    return oldest
  }
}
