/// On whose account something waits or is counted: one user of the machine, or the configuration.
public enum Account: Hashable, Sendable {
  case user(UInt32)
  /// What the configuration asks for and all users share, such as a configured upstream with its own namespace.
  case configuration
}

/// What all users together may have of something, and one of them, so that none can use up what others need. For sums
/// that are kept elsewhere; where there are none, `SharedLimit` keeps them.
public struct SharedBounds: Equatable, Sendable {
  var total: Int
  var share: Int

  /// Which of the two would be exceeded.
  public enum Overrun: Error, Equatable, Sendable {
    /// What one may have.
    case share(Int)
    /// What all may have.
    case total(Int)
  }

  init(total: Int, share: Int) { (self.total, self.share) = (total, share) }

  /// For a setting that says what all may have: one may have half of it.
  init(total: Int) { self.init(total: total, share: max(1, total / 2)) }

  /// For a setting that says what one may have: all may have twice as much.
  init(share: Int) {
    let (twice, overflow) = share.multipliedReportingOverflow(by: 2)
    self.init(total: overflow ? .max : twice, share: share)
  }

  /// Whether one who has `own`, of `all` that there is, may have so much more.
  @inline(__always)
  func check(_ more: Int, own: Int, all: Int) throws(Overrun) {
    guard more <= share - own else { throw .share(share) }
    guard more <= total - all else { throw .total(total) }
  }
}

/// A limit that users share, with what each of them has.
///
/// To be used wherever a number or a sum of bytes is bounded over several users: one value for each thing that is
/// bounded. `take` before something begins; it takes nothing when it throws. `giveBack` the same amount, once, for the
/// same account, when it is over. `count` is for what is there whatever the limits say, such as what an earlier daemon
/// had accepted. A reload sets other `bounds`; what is counted stays. The user that was counted last is remembered
/// apart, so that a series of one user costs no look-up. Decision 0094.
struct SharedLimit {
  var bounds: SharedBounds
  /// What all have together.
  private(set) var used = 0

  /// Of everybody but `recent`; none has nothing.
  private var amounts: [Account: Int] = [:]
  private var recent = Account.configuration
  private var ofRecent = 0

  typealias Overrun = SharedBounds.Overrun

  init(_ bounds: SharedBounds) { self.bounds = bounds }
  init(total: Int) { self.init(SharedBounds(total: total)) }
  init(share: Int) { self.init(SharedBounds(share: share)) }

  var total: Int { bounds.total }
  var share: Int { bounds.share }

  /// Other bounds; what is counted stays.
  mutating func adopt(_ other: SharedLimit) { bounds = other.bounds }

  /// What one has.
  @inline(__always)
  func used(by account: Account) -> Int {
    account == recent ? ofRecent : amounts[account] ?? 0
  }

  /// What each has.
  var all: [(account: Account, amount: Int)] {
    amounts.map { ($0.key, $0.value) } + [(recent, ofRecent)]
  }

  /// Whether one may have so much more.
  @inline(__always)
  func check(_ amount: Int = 1, for account: Account) throws(SharedBounds.Overrun) {
    try bounds.check(amount, own: used(by: account), all: used)
  }

  /// The same where this one may have another share than the others.
  func check(_ amount: Int = 1, for account: Account, share: Int) throws(SharedBounds.Overrun) {
    try SharedBounds(total: bounds.total, share: share).check(amount, own: used(by: account), all: used)
  }

  /// Counts so much more, or nothing and says why.
  mutating func take(_ amount: Int = 1, for account: Account) throws(SharedBounds.Overrun) {
    try check(amount, for: account)
    count(amount, for: account)
  }

  /// Counts so much more, whatever the limits say.
  mutating func count(_ amount: Int = 1, for account: Account) {
    remember(account)
    ofRecent += amount
    used += amount
  }

  /// So much is over.
  mutating func giveBack(_ amount: Int = 1, for account: Account) {
    remember(account)
    ofRecent -= amount
    used -= amount
  }

  private mutating func remember(_ account: Account) {
    guard account != recent else { return }
    if ofRecent != 0 { amounts[recent] = ofRecent }
    recent = account
    ofRecent = amounts.removeValue(forKey: account) ?? 0
  }
}
