/// The histories on disk that no connection has any more, by the users that had them, the oldest of each first. There
/// are so many at most that going through namespaces one after another fills no disk. Decision 0103.
struct UnusedHistories {
  /// As many as connections that users may have at once.
  var bounds = SharedBounds(total: .max)

  /// Those of one account, numbered as they were left.
  private struct Line {
    var names = NumberTable<String>()
    /// None has a smaller number.
    var first: UInt64 = 0
    var next: UInt64 = 0

    mutating func append(_ name: String) -> UInt64 {
      names[next] = name
      next += 1
      return next - 1
    }

    /// The name of the smallest number; each number is passed once. Nil if there is none.
    mutating func oldest() -> String? {
      while first < next {
        if let name = names[first] { return name }
        first += 1
      }
      return nil
    }
  }

  private var lines: [Account: Line] = [:]
  private var places: [String: (account: Account, number: UInt64)] = [:]

  /// One is not used any more; it is the newest of its account now.
  mutating func add(_ name: String, of account: Account) {
    forget(name)
    places[name] = (account, lines[account, default: Line()].append(name))
  }

  /// One is used again, or is not there any more.
  mutating func forget(_ name: String) {
    guard let place = places.removeValue(forKey: name) else { return }
    lines[place.account]?.names.removeValue(forKey: place.number)
    if lines[place.account]?.names.isEmpty == true { lines[place.account] = nil }
  }

  func contains(_ name: String) -> Bool { places[name] != nil }

  /// Takes out one that has to go: the oldest of the user who has most, if that is more than one may have, or if all
  /// together have more than all may. Nil if none has to.
  mutating func popExcess() -> String? {
    guard let most = lines.max(by: { $0.value.names.count < $1.value.names.count }),
      most.value.names.count > bounds.share || places.count > bounds.total,
      let name = lines[most.key]?.oldest()
    else { return nil }
    forget(name)
    return name
  }
}
