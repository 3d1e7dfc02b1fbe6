/// Finished entries, which are shown for a while. Those that failed keep their message, so that they can be sent again.
struct OutboxArchive {
  private(set) var entries: [String: OutboxEntry] = [:]
  /// In the order of their end. One that was taken out, or that ended again since, is passed over.
  private var order: [(id: String, ended: Int64)] = []
  private var head = 0
  private(set) var bytes = 0

  var count: Int { entries.count }

  /// Adds a finished entry.
  mutating func add(_ entry: OutboxEntry) {
    remove(entry.id)
    entries[entry.id] = entry
    order.append((entry.id, entry.ended ?? 0))
    bytes += entry.cost
  }

  /// The clock was set.
  mutating func move(by step: Int64) {
    entries = entries.mapValues { $0.moved(by: step) }
    for place in order.indices { order[place].ended += step }
  }

  @discardableResult
  mutating func remove(_ id: String) -> OutboxEntry? {
    guard let entry = entries.removeValue(forKey: id) else { return nil }
    bytes -= entry.cost
    if order.count > 64, entries.count < (order.count - head) / 2 {
      order = order[head...].filter { entries[$0.id]?.ended == $0.ended }
      head = 0
    }
    return entry
  }

  /// The entry that ended first.
  var oldest: OutboxEntry? {
    mutating get {
      while head < order.count {
        if let entry = entries[order[head].id], entry.ended == order[head].ended { return entry }
        head += 1
      }
      order.removeAll()
      head = 0
      return nil
    }
  }

  /// Takes the oldest one out if there are too many, if they are too large, or if it ended before an instant.
  mutating func takeSurplus(count limit: Int, bytes byteLimit: Int, endedBefore horizon: Int64) -> OutboxEntry? {
    guard let oldest else { return nil }
    guard count > limit || bytes > byteLimit || (oldest.ended ?? 0) <= horizon else { return nil }
    head += 1
    return remove(oldest.id)
  }
}
