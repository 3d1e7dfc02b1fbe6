/// When one connection may be tried next, and how often it was: what its failures, the wishes of its users, the words
/// of its server and the machine's budget come to. The keeper reads it as part of a `Health`.
struct AttemptSchedule: Equatable, Sendable {
  private(set) var backoff: Backoff
  /// Attempts started so far. Each has its number, so that its traces in `status` and in the log can be told apart.
  private(set) var generation: UInt64 = 0
  /// When the back-off allows the next attempt; nil before the first failure and after going down on purpose.
  private var nextAttempt: MonotonicInstant?
  /// The server itself asked not to be tried earlier.
  private var notBefore: MonotonicInstant?
  /// What the machine's budget says to the attempt that is due; nil until it was asked.
  private var turn: Turn?
  private var lastAttempt: MonotonicInstant?
  /// When the current channel opened; nil while there is none.
  private var openedAt: MonotonicInstant?
  private var urgency = Urgency.none

  private enum Turn: Equatable {
    /// Waits for it, known by the number of the attempt; it comes at that instant or later. May become `come`.
    case awaited(attempt: UInt64, expected: MonotonicInstant)
    /// The attempt may start.
    case come
  }

  /// While a turn is overdue the connection is looked at this often; it is told of its turn in any case.
  private static let overdueLook: Duration = .seconds(1)

  init(settings: ReconnectSettings) { backoff = Backoff(settings: settings) }

  /// A client or an administrator does not want to wait.
  mutating func hasten(_ urgency: Urgency) { self.urgency = max(self.urgency, urgency) }

  /// Whether the attempt that the keeper wants has its turn; if not, it waits for one from now on, in the round of an
  /// account. An order does not wait for one, but counts. The candidate of the attempt is called back later, never from
  /// here.
  mutating func hasTurn(
    _ budget: AttemptBudget, for account: Account, _ candidate: (_ attempt: UInt64) -> AttemptBudget.Candidate
  ) -> Bool {
    if turn == nil, budget.takeFreeTurn() { turn = .come }
    if turn != .come, urgency == .order { ordered(budget) }
    if turn == nil {
      let attempt = generation + 1
      turn = .awaited(attempt: attempt, expected: budget.wait(candidate(attempt), for: account))
    }
    return turn == .come
  }

  /// An administrator is about to start one: it does not wait for the budget, but counts.
  mutating func ordered(_ budget: AttemptBudget) {
    guard turn != .come else { return }
    budget.spend()
    turn = .come
  }

  /// The turn of an attempt comes. Whether it still waits for that and is wanted; if it is not, the next one asks anew.
  mutating func wantsTurn(_ attempt: UInt64, isWanted: Bool) -> Bool {
    guard case .awaited(attempt, _) = turn else { return false }
    if !isWanted { turn = nil }
    return isWanted
  }

  mutating func turnCame() { turn = .come }

  /// An attempt starts.
  mutating func started(at now: MonotonicInstant) {
    generation += 1
    lastAttempt = now
    nextAttempt = nil
    notBefore = nil
    turn = nil
    urgency = .none
  }

  /// It succeeded.
  mutating func opened(at now: MonotonicInstant) {
    openedAt = now
    urgency = .none
  }

  /// It failed, or the link was lost later. `fraction` is a random number in 0 ..< 1. `waitsByItself`: after a link that
  /// was lost the next attempt costs the server nothing.
  mutating func failed(
    _ failure: UpstreamFailure, at now: MonotonicInstant, fraction: Double, waitsByItself: Bool = false
  ) {
    if waitsByItself, openedAt != nil {
      endedOnPurpose(at: now)
      nextAttempt = now
      return
    }
    switch failure.reason {
    case .idle, .requested, .draining, .offline:
      endedOnPurpose(at: now)
    case .unreachable, .tls, .http, .incompatible, .refused, .kicked, .closed, .heartbeat, .timeout, .protocolError,
      .tooLarge, .auth, .fleet:
      let lasted = openedAt.map { now - $0 }
      openedAt = nil
      nextAttempt =
        now
        + backoff.failed(
          failure.reason, status: failure.status, lasted: lasted, fraction: fraction)
      notBefore = failure.retryAfter.map { now + min($0, backoff.settings.longestRetryAfter) }
    }
  }

  /// The connection was closed by us: a stable one forgets the failures before it.
  mutating func endedOnPurpose(at now: MonotonicInstant) {
    backoff.ended(lasted: openedAt.map { now - $0 })
    openedAt = nil
    nextAttempt = nil
    notBefore = nil
  }

  /// Begins anew with other settings; what was urgent still is.
  mutating func adopt(_ settings: ReconnectSettings) { backoff = Backoff(settings: settings) }

  /// Tells the keeper.
  func describe(to health: inout Health) {
    health.attempts = backoff.attempts
    health.lastAttemptAt = lastAttempt
    health.nextAttemptAt = nextAttempt
    health.notBefore = notBefore
    if case .awaited(_, let expected) = turn {
      // Later than expected: more users want some.
      health.turnAt = expected > health.now ? expected : health.now + Self.overdueLook
    }
    health.isResting = backoff.isResting
    health.urgency = urgency
  }
}
