/// The unfinished sends of one user to one target, in the order of their acceptance, and the sums in which they count.
final class OutboxLine {
  let target: OutboxTarget
  let owner: UInt32
  private let all: OutboxSum
  let ofTarget: OutboxSum
  let ofOwner: OutboxSum
  private(set) var count = 0
  /// A record that left stays until it surfaces or until those that left are the majority.
  private var records: ContiguousArray<OutboxRecord> = []
  private var head = 0

  init(target: OutboxTarget, owner: UInt32, all: OutboxSum, ofTarget: OutboxSum, ofOwner: OutboxSum) {
    self.target = target
    self.owner = owner
    self.all = all
    self.ofTarget = ofTarget
    self.ofOwner = ofOwner
  }

  private func count(_ entry: OutboxEntry, _ sign: Int) {
    let cost = entry.cost
    count += sign
    all.add(cost, sign)
    ofTarget.add(cost, sign)
    ofOwner.add(cost, sign)
  }

  /// The first of those that are meant.
  func oldest(where isMeant: (OutboxRecord) -> Bool) -> OutboxRecord? {
    records[head...].first { $0.line === self && isMeant($0) }
  }

  /// The first so many of those that are meant, in their order.
  func records(limit: Int = .max, where isWanted: (OutboxRecord) -> Bool) -> [OutboxRecord] {
    var found: [OutboxRecord] = []
    for record in records[head...] where record.line === self && isWanted(record) {
      guard found.count < limit else { break }
      found.append(record)
    }
    return found
  }

  func add(_ record: OutboxRecord) {
    record.line = self
    count(record.entry, 1)
    guard let last = records.last, last.entry.number > record.entry.number else { return records.append(record) }
    // Only what was on its way while another one was moved here comes late.
    let place = records.firstIndex { $0.entry.number > record.entry.number } ?? records.count
    records.insert(record, at: max(place, head))
  }

  func remove(_ record: OutboxRecord) {
    guard record.line === self else { return }
    record.line = nil
    count(record.entry, -1)
    while head < records.count, records[head].line !== self { head += 1 }
    guard records.count > 64, count < records.count / 2 else { return }
    records = ContiguousArray(records[head...].filter { $0.line === self })
    head = 0
  }
}

/// Entries and their bytes, counted together.
final class OutboxSum {
  private(set) var count = 0
  private(set) var bytes = 0

  /// One entry more, or less with a negative sign.
  func add(_ cost: Int, _ sign: Int) {
    count += sign
    bytes += sign * cost
  }
}
