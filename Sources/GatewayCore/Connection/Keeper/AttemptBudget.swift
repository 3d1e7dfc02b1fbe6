/// How many attempts the whole machine may start: a token bucket that hands out turns. While it is empty attempts
/// wait in a round over users, so that a user of many connections does not hold up another's. Decisions 0024 and 0094.
final class AttemptBudget {
  /// An attempt that waits for a turn.
  struct Candidate {
    /// Whether the attempt is still wanted; if not, the next one gets the turn.
    let isWanted: () -> Bool
    /// The turn has come.
    let start: () -> Void
  }

  private let time: any TimeSource
  private let timers: Timers
  private var spacing: Duration
  private var burst: Int
  /// When the bucket would be full again if no attempt followed.
  private var fullAt: MonotonicInstant?
  private var waiting = UserRound<Candidate>()
  /// The timer for the next turn.
  private var timer: Timers.ID?

  init(_ limits: Limits, time: any TimeSource, timers: Timers) {
    self.time = time
    self.timers = timers
    spacing = Self.spacing(limits)
    burst = limits.attemptsBurst
  }

  /// New limits, from the next turn on.
  func adopt(_ limits: Limits) {
    spacing = Self.spacing(limits)
    burst = limits.attemptsBurst
    timers.cancel(timer)
    timer = nil
    arm()
  }

  /// Takes a turn that is free now; false if there is none, or others wait.
  func takeFreeTurn() -> Bool {
    guard waiting.isEmpty, nextTurn <= time.now else { return false }
    spend()
    return true
  }

  /// Counts an attempt that does not wait for a turn.
  func spend() { fullAt = max(fullAt ?? time.now, time.now) + spacing }

  /// Waits for a turn. Returns when it comes, unless others with fewer attempts want some meanwhile.
  func wait(_ candidate: Candidate, for account: Account) -> MonotonicInstant {
    let expected = nextTurn + spacing * waiting.ahead(of: account)
    waiting.append(candidate, for: account)
    arm()
    return expected
  }

  /// What an account has waiting and does not want any more leaves the line.
  func forgetUnwanted(of account: Account) { waiting.removeAll(of: account) { !$0.isWanted() } }

  /// When the next turn is free: now, or when one of the `burst` that were taken has come back.
  private var nextTurn: MonotonicInstant {
    let now = time.now
    return max(now, max(fullAt ?? now, now) + spacing * (1 - burst))
  }

  private func arm() {
    guard timer == nil, !waiting.isEmpty else { return }
    timer = timers.at(nextTurn) { [weak self] in self?.handOut() }
  }

  private func handOut() {
    timer = nil
    while !waiting.isEmpty, nextTurn <= time.now, let next = waiting.popFirst() {
      guard next.isWanted() else { continue }
      spend()
      next.start()
    }
    arm()
  }

  private static func spacing(_ limits: Limits) -> Duration { .nanoseconds(1_000_000_000 / Int64(limits.attempts)) }
}
