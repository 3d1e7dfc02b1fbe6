/// What waits for a turn, in a round over users instead of one line: whoever has many waiting gets one turn, then everybody
/// else does. Of one user the first that came is the first that goes. Adding and taking cost the same however many wait.
///
/// To be used wherever users wait for something of which there is one, or so much per second. Decision 0094.
public struct UserRound<Element> {
  private var lines: [Account: Ring<Element>] = [:]
  /// Those who have something waiting; the first one's turn is the next.
  private var order = Ring<Account>()
  public private(set) var count = 0

  public init() {}

  public var isEmpty: Bool { count == 0 }

  public mutating func append(_ element: consuming Element, for account: Account) {
    if lines[account] == nil { order.append(account) }
    lines[account, default: Ring()].append(element)
    count += 1
  }

  /// Puts back what was taken out, in front of what else waits for its account; the account's turn is behind the others'.
  mutating func putBack(_ element: consuming Element, for account: Account) {
    if lines[account] == nil { order.append(account) }
    lines[account, default: Ring()].prepend(element)
    count += 1
  }

  /// Whether one has anything waiting.
  func hasAny(of account: Account) -> Bool { lines[account] != nil }

  /// Takes out whose turn is the next.
  public mutating func popFirst() -> Element? {
    guard let account = order.popFirst(), let element = lines[account]?.popFirst() else { return nil }
    if lines[account]?.count == 0 { lines[account] = nil } else { order.append(account) }
    count -= 1
    return element
  }

  /// Takes out what does not wait any more; nobody loses a place by it. Looks at all.
  public mutating func removeAll(where isMeant: (Element) -> Bool) {
    var rest = UserRound()
    for offset in 0..<order.count {
      guard let account = order[offset], let line = lines[account] else { continue }
      for place in 0..<line.count {
        if let element = line[place], !isMeant(element) { rest.append(element, for: account) }
      }
    }
    self = rest
  }

  /// About how many go before one that would be added now, unless further users come.
  public func ahead(of account: Account) -> Int {
    let own = lines[account]?.count ?? 0
    guard own > 0 else {
      // The others' first ones.
      return lines.count
    }
    return lines.reduce(0) { $0 + ($1.key == account ? own : min($1.value.count, own + 1)) }
  }
}
