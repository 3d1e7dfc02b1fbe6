/// The unfinished sends of one user to one target, in the order of their acceptance, and the sums in which they count.
final class OutboxLine {
  let target: OutboxTarget
  let owner: UInt32
  private let all: OutboxSum
  let ofTarget: OutboxSum
  let ofOwner: OutboxSum
  private(set) var count = 0
  /// Of those that count in it.
  private(set) var bytes = 0
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
    bytes += sign * cost
    all.add(cost, sign)
    ofTarget.add(cost, sign)
    ofOwner.add(cost, sign)
  }

  /// The first of those that are meant.
  func oldest(where isMeant: (OutboxRecord) -> Bool) -> OutboxRecord? {
    records[head...].first { $0.line === self && isMeant($0) }
  }

  /// All of those that are meant, in their order.
  func records(where isWanted: (OutboxRecord) -> Bool) -> [OutboxRecord] {
    records[head...].filter { $0.line === self && isWanted($0) }
  }

  /// Where a reader of a line stands: at a record that is on disk. The one with the oldest record comes first.
  private struct Reader: Comparable {
    let line: OutboxLine
    let index: Int
    let record: OutboxRecord

    static func == (a: Reader, b: Reader) -> Bool { a.record === b.record }
    static func < (a: Reader, b: Reader) -> Bool { a.record.entry.number < b.record.entry.number }
  }

  private func reader(from index: Int) -> Reader? {
    var index = max(index, head)
    while index < records.count, records[index].line !== self || !records[index].isCommitted { index += 1 }
    return index < records.count ? Reader(line: self, index: index, record: records[index]) : nil
  }

  /// The first so many records of several lines that are on disk, the oldest first. It looks at no more of them than it
  /// returns, however many there are.
  static func oldest(_ limit: Int, of lines: some Sequence<OutboxLine>) -> [OutboxRecord] {
    // The order of the readers alone counts.
    let always = MonotonicInstant(nanoseconds: 0)
    var readers = DeadlineHeap<Reader>()
    for line in lines { if let reader = line.reader(from: 0) { readers.push(always, reader) } }
    var found: [OutboxRecord] = []
    while found.count < limit, let reader = readers.first?.item {
      found.append(reader.record)
      readers.removeFirst()
      if let next = reader.line.reader(from: reader.index + 1) { readers.push(always, next) }
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
