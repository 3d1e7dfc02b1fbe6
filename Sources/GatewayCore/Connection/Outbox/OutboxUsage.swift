/// How much of the outbox is used, and by whom: what the limits are compared with, and which entry is the oldest of its
/// sender. One object, so that asking it copies nothing.
final class OutboxUsage {
  /// Entries and their bytes.
  struct Amount: Equatable {
    var count = 0
    var bytes = 0

    static let none = Amount(nil as OutboxSum?)

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

  /// Everything that is unfinished, by its number.
  private var records = NumberTable<OutboxRecord>()
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

  /// What one user, or for nil what all have there.
  func amount(to target: OutboxTarget, of owner: UInt32?) -> Amount {
    owner.map { Amount(lines[Place(target: target, owner: $0)]) } ?? Amount(targets[target])
  }

  /// The unfinished entry of a number.
  func record(_ number: UInt64) -> OutboxRecord? { records[number] }

  func add(_ record: OutboxRecord) {
    records[record.entry.number] = record
    if let recent, recent.owner == record.entry.owner, recent.target == record.entry.target {
      return recent.add(record)
    }
    let other = line(Place(target: record.entry.target, owner: record.entry.owner))
    other.add(record)
    let before = recent
    recent = other
    if let before { forgetIfEmpty(before) }
  }

  private func line(_ place: Place) -> OutboxLine {
    if let known = lines[place] { return known }
    let ofTarget = targets[place.target] ?? OutboxSum()
    let ofOwner = owners[place.owner] ?? OutboxSum()
    targets[place.target] = ofTarget
    owners[place.owner] = ofOwner
    let made = OutboxLine(target: place.target, owner: place.owner, all: all, ofTarget: ofTarget, ofOwner: ofOwner)
    lines[place] = made
    return made
  }

  func remove(_ record: OutboxRecord) {
    guard let line = record.line else { return }
    records.removeValue(forKey: record.entry.number)
    line.remove(record)
    if line !== recent { forgetIfEmpty(line) }
  }

  private func forgetIfEmpty(_ line: OutboxLine) {
    guard line.count == 0 else { return }
    lines[Place(target: line.target, owner: line.owner)] = nil
    // The line that was used last stays, and goes on counting in its sums.
    if let sum = targets[line.target], sum.count == 0, sum !== recent?.ofTarget { targets[line.target] = nil }
    if let sum = owners[line.owner], sum.count == 0, sum !== recent?.ofOwner { owners[line.owner] = nil }
  }

  /// The oldest entry of a user to a target that is meant.
  private func oldest(
    to target: OutboxTarget, of owner: UInt32, where isMeant: (OutboxRecord) -> Bool
  ) -> OutboxRecord? {
    lines[Place(target: target, owner: owner)]?.oldest(where: isMeant)
  }

  /// The oldest entry of a user that is meant.
  private func oldest(of owner: UInt32, where isMeant: (OutboxRecord) -> Bool) -> OutboxRecord? {
    lines.values.filter { $0.owner == owner }.compactMap { $0.oldest(where: isMeant) }
      .min { $0.entry.number < $1.entry.number }
  }
}

/// What the limits of the outbox say about what is in it.
extension OutboxUsage {
  /// A limit that one more entry would exceed.
  struct Overrun {
    var limit: SharedBounds.Overrun
    var unit: String
    /// All upstreams together are too many, not only the one.
    fileprivate var isTotal: Bool
  }

  /// What so many entries more would exceed; nil where they have room.
  func overrun(
    adding cost: Int, to target: OutboxTarget, of owner: UInt32, count: Int = 1, _ settings: OutboxSettings
  ) -> Overrun? {
    let amounts = amounts(to: target, of: owner)
    return Self.overrun(
      count, cost, own: amounts.ownHere, all: amounts.here, isTotal: false,
      entries: SharedBounds(share: settings.entries), bytes: SharedBounds(share: settings.bytes))
      ?? Self.overrun(
        count, cost, own: amounts.own, all: amounts.total, isTotal: true,
        entries: SharedBounds(total: settings.totalEntries), bytes: SharedBounds(total: settings.totalBytes))
  }

  private static func overrun(
    _ count: Int, _ cost: Int, own: Amount, all: Amount, isTotal: Bool, entries: SharedBounds, bytes: SharedBounds
  ) -> Overrun? {
    do throws(SharedBounds.Overrun) { try entries.check(count, own: own.count, all: all.count) } catch {
      return Overrun(limit: error, unit: "sends", isTotal: isTotal)
    }
    do throws(SharedBounds.Overrun) { try bytes.check(cost, own: own.bytes, all: all.bytes) } catch {
      return Overrun(limit: error, unit: "bytes", isTotal: isTotal)
    }
    return nil
  }

  /// Whether an entry may be taken although it exceeds a limit, because older ones give way once it is on the disk: until then all
  /// of them are there, and a client that is quicker than the disk would have what it likes.
  func mayPass(adding cost: Int, to target: OutboxTarget, of owner: UInt32, _ settings: OutboxSettings) -> Bool {
    let total = SharedBounds(total: settings.totalBytes)
    let amounts = [
      (lines[Place(target: target, owner: owner)]?.bytesOnTheirWay, SharedBounds(share: settings.bytes).share),
      (owners[owner]?.bytesOnTheirWay, total.share), (all.bytesOnTheirWay, total.total),
    ]
    return amounts.allSatisfy { ($0 ?? 0) + cost <= max($1, Self.leastOnTheirWay) }
  }

  /// So much may be on its way to the disk, however low the limits are: a few sends, which nobody makes one by one.
  private static let leastOnTheirWay = 1 << 20

  /// The oldest entry that may give way where there is no room: nothing was written of it on the present link.
  func victim(of overrun: Overrun, target: OutboxTarget, owner: UInt32) -> OutboxRecord? {
    overrun.isTotal ? oldest(of: owner) { !$0.isWritten } : oldest(to: target, of: owner) { !$0.isWritten }
  }
}

extension OutboxSettings {
  /// Refuses an entry of that size where it is more than a user may have, also in an empty outbox.
  func checkFits(_ cost: Int) throws(SubmissionProblem) {
    let shares = [
      (bytes: SharedBounds(share: bytes).share, setting: "outbox.bytes"),
      (bytes: SharedBounds(total: totalBytes).share, setting: "outbox.total_bytes"),
    ]
    for share in shares where cost > share.bytes {
      throw .neverFits(size: cost, limit: share.bytes, setting: share.setting)
    }
  }
}
