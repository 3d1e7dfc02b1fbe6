/// How many attempts the whole machine may start: a token bucket that hands out turns. Who comes when it is empty gets
/// the next free instant, so that the order is the one of asking and nobody has to ask again.
final class AttemptBudget {
  private var spacing: Duration
  private var burst: Int
  /// When the bucket would be full again if nobody asked any more.
  private var fullAt: MonotonicInstant?

  init(_ limits: Limits) {
    spacing = Self.spacing(limits)
    burst = limits.attemptsBurst
  }

  /// New limits; turns that were handed out stay.
  func adopt(_ limits: Limits) {
    spacing = Self.spacing(limits)
    burst = limits.attemptsBurst
  }

  /// Takes one attempt out of the bucket and returns when it may start: now, or the next turn that nobody has.
  func takeTurn(at now: MonotonicInstant) -> MonotonicInstant {
    let full = max(fullAt ?? now, now)
    fullAt = full + spacing
    // With `burst` attempts taken at once the next one waits until one of them has come back.
    return max(now, full + spacing * (1 - burst))
  }

  private static func spacing(_ limits: Limits) -> Duration { .nanoseconds(1_000_000_000 / Int64(limits.attempts)) }
}
