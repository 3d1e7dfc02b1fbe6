/// What clients that leave still hold: so much of it is given back in each turn of the loop, however many of them leave
/// at once, the first of it at once. Of one user all goes in the order in which it was given. Decision 0126.
final class Departures {
  /// Gives back the next thing, and returns what that counts; nil where none is left.
  typealias Next = () -> Int?

  private let work: SlicedWork
  /// What waits for later turns.
  private var waiting: [Account: Ring<Next>] = [:]
  /// What still goes at once in this turn, of all clients together; nil before the first.
  private var atOnce: Portion?

  /// What goes in one turn, unless its time is over before. What takes some microseconds counts one.
  static let portion = 512

  init(_ work: SlicedWork) { self.work = work }

  /// Gives back all that `next` has, which holds what it needs until then.
  func end(for account: Account, _ next: @escaping Next) {
    guard waiting[account] == nil else {
      waiting[account]?.append(next)
      return
    }
    guard !endAtOnce(next) else { return }
    waiting[account, default: Ring()].append(next)
    work.add(for: account) { [weak self] in self?.goOn(account) ?? true }
  }

  /// Returns whether that was all.
  private func endAtOnce(_ next: Next) -> Bool {
    if atOnce == nil {
      atOnce = Portion(Self.portion, work.timers)
      work.timers.after(.zero) { [weak self] in self?.atOnce = nil }
    }
    while atOnce?.takesMore() == true {
      guard let cost = next() else { return true }
      atOnce?.count(cost - 1)
    }
    return false
  }

  /// The next portion of a user. Returns whether that was the last.
  private func goOn(_ account: Account) -> Bool {
    var portion = Portion(Self.portion, work.timers)
    while portion.takesMore(), let next = waiting[account]?.first {
      if let cost = next() { portion.count(cost - 1) } else { _ = waiting[account]?.popFirst() }
    }
    guard waiting[account]?.isEmpty == true else { return false }
    waiting[account] = nil
    return true
  }
}
