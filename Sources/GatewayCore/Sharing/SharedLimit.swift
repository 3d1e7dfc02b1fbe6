/// A limit that users share: all of them together may have so much, and one of them half of it, so that nobody can use up
/// what others need.
///
/// To be used wherever a number or a sum of bytes is bounded over several users: one value for each thing that is bounded.
/// `init(total:)` is for a setting that says what all may have; `init(share:)` for one that says what one may have, of which
/// all together get twice as much. `take` before something begins; it takes nothing when it throws. `giveBack` the same
/// amount, once, for the same account, when it is over. `count` is for what is there whatever the limits say, such as what
/// an earlier daemon had accepted. Whoever was counted last is remembered apart, so that a series of one user costs no
/// look-up. A value of a reload is given by `adopt`; what is counted stays.
public struct SharedLimit {
  /// What all together may have, and what one may have of it.
  public private(set) var total: Int
  public private(set) var share: Int
  /// What all have together.
  public private(set) var used = 0

  /// Of everybody but `recent`; none has nothing.
  private var amounts: [Account: Int] = [:]
  private var recent = Account.configuration
  private var ofRecent = 0

  /// Which of the two would be exceeded.
  public enum Overrun: Error, Equatable, Sendable {
    /// What one may have.
    case share(Int)
    /// What all may have.
    case total(Int)
  }

  /// All together may have so much, one half of it.
  public init(total: Int) {
    self.total = total
    share = max(1, total / 2)
  }

  /// One may have so much, all together twice as much.
  public init(share: Int) {
    self.share = share
    total = Self.twice(share)
  }

  /// Other limits, of the same kind.
  public mutating func adopt(_ other: SharedLimit) { (total, share) = (other.total, other.share) }

  /// What one has.
  public func used(by account: Account) -> Int {
    account == recent ? ofRecent : amounts[account] ?? 0
  }

  /// Whether one may have so much more, if `freed` of its own goes.
  public func check(_ amount: Int = 1, for account: Account, freeing freed: Int = 0) throws(Overrun) {
    guard amount - freed <= share - used(by: account) else { throw .share(share) }
    guard amount - freed <= total - used else { throw .total(total) }
  }

  /// Counts so much more, or nothing and says why.
  public mutating func take(_ amount: Int = 1, for account: Account) throws(Overrun) {
    try check(amount, for: account)
    count(amount, for: account)
  }

  /// Counts so much more, whatever the limits say.
  public mutating func count(_ amount: Int = 1, for account: Account) {
    remember(account)
    ofRecent += amount
    used += amount
  }

  /// So much is over.
  public mutating func giveBack(_ amount: Int = 1, for account: Account) {
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

  private static func twice(_ share: Int) -> Int {
    let (twice, overflow) = share.multipliedReportingOverflow(by: 2)
    return overflow ? .max : twice
  }
}
