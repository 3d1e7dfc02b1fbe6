/// What waits for a turn, in a round over users instead of one line: a user who has many waiting gets one turn, then
/// everybody else does. Of one user the first that came is the first that goes. Adding and taking cost the same however
/// many wait.
///
/// To be used wherever users wait for something of which there is one, or so much per second. Decision 0094.
public struct UserRound<Element> {
  private var lines: [Account: Ring<Element>] = [:]
  /// The users that have something waiting; the first one's turn is the next.
  private var order = Ring<Account>()
  private(set) var count = 0

  public init() {}

  var isEmpty: Bool { count == 0 }

  /// Adds one behind what else waits for its account.
  public mutating func append(_ element: consuming Element, for account: Account) {
    if lines[account] == nil { order.append(account) }
    lines[account, default: Ring()].append(element)
    count += 1
  }

  /// Puts back what was taken out, in front of what else waits for its account; the account's turn is behind the
  /// others'.
  mutating func putBack(_ element: consuming Element, for account: Account) {
    if lines[account] == nil { order.append(account) }
    lines[account, default: Ring()].prepend(element)
    count += 1
  }

  /// Whether one has anything waiting.
  func hasAny(of account: Account) -> Bool { lines[account] != nil }

  /// Takes out the element whose turn is the next.
  public mutating func popFirst() -> Element? {
    guard let account = order.popFirst(), let element = lines[account]?.popFirst() else { return nil }
    if lines[account]?.count == 0 { lines[account] = nil } else { order.append(account) }
    count -= 1
    return element
  }

  /// Takes out what does not wait any more; no user loses a place by it. Looks at all.
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

  /// The same of one user: looks at what that one has alone.
  mutating func removeAll(of account: Account, where isMeant: (Element) -> Bool) {
    guard var line = lines.removeValue(forKey: account) else { return }
    count -= line.count
    for _ in 0..<line.count {
      if let element = line.popFirst(), !isMeant(element) { line.append(element) }
    }
    count += line.count
    guard line.isEmpty else { return lines[account] = line }
    for _ in 0..<order.count {
      if let next = order.popFirst(), next != account { order.append(next) }
    }
  }

  /// About how many go before one that would be added now, unless further users come.
  func ahead(of account: Account) -> Int {
    let own = lines[account]?.count ?? 0
    guard own > 0 else {
      // The others' first ones.
      return lines.count
    }
    return lines.reduce(0) { $0 + ($1.key == account ? own : min($1.value.count, own + 1)) }
  }
}

/// Work that takes long and is asked for by users: one slice of it in each turn of the loop, in a round over users. Of
/// one user one piece is done after the other, so that only one of them holds what it needs in between. Decisions 0092
/// and 0102.
final class SlicedWork {
  private struct Piece {
    let account: Account
    /// Does the next slice. Returns whether it was the last.
    let slice: () -> Bool
  }

  let timers: Timers
  private var waiting = UserRound<Piece>()
  private var isArmed = false

  init(_ timers: Timers) { self.timers = timers }

  /// Whether something of an account is done or waits.
  func isBusy(for account: Account) -> Bool { waiting.hasAny(of: account) }

  /// `slice` is called until it returns true, the first time in a later turn.
  func add(for account: Account, _ slice: @escaping () -> Bool) {
    waiting.append(Piece(account: account, slice: slice), for: account)
    arm()
  }

  /// The same, the first time at once.
  func begin(for account: Account, _ slice: @escaping () -> Bool) {
    if !slice() { add(for: account, slice) }
  }

  /// Does something to many, so many of them at most in each turn, the first of them in this one; and then `done`. Where
  /// `isOver` says so the others are left out.
  func forEach<Element>(
    of elements: some Sequence<Element>, portion: Int, for account: Account,
    until isOver: @escaping () -> Bool = { false }, _ body: @escaping (Element) -> Void,
    then done: @escaping () -> Void = {}
  ) {
    let rest = Snapshot(elements, self, for: account)
    begin(for: account) { [timers] in
      var portion = Portion(portion, timers)
      let isDone = { rest.isEmpty || isOver() }
      while !isDone(), portion.takesMore(), let next = rest.next() { body(next) }
      guard isDone() else { return false }
      done()
      return true
    }
  }

  private func arm() {
    guard !isArmed, !waiting.isEmpty else { return }
    isArmed = true
    timers.after(.zero) { [weak self] in
      guard let self else { return }
      isArmed = false
      if let next = waiting.popFirst(), !next.slice() { waiting.putBack(next, for: next.account) }
      arm()
    }
  }
}

extension SlicedWork {
  /// So few are freed at once.
  private static var fewElements: Int { 16 }

  /// Frees what is not wanted any more: of a long queue one portion in each turn.
  func release<Element>(_ queue: consuming Ring<Element>, for account: Account) {
    guard queue.count > Self.fewElements else { return }
    var rest = queue
    add(for: account) { [timers] in
      var portion = Portion(Ring<Element>.blockSize, timers)
      while portion.takesMore(), rest.popFirst() != nil {}
      return rest.isEmpty
    }
  }

  /// The same of one with tombstones.
  func release<Element>(_ queue: consuming TombstoneQueue<Element>, for account: Account) {
    guard queue.count > Self.fewElements else { return }
    var rest = queue
    add(for: account) { [timers] in
      var portion = Portion(Ring<Element>.blockSize, timers)
      while portion.takesMore(), rest.popFirst() != nil {}
      return rest.isEmpty
    }
  }
}
