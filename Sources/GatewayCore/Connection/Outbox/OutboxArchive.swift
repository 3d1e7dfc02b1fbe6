/// Finished entries, which are shown for a while. Those that failed keep their message, so that they can be sent again.
/// Where there are too many, those go first of the user that has the most, and of these the ones that cannot be sent
/// again: neither another user's sends nor a user's own successes take away what still can be.
struct OutboxArchive {
  /// One user's, each kind in the order of its end. An object, so that a look at it copies nothing.
  private final class Share {
    /// They cannot be sent again.
    var settled = TombstoneQueue<OutboxRecord>()
    var repeatable = TombstoneQueue<OutboxRecord>()
    var bytes = 0

    var count: Int { settled.count + repeatable.count }
    /// The one that goes first.
    var first: OutboxRecord? { settled.first ?? repeatable.first }

    /// One that ended before an instant.
    func ended(before horizon: Int64) -> OutboxRecord? {
      if let oldest = settled.first, OutboxArchive.end(of: oldest) <= horizon { return oldest }
      if let oldest = repeatable.first, OutboxArchive.end(of: oldest) <= horizon { return oldest }
      return nil
    }

    /// Before that there is none.
    var earliestEnd: Int64 {
      min(settled.first.map(OutboxArchive.end) ?? .max, repeatable.first.map(OutboxArchive.end) ?? .max)
    }

    func add(_ record: OutboxRecord, _ cost: Int) {
      record.archivePlace = record.entry.isRepeatable ? repeatable.append(record) : settled.append(record)
      bytes += cost
    }

    func remove(_ record: OutboxRecord, at place: UInt64, _ cost: Int) {
      if record.entry.isRepeatable { repeatable.remove(at: place) } else { settled.remove(at: place) }
      bytes -= cost
    }
  }

  private var shares: [UInt32: Share] = [:]
  /// The share to which was added last, which is nearly always that of the next entry too.
  private var recent: (owner: UInt32, share: Share)?
  /// Before that nothing is to be found that could go; there may be nothing then either.
  private var earliestEnd = Int64.min

  private static func end(of record: OutboxRecord) -> Int64 { record.entry.ended ?? 0 }
  private(set) var count = 0
  private(set) var bytes = 0

  /// All of them, those of a user and a kind in the order of their end.
  var records: some Sequence<OutboxRecord> {
    shares.values.lazy.flatMap { Array($0.settled.all) + Array($0.repeatable.all) }
  }

  /// How many of them a user has.
  func count(of owner: UInt32) -> Int { shares[owner]?.count ?? 0 }

  /// Goes through those of some users while others come and go: what comes is found as well.
  struct Reader {
    private var owners: [UInt32]
    private var isAtRepeatable = false
    /// From where on it reads.
    private var place: UInt64 = 0

    init(_ archive: OutboxArchive, where isMeant: (_ owner: UInt32) -> Bool) {
      owners = archive.shares.keys.filter(isMeant)
    }

    /// The next one; nil after the last.
    mutating func next(in archive: OutboxArchive) -> OutboxRecord? {
      while let owner = owners.last {
        if let share = archive.shares[owner] {
          let records = isAtRepeatable ? share.repeatable : share.settled
          if let found = records.nextPlace(from: place) {
            place = found + 1
            return records[found]
          }
        }
        if isAtRepeatable { owners.removeLast() }
        (isAtRepeatable, place) = (!isAtRepeatable, 0)
      }
      return nil
    }
  }

  /// Adds a finished entry, which is not listed yet.
  mutating func add(_ record: OutboxRecord) {
    let cost = record.entry.cost
    share(of: record.entry.owner).add(record, cost)
    count += 1
    bytes += cost
    earliestEnd = min(earliestEnd, Self.end(of: record))
  }

  private mutating func share(of owner: UInt32) -> Share {
    if let recent, recent.owner == owner { return recent.share }
    let share = shares[owner] ?? Share()
    shares[owner] = share
    recent = (owner, share)
    return share
  }

  /// Takes one out; false if it is not here.
  @discardableResult
  mutating func remove(_ record: OutboxRecord) -> Bool {
    guard let place = record.archivePlace else { return false }
    let owner = record.entry.owner
    let cost = record.entry.cost
    record.archivePlace = nil
    count -= 1
    bytes -= cost
    guard let share = shares[owner] else { return true }
    share.remove(record, at: place, cost)
    earliestEnd = min(earliestEnd, share.earliestEnd)
    if share.count == 0 {
      shares[owner] = nil
      if recent?.share === share { recent = nil }
    }
    return true
  }

  /// Takes one out if there are too many, if they are too large, or if it ended before an instant.
  mutating func takeSurplus(count limit: Int, bytes byteLimit: Int, endedBefore horizon: Int64) -> OutboxRecord? {
    guard let surplus = surplus(count: limit, bytes: byteLimit, endedBefore: horizon) else { return nil }
    remove(surplus)
    return surplus
  }

  /// The instants of all of them have moved.
  mutating func clockWasSet() { earliestEnd = .min }

  private mutating func surplus(count limit: Int, bytes byteLimit: Int, endedBefore horizon: Int64) -> OutboxRecord? {
    if count > limit { return shares.values.max { $0.count < $1.count }?.first }
    if bytes > byteLimit { return shares.values.max { $0.bytes < $1.bytes }?.first }
    guard earliestEnd <= horizon else { return nil }
    for share in shares.values { if let oldest = share.ended(before: horizon) { return oldest } }
    earliestEnd = shares.values.reduce(.max) { min($0, $1.earliestEnd) }
    return nil
  }
}
