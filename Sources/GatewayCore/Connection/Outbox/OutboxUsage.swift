/// How much of the outbox is used, and by whom: what the limits are compared with, and which entry is the oldest of its
/// sender.
struct OutboxUsage {
  /// Entries and their bytes.
  struct Amount: Equatable {
    var count = 0
    var bytes = 0

    fileprivate init(_ sum: OutboxSum?) {
      count = sum?.count ?? 0
      bytes = sum?.bytes ?? 0
    }

    fileprivate init(_ line: OutboxLine?) {
      count = line?.count ?? 0
      bytes = line?.bytes ?? 0
    }
  }

  private struct Place: Hashable {
    var target: OutboxTarget
    var owner: UInt32
  }

  private let all = OutboxSum()
  private var targets: [OutboxTarget: OutboxSum] = [:]
  private var owners: [UInt32: OutboxSum] = [:]
  private var lines: [Place: OutboxLine] = [:]
  /// The line of the last entry, which is nearly always that of the next one too. It stays when it is empty.
  private var recent: OutboxLine?

  var allLines: some Collection<OutboxLine> { lines.values }
  var total: Amount { Amount(all) }
  /// All that counts for one more entry of a user to a target: what the user and what all have there, and everywhere.
  struct Amounts {
    var ownHere: Amount
    var here: Amount
    var own: Amount
    var total: Amount
  }

  func amounts(to target: OutboxTarget, of owner: UInt32) -> Amounts {
    if let recent, recent.owner == owner, recent.target == target {
      return Amounts(
        ownHere: Amount(recent), here: Amount(recent.ofTarget), own: Amount(recent.ofOwner), total: total)
    }
    return Amounts(
      ownHere: Amount(lines[Place(target: target, owner: owner)]), here: Amount(targets[target]),
      own: amount(of: owner), total: total)
  }

  func amount(of owner: UInt32) -> Amount { Amount(owners[owner]) }

  mutating func add(_ record: OutboxRecord) {
    if let recent, recent.owner == record.entry.owner, recent.target == record.entry.target {
      return recent.add(record)
    }
    let other = line(Place(target: record.entry.target, owner: record.entry.owner))
    other.add(record)
    let before = recent
    recent = other
    if let before { forgetIfEmpty(before) }
  }

  private mutating func line(_ place: Place) -> OutboxLine {
    if let known = lines[place] { return known }
    let ofTarget = targets[place.target] ?? OutboxSum()
    let ofOwner = owners[place.owner] ?? OutboxSum()
    targets[place.target] = ofTarget
    owners[place.owner] = ofOwner
    let made = OutboxLine(target: place.target, owner: place.owner, all: all, ofTarget: ofTarget, ofOwner: ofOwner)
    lines[place] = made
    return made
  }

  mutating func remove(_ record: OutboxRecord) {
    guard let line = record.line else { return }
    line.remove(record)
    if line !== recent { forgetIfEmpty(line) }
  }

  private mutating func forgetIfEmpty(_ line: OutboxLine) {
    guard line.count == 0 else { return }
    lines[Place(target: line.target, owner: line.owner)] = nil
    // The line that was used last stays, and goes on counting in its sums.
    if let sum = targets[line.target], sum.count == 0, sum !== recent?.ofTarget { targets[line.target] = nil }
    if let sum = owners[line.owner], sum.count == 0, sum !== recent?.ofOwner { owners[line.owner] = nil }
  }

  /// The oldest entry of a user to a target that is meant.
  func oldest(to target: OutboxTarget, of owner: UInt32, where isMeant: (OutboxRecord) -> Bool) -> OutboxRecord? {
    lines[Place(target: target, owner: owner)]?.oldest(where: isMeant)
  }

  /// The oldest entry of a user that is meant.
  func oldest(of owner: UInt32, where isMeant: (OutboxRecord) -> Bool) -> OutboxRecord? {
    lines.values.filter { $0.owner == owner }.compactMap { $0.oldest(where: isMeant) }
      .min { $0.entry.number < $1.entry.number }
  }
}

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

  init(target: OutboxTarget, owner: UInt32, all: OutboxSum, ofTarget: OutboxSum, ofOwner: OutboxSum) {
    self.target = target
    self.owner = owner
    self.all = all
    self.ofTarget = ofTarget
    self.ofOwner = ofOwner
  }

  var count: Int { records.count }

  private func count(_ entry: OutboxEntry, _ sign: Int) {
    let cost = entry.cost
    bytes += sign * cost
    all.add(cost, sign)
    ofTarget.add(cost, sign)
    ofOwner.add(cost, sign)
  }

  /// The first of those that are meant.
  func oldest(where isMeant: (OutboxRecord) -> Bool) -> OutboxRecord? {
    records.all.first(where: isMeant)
  }

  /// All of those that are meant, in their order.
  func records(where isWanted: (OutboxRecord) -> Bool) -> [OutboxRecord] {
    records.all.filter(isWanted)
  }

  /// Where a reader of a line stands: at a record that is on disk. The one with the oldest record comes first.
  private struct Reader: Comparable {
    let line: OutboxLine
    let record: OutboxRecord

    static func == (a: Reader, b: Reader) -> Bool { a.record === b.record }
    static func < (a: Reader, b: Reader) -> Bool { a.record.entry.number < b.record.entry.number }
  }

  private func reader(from number: UInt64) -> Reader? {
    var next = records.nextPlace(from: number)
    while let number = next, let record = records[number] {
      if record.isCommitted { return Reader(line: self, record: record) }
      next = records.nextPlace(from: number + 1)
    }
    return nil
  }

  /// The first so many records of several lines that are on disk, the oldest first. It looks at no more of them than it
  /// returns, however many there are.
  static func oldest(_ limit: Int, of lines: some Sequence<OutboxLine>) -> [OutboxRecord] {
    var readers = Heap<Reader>()
    for line in lines { if let reader = line.reader(from: 0) { readers.push(reader) } }
    var found: [OutboxRecord] = []
    while found.count < limit, let reader = readers.first {
      found.append(reader.record)
      readers.removeFirst()
      if let next = reader.line.reader(from: reader.record.entry.number + 1) { readers.push(next) }
    }
    return found
  }

  /// One that comes late, because it was on its way while another one was moved here, has its place all the same.
  func add(_ record: OutboxRecord) {
    record.line = self
    records.insert(record, at: record.entry.number)
    count(record.entry, 1)
  }

  func remove(_ record: OutboxRecord) {
    guard record.line === self else { return }
    record.line = nil
    records.remove(at: record.entry.number)
    count(record.entry, -1)
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
