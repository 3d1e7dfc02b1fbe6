/// What `[quota]` lets each user have. What is counted elsewhere, such as clients, connections and entries of the
/// outbox, is compared there with what `quota` says; rates and subscriptions are counted here. Decision 0113.
final class UserQuotas {
  private struct Rates {
    var sends: TokenBucket
    var bytes: TokenBucket
    /// Those that the user had when it sent last.
    var quota: Quota
  }

  private var quotas: Quotas
  private let time: any TimeSource
  /// Of users that have sent something in the last second, where rates are bounded.
  private var rates: [UInt32: Rates] = [:]
  /// How many each user has over all clients.
  private(set) var subscriptions = SharedLimit(SharedBounds(total: .max, share: .max))
  /// Told which user was refused something, and by which quota.
  var onRefusal: ((_ user: UInt32, _ quota: String) -> Void)?
  /// Grows whenever others hold.
  private(set) var generation: UInt64 = 0
  /// Whether sends are counted at all.
  private(set) var limitsRates: Bool

  init(_ quotas: Quotas, _ time: any TimeSource) {
    self.quotas = quotas
    self.time = time
    limitsRates = quotas.hasRates
  }

  /// Others hold from now on; what is counted stays.
  func adopt(_ quotas: Quotas) {
    self.quotas = quotas
    generation += 1
    limitsRates = quotas.hasRates
    if !limitsRates { rates = [:] }
  }

  /// What a user may have. An administrator is not bounded by quotas, but by `[limits]` as before.
  func quota(of identity: AccessIdentity, by access: AccessPolicy) -> Quota {
    quotas.isEmpty || access.isAdministrator(identity) ? Quota() : quotas.quota(of: identity)
  }

  // MARK: - Rates

  /// Counts sends that go together, or says when they may be sent and counts nothing.
  func take(_ count: Int = 1, bytes: Int, for user: UInt32, _ quota: Quota) throws(LocalError) {
    guard quota.sends != nil || quota.bytes != nil else { return }
    let now = time.now
    let (sendRate, byteRate) = (quota.sends ?? .max, quota.bytes ?? .max)
    var own =
      rates[user]
      ?? Rates(
        sends: TokenBucket(rate: sendRate, now: now), bytes: TokenBucket(rate: byteRate, now: now), quota: quota)
    let waits = (
      own.sends.wait(for: count, rate: sendRate, now: now), own.bytes.wait(for: bytes, rate: byteRate, now: now)
    )
    own.quota = quota
    defer { rates[user] = own }
    if max(waits.0, waits.1) > .zero {
      let (name, rate) = waits.0 > .zero ? ("sends", sendRate) : ("bytes", byteRate)
      onRefusal?(user, name)
      throw .rateExceeded(name, rate, after: max(waits.0, waits.1))
    }
    own.sends.take(count)
    own.bytes.take(bytes)
  }

  /// A send that was counted failed at once.
  func giveBack(_ bytes: Int, for user: UInt32) {
    rates[user]?.sends.take(-1)
    rates[user]?.bytes.take(-bytes)
  }

  /// Forgets users that have sent nothing for a while. To be called now and then.
  func tick() {
    guard !rates.isEmpty else { return }
    let now = time.now
    for (user, var own) in rates {
      let isOwedNothing =
        own.sends.isFull(rate: own.quota.sends ?? .max, now: now)
        && own.bytes.isFull(rate: own.quota.bytes ?? .max, now: now)
      if isOwedNothing { rates[user] = nil }
    }
  }

  // MARK: - Subscriptions

  /// Whether a user may have one more.
  func checkSubscriptions(of user: UInt32, _ quota: Quota) throws(LocalError) {
    guard let limit = quota.subscriptions, subscriptions.used(by: .user(user)) >= limit else { return }
    throw refuse(user, "subscriptions", limit, "subscriptions; give some back with `unsubscribe`")
  }

  /// A user has as much of something as it may have: the error for the caller, after it was told for the log.
  func refuse(_ user: UInt32, _ quota: String, _ limit: Int, _ what: String) -> LocalError {
    onRefusal?(user, quota)
    return .quotaExceeded(quota, limit, what)
  }

  func countSubscription(for account: Account) { subscriptions.count(for: account) }
  func giveBackSubscription(for account: Account) { subscriptions.giveBack(for: account) }
}

extension LocalError {
  /// After how many milliseconds to try again where nothing says when there is room.
  private static let usualRetry = 1_000

  /// A user has as much of something as `[quota]` allows.
  static func quotaExceeded(_ quota: String, _ limit: Int, _ what: String) -> LocalError {
    LocalError(
      .quotaExceeded, "This user has \(limit) \(what) (`quota.\(quota)`).", facts(quota, limit, retryAfter: usualRetry))
  }

  /// A user sends faster than `[quota]` allows.
  static func rateExceeded(_ quota: String, _ limit: Int, after wait: Duration) -> LocalError {
    let milliseconds = Int(clamping: (wait.nanoseconds + 999_999) / 1_000_000)
    return LocalError(
      .quotaExceeded,
      "This user may send \(limit)\(quota == "bytes" ? " bytes" : "") a second (`quota.\(quota)`): it was not sent; try again in \(milliseconds) ms.",
      facts(quota, limit, retryAfter: milliseconds))
  }

  private static func facts(_ quota: String, _ limit: Int, retryAfter: Int) -> [Fact] {
    [
      .init("quota", .string(quota)), .init("limit", .integer(limit)), .init("share", .integer(limit)),
      .init("retry_after", .integer(retryAfter)),
    ]
  }
}
