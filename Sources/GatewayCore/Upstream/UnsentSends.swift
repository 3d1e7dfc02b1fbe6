/// Which user's the bytes are that a link has not taken, in the order in which they were written. A configured upstream
/// belongs to no user, and so does what waits for it; with this each user's sends count for that user.
final class UnsentSends {
  /// What one user wrote in a row.
  private struct Run {
    var account: Account
    var bytes: Int
    /// Whether it counts for the user in the memory for all sends, and not for the link's account.
    var isCounted: Bool
  }

  /// What an uncongested link holds for a moment is not counted for its users: most links hold little, and nothing for
  /// long.
  private static let freeBytes = 64 << 10

  private let budget: MemoryBudget
  private var runs = Ring<Run>()
  private var newest: Run?
  /// Bytes of the first run that were taken.
  private var spent = 0
  private var held = SharedLimit(total: .max)
  /// Bytes that count for users.
  private(set) var counted = 0
  /// How it is looked, for as long as bytes count for users, what the link has taken of them, also if nothing follows
  /// them.
  private var watch: (timers: Timers, unsent: () -> Int)?
  private var isWatching = false
  private static let watchInterval: Duration = .milliseconds(100)

  init(_ budget: MemoryBudget) { self.budget = budget }

  deinit { taken(downTo: 0) }

  /// `unsent` says how many bytes the link holds. It is asked only while this object is there.
  func watch(_ timers: Timers, unsent: @escaping () -> Int) { watch = (timers, unsent) }

  private func look() {
    guard !isWatching, let watch else { return }
    isWatching = true
    watch.timers.after(Self.watchInterval) { [weak self] in
      guard let self else { return }
      isWatching = false
      taken(downTo: watch.unsent())
      if counted > 0 { look() }
    }
  }

  /// What counts as one user's of so many bytes that the link has not taken: all of them where no other user is known
  /// to have written some.
  func bytes(of account: Account, ofAll unsent: Int) -> Int {
    taken(downTo: unsent)
    let own = held.used(by: account)
    return own == held.used ? unsent : own
  }

  /// A user's message is about to be written.
  func wrote(_ bytes: Int, for account: Account) {
    let isCounted = held.used > Self.freeBytes
    if let run = newest, run.account == account, run.isCounted == isCounted {
      newest?.bytes += bytes
    } else {
      if let newest { runs.append(newest) }
      newest = Run(account: account, bytes: bytes, isCounted: isCounted)
    }
    held.count(bytes, for: account)
    guard isCounted else { return }
    count(bytes, for: account)
    look()
  }

  /// The link holds no more than so many bytes by now.
  func taken(downTo unsent: Int) {
    while held.used > unsent, let run = runs.first ?? newest {
      let part = min(run.bytes - spent, held.used - unsent)
      held.giveBack(part, for: run.account)
      if run.isCounted { count(-part, for: run.account) }
      spent += part
      guard spent == run.bytes else { return }
      spent = 0
      if runs.popFirst() == nil { newest = nil }
    }
  }

  /// The link's own account has what it holds already.
  private func count(_ bytes: Int, for account: Account) {
    counted += bytes
    budget.move(bytes, from: .configuration, to: account)
  }
}
