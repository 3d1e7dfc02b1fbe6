/// Finished entries, which are shown for a while. Those that failed keep their message, so that they can be sent again.
struct OutboxArchive {
  /// In the order of their end.
  private var order = TombstoneQueue<OutboxRecord>()
  private(set) var bytes = 0

  var count: Int { order.count }

  /// All of them, in the order of their end.
  var records: some Sequence<OutboxRecord> { order.all }

  /// Adds a finished entry, which is not listed yet.
  mutating func add(_ record: OutboxRecord) {
    record.archivePlace = order.append(record)
    bytes += record.entry.cost
  }

  /// Takes one out; false if it is not here.
  @discardableResult
  mutating func remove(_ record: OutboxRecord) -> Bool {
    guard let place = record.archivePlace else { return false }
    record.archivePlace = nil
    order.remove(at: place)
    bytes -= record.entry.cost
    return true
  }

  /// Takes the one that ended first out if there are too many, if they are too large, or if it ended before an instant.
  mutating func takeSurplus(count limit: Int, bytes byteLimit: Int, endedBefore horizon: Int64) -> OutboxRecord? {
    guard let oldest = order.first else { return nil }
    guard count > limit || bytes > byteLimit || (oldest.entry.ended ?? 0) <= horizon else { return nil }
    remove(oldest)
    return oldest
  }
}
