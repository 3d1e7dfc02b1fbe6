/// The unfinished sends of one user to one target, in the order of their acceptance, and the sums in which they count.
final class OutboxLine {
  let target: OutboxTarget
  let owner: UInt32
  private let all: OutboxSum
  let ofTarget: OutboxSum
  let ofOwner: OutboxSum
  /// By their numbers.
  private var records = TombstoneQueue<OutboxRecord>()
  /// Of those that count in it.
  private(set) var bytes = 0
  /// Of those that the disk does not have yet.
  private(set) var bytesOnTheirWay = 0

  init(target: OutboxTarget, owner: UInt32, all: OutboxSum, ofTarget: OutboxSum, ofOwner: OutboxSum) {
    self.target = target
    self.owner = owner
    self.all = all
    self.ofTarget = ofTarget
    self.ofOwner = ofOwner
  }

  var count: Int { records.count }

  private func count(_ record: OutboxRecord, _ sign: Int) {
    let cost = record.entry.cost
    if !record.isCommitted { countOnTheirWay(sign * cost) }
    bytes += sign * cost
    all.add(cost, sign)
    ofTarget.add(cost, sign)
    ofOwner.add(cost, sign)
  }

  private func countOnTheirWay(_ cost: Int) {
    bytesOnTheirWay += cost
    ofOwner.bytesOnTheirWay += cost
    all.bytesOnTheirWay += cost
  }

  /// The disk has one of them.
  func committed(_ record: OutboxRecord) { countOnTheirWay(-record.entry.cost) }

  /// All of them, in their order.
  var inOrder: some Sequence<OutboxRecord> { records.all }

  /// The first of those that are meant.
  func oldest(where isMeant: (OutboxRecord) -> Bool) -> OutboxRecord? {
    records.all.first(where: isMeant)
  }

  /// Where a reader of the line stands: at a record that is on disk. Of several the one with the oldest record comes first.
  struct Reader: Comparable {
    let line: OutboxLine
    let record: OutboxRecord

    static func == (a: Reader, b: Reader) -> Bool { a.record === b.record }
    static func < (a: Reader, b: Reader) -> Bool { a.record.entry.number < b.record.entry.number }
  }

  /// At the first record on disk from that number on.
  func reader(from number: UInt64) -> Reader? {
    var next = records.nextPlace(from: number)
    while let number = next, let record = records[number] {
      if record.isCommitted { return Reader(line: self, record: record) }
      next = records.nextPlace(from: number + 1)
    }
    return nil
  }

  /// One that comes late, because it was on its way while another one was moved here, has its place all the same.
  func add(_ record: OutboxRecord) {
    record.line = self
    records.insert(record, at: record.entry.number)
    count(record, 1)
  }

  func remove(_ record: OutboxRecord) {
    guard record.line === self else { return }
    record.line = nil
    records.remove(at: record.entry.number)
    count(record, -1)
  }
}

/// Reads several lines as one: what is on disk of them, the oldest first, whatever becomes of it meanwhile.
struct OutboxLinesReader {
  private var lines = Heap<OutboxLine.Reader>()
  /// What is read has a lower number.
  private let end: UInt64

  init(before end: UInt64) { self.end = end }

  /// Nothing of the lines that it has is left.
  var isOver: Bool { lines.count == 0 }

  /// Reads that line as well, from its beginning.
  mutating func add(_ line: OutboxLine) { read(line, from: 0) }

  /// The next one; nil at the end.
  mutating func next() -> OutboxRecord? {
    guard let oldest = lines.first else { return nil }
    lines.removeFirst()
    read(oldest.line, from: oldest.record.entry.number + 1)
    return oldest.record
  }

  private mutating func read(_ line: OutboxLine, from number: UInt64) {
    if let reader = line.reader(from: number), reader.record.entry.number < end { lines.push(reader) }
  }
}

/// Entries and their bytes, counted together.
final class OutboxSum {
  private(set) var count = 0
  private(set) var bytes = 0
  /// Of those that the disk does not have yet.
  fileprivate(set) var bytesOnTheirWay = 0

  /// One entry more, or less with a negative sign.
  func add(_ cost: Int, _ sign: Int) {
    count += sign
    bytes += sign * cost
  }
}
