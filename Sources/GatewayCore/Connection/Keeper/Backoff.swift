/// When a lost connection is tried again: exponential back-off with full jitter.
///
/// The delay before a try is drawn evenly from zero up to a bound that doubles with each failure in a row. With the
/// defaults (`base` 1 s, `cap` 30 s; while refused 30 s and 600 s) the bounds are, in seconds:
///
/// | failures in a row | 1 | 2 | 3 | 4 | 5 | 6 and more |
/// |---|---|---|---|---|---|---|
/// | lost, unreachable … | 1 | 2 | 4 | 8 | 16 | 30 |
/// | refused by the upstream | 30 | 60 | 120 | 240 | 480 | 600 |
///
/// Drawing from the whole range spreads the clients of a restarted server evenly. A server that refuses is in no hurry
/// to see us again: its delays are drawn from the upper half of the range. The counters start anew only after a
/// connection that lasted for `stable`: one that connects and drops again keeps slowing down. Refusals are counted
/// apart, so that an unreachable spell between two refusals does not hasten the next one. With `attempts` set, each
/// series of so many failures, refusals aside, is followed by `rest`, and the next series begins with `base` again.
struct Backoff: Equatable, Sendable {
  /// No delay is shorter: even the luckiest draw leaves the loop a turn.
  static let shortestDelay: Duration = .milliseconds(1)

  let settings: ReconnectSettings
  /// Failures other than refusals since the last stable connection.
  private(set) var losses = 0
  /// Refusals since the last stable connection.
  private(set) var refusals = 0

  init(settings: ReconnectSettings) { self.settings = settings }

  /// Everything that failed since the last stable connection: `attempt` in `status`.
  var attempts: Int { losses + refusals }

  /// A connection ended, for whatever reason; `lasted` is the time since its channel opened, nil when it never did.
  /// Forgets the failures before it if it was stable.
  mutating func ended(lasted: Duration?) {
    guard let lasted, lasted >= settings.stable else { return }
    losses = 0
    refusals = 0
  }

  /// The last failure ended a series of `settings.attempts`: what follows is a rest, and then the next series.
  private(set) var isResting = false

  /// An attempt failed or a link was lost. Counts it and gives the delay until the next attempt; `fraction` is a random
  /// number in 0 ..< 1.
  mutating func failed(
    _ reason: DownReason, status: Int? = nil, lasted: Duration?, fraction: Double
  ) -> Duration {
    ended(lasted: lasted)
    isResting = false
    if reason.isRefusal(status: status) {
      refusals += 1
      let bound = Self.bound(attempt: refusals, base: settings.refusedBase, cap: settings.refusedCap)
      return Self.delay(bound: bound, fraction: (1 + fraction) / 2)
    }
    losses += 1
    let position = settings.attempts > 0 ? (losses - 1) % settings.attempts + 1 : losses
    isResting = position == settings.attempts
    let bound = Self.bound(attempt: position, base: settings.base, cap: settings.cap)
    // The drawn part spreads those whose rests began together.
    return Self.delay(bound: bound, fraction: fraction) + (isResting ? settings.rest : .zero)
  }

  /// The upper bound of the delay after the n-th failure in a row (n from 1): `base` × 2ⁿ⁻¹, at most `cap`. Defined for
  /// every n; what would not fit counts as `cap`.
  static func bound(attempt: Int, base: Duration, cap: Duration) -> Duration {
    let base = max(base, .zero).nanoseconds
    let cap = max(cap, .zero).nanoseconds
    guard base > 0 else { return .zero }
    let doublings = max(attempt, 1) - 1
    // A shift that would lose bits is more than any cap.
    guard doublings < base.leadingZeroBitCount - 1 else { return .nanoseconds(cap) }
    return .nanoseconds(min(cap, base << Int64(doublings)))
  }

  /// The delay for a draw in 0 ..< 1. Draws outside are clamped.
  static func delay(bound: Duration, fraction: Double) -> Duration {
    let share = fraction > 0 ? min(fraction, 1) : 0
    let nanoseconds = Double(bound.nanoseconds) * share
    let delay: Duration = nanoseconds < 0x1p62 ? .nanoseconds(Int64(nanoseconds)) : bound
    return max(delay, shortestDelay)
  }
}

extension DownReason {
  /// Whether it is a failure of the server or of the way to it, and nothing that we or the machine wanted.
  var isFailure: Bool {
    switch self {
    case .idle, .requested, .draining, .offline: false
    case .unreachable, .tls, .http, .incompatible, .refused, .kicked, .closed, .heartbeat, .timeout, .protocolError,
      .tooLarge, .auth, .fleet:
      true
    }
  }

  /// Whether it was ordered, and holds until that is taken back.
  var isOrder: Bool { self == .requested || self == .draining }

  /// Whether what was written to a link may be why it ended so: a server that a message breaks hangs up, falls silent or
  /// talks nonsense. What the fleet, the network or we ended, no message did.
  var mayBeCausedByMessage: Bool { isFailure && self != .fleet }
}
