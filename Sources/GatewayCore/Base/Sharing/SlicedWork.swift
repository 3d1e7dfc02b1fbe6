/// Work that takes long and is asked for by users: one slice of it in each turn of the loop, in a round over users.
/// Decision 0092.
final class SlicedWork {
  private struct Piece {
    let account: Account
    /// Does the next slice. Returns whether it was the last.
    let slice: () -> Bool
  }

  private let timers: Timers
  private var waiting = UserRound<Piece>()
  private var isArmed = false

  init(_ timers: Timers) { self.timers = timers }

  /// `slice` is called until it returns true, the first time in a later turn.
  func add(for account: Account, _ slice: @escaping () -> Bool) {
    waiting.append(Piece(account: account, slice: slice), for: account)
    arm()
  }

  private func arm() {
    guard !isArmed, !waiting.isEmpty else { return }
    isArmed = true
    timers.after(.zero) { [weak self] in
      guard let self else { return }
      isArmed = false
      if let next = waiting.popFirst(), !next.slice() { waiting.append(next, for: next.account) }
      arm()
    }
  }
}
