/// How much of the outbox is used, and by whom: what the limits are compared with, and which entry is the oldest of its
/// sender.
struct OutboxUsage {
  /// Entries and their bytes.
  struct Amount: Equatable {
    var count = 0
    var bytes = 0

    fileprivate mutating func add(_ entry: OutboxEntry, _ sign: Int) {
      count += sign
      bytes += sign * entry.cost
    }
  }

  /// What one user has under way to one target.
  private struct Line: Hashable {
    var target: OutboxTarget
    var owner: UInt32
  }

  private(set) var total = Amount()
  private var targets: [OutboxTarget: Amount] = [:]
  private var owners: [UInt32: Amount] = [:]
  private var lines: [Line: (numbers: NumberList, count: Int)] = [:]
  /// The ids of all entries by their number.
  private var ids: [UInt64: String] = [:]

  func amount(to target: OutboxTarget) -> Amount { targets[target] ?? Amount() }
  func amount(of owner: UInt32) -> Amount { owners[owner] ?? Amount() }

  mutating func add(_ entry: OutboxEntry) {
    total.add(entry, 1)
    targets[entry.target, default: Amount()].add(entry, 1)
    owners[entry.owner, default: Amount()].add(entry, 1)
    ids[entry.number] = entry.id
    let line = Line(target: entry.target, owner: entry.owner)
    lines[line, default: (NumberList(), 0)].numbers.insert(entry.number)
    lines[line]?.count += 1
  }

  mutating func remove(_ entry: OutboxEntry) {
    guard ids.removeValue(forKey: entry.number) != nil else { return }
    total.add(entry, -1)
    targets[entry.target]?.add(entry, -1)
    if targets[entry.target]?.count == 0 { targets[entry.target] = nil }
    owners[entry.owner]?.add(entry, -1)
    if owners[entry.owner]?.count == 0 { owners[entry.owner] = nil }
    let line = Line(target: entry.target, owner: entry.owner)
    let left = (lines[line]?.count ?? 1) - 1
    lines[line]?.count = left
    lines[line]?.numbers.tidy(alive: left) { ids[$0] == nil }
    if left <= 0 { lines[line] = nil }
  }

  /// The id of the oldest entry of a user to a target.
  func oldest(to target: OutboxTarget, of owner: UInt32) -> String? {
    lines[Line(target: target, owner: owner)]?.numbers.first.flatMap { ids[$0] }
  }

  /// The id of the oldest entry of a user.
  func oldest(of owner: UInt32) -> String? {
    lines.filter { $0.key.owner == owner }.compactMap(\.value.numbers.first).min().flatMap { ids[$0] }
  }
}
