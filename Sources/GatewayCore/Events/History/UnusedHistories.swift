/// The histories on disk that nobody has any more, by whose they were, the oldest of each first. There are so many at most that going
/// through namespaces one after another fills no disk. Decision 0103.
struct UnusedHistories {
  /// As many as connections that users may have at once.
  var bounds = SharedBounds(total: .max)

  private var names: [Account: [String]] = [:]
  private var owners: [String: Account] = [:]

  /// One is not used any more. Returns those that have to go for it: the oldest ones of whoever has too many, or the most.
  mutating func add(_ name: String, of account: Account) -> [String] {
    take(name)
    names[account, default: []].append(name)
    owners[name] = account
    var gone: [String] = []
    if names[account, default: []].count > bounds.share { gone += removeOldest(of: account) }
    if owners.count > bounds.total, let most = names.max(by: { $0.value.count < $1.value.count }) {
      gone += removeOldest(of: most.key)
    }
    return gone
  }

  /// One is used again, or is not there any more.
  mutating func take(_ name: String) {
    guard let account = owners.removeValue(forKey: name) else { return }
    names[account]?.removeAll { $0 == name }
    if names[account]?.isEmpty == true { names[account] = nil }
  }

  func contains(_ name: String) -> Bool { owners[name] != nil }

  private mutating func removeOldest(of account: Account) -> [String] {
    guard let name = names[account]?.first else { return [] }
    take(name)
    return [name]
  }
}
