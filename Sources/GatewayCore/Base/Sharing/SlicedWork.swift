/// Work that takes long and is asked for by users: one slice of it in each turn of the loop, in a round over users. Of one user
/// one piece is done after the other, so that only one of them holds what it needs in between.
/// Decisions 0092 and 0102.
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

  /// Whether something of an account is done or waits.
  func isBusy(for account: Account) -> Bool { waiting.hasAny(of: account) }

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
      if let next = waiting.popFirst(), !next.slice() { waiting.putBack(next, for: next.account) }
      arm()
    }
  }
}
