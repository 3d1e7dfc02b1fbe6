/// Finished entries, which are shown for a while. Those that failed keep their message, so that they can be sent again.
struct OutboxArchive {
  private(set) var records: [String: OutboxRecord] = [:]
  /// In the order of their end. One that was taken out is passed over.
  private var order: ContiguousArray<OutboxRecord> = []
  private var head = 0
  private(set) var bytes = 0

  var count: Int { records.count }

  /// Adds a finished entry.
  mutating func add(_ record: OutboxRecord) {
    remove(record.entry.id)
    records[record.entry.id] = record
    order.append(record)
    bytes += record.entry.cost
  }

  @discardableResult
  mutating func remove(_ id: String) -> OutboxRecord? {
    guard let record = records.removeValue(forKey: id) else { return nil }
    bytes -= record.entry.cost
    tidy()
    return record
  }

  private mutating func tidy() {
    guard order.count > 64, records.count < order.count / 2 else { return }
    let kept = order[head...].filter { isListed($0) }
    order = ContiguousArray(kept)
    head = 0
  }

  private func isListed(_ record: OutboxRecord) -> Bool { records[record.entry.id] === record }

  /// The entry that ended first.
  private mutating func oldest() -> OutboxRecord? {
    while head < order.count {
      if isListed(order[head]) { return order[head] }
      head += 1
    }
    order.removeAll()
    head = 0
    return nil
  }

  /// Takes the oldest one out if there are too many, if they are too large, or if it ended before an instant.
  mutating func takeSurplus(count limit: Int, bytes byteLimit: Int, endedBefore horizon: Int64) -> OutboxRecord? {
    guard let oldest = oldest() else { return nil }
    guard count > limit || bytes > byteLimit || (oldest.entry.ended ?? 0) <= horizon else { return nil }
    head += 1
    return remove(oldest.entry.id)
  }
}
