/// What ends for many at once at one place, such as a connection: so much of it in each turn of the loop, the first of it
/// at once, and all of it in the order in which it was given. Decision 0126.
final class Endings {
  /// Ends the next one, and returns what that counts; nil where none is left.
  typealias Next = () -> Int?

  private let work: SlicedWork
  private let account: Account
  private var batches = Ring<Next>()
  /// Some end now, or are going to in later turns.
  private var isBusy = false
  /// Told when all that was left for later turns has ended. Set by the owner, once.
  var onOver: (() -> Void)?

  /// What ends in one turn. The outcome of a call counts one, what takes longer counts more: some milliseconds.
  static let portion = 1_000

  init(_ work: SlicedWork, for account: Account) {
    self.work = work
    self.account = account
  }

  /// Nothing waits for its end.
  var isEmpty: Bool { batches.isEmpty }

  /// Ends all that `next` has, behind what was given before. It has to hold what it needs until then.
  func end(_ next: @escaping Next) {
    batches.append(next)
    guard !isBusy else { return }
    isBusy = true
    guard !endPortion() else { return }
    work.add(for: account) { [self] in
      let isOver = endPortion()
      if isOver { onOver?() }
      return isOver
    }
  }

  /// Ends at once what is left: there will be no later turn.
  func finish() {
    while let next = batches.first { while next() != nil {}; _ = batches.popFirst() }
  }

  /// Returns whether that was all.
  private func endPortion() -> Bool {
    var left = Self.portion
    while left > 0, let next = batches.first {
      if let cost = next() { left -= cost } else { _ = batches.popFirst() }
    }
    isBusy = !batches.isEmpty
    return !isBusy
  }
}
