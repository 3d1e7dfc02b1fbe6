/// The times that a client keeps.
enum Schedule {
  /// How much later than the daemon's own deadline an answer may come, so that the daemon's precise error wins.
  static let grace = Duration.milliseconds(500)
  /// The pauses between attempts to reach the daemon: doubled from the first to the second, and jittered.
  static let shortestPause = Duration.milliseconds(20)
  static let longestPause = Duration.seconds(1)
  /// The longest that an announced return (`reconnect_in` of `goodbye`) is waited for.
  static let longestAnnouncement = Duration.seconds(60)
  /// How often a daemon that drains is asked again: it may go on without ending.
  static let drainPause = Duration.milliseconds(250)
  /// The pause before a subscription that was refused for now is asked for again.
  static let retryPause = Duration.milliseconds(250)
}

/// Numbers that spread attempts over time; the same seed brings the same ones (SplitMix64).
struct Jitter: Sendable {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  /// Between half of a pause and all of it.
  mutating func callAsFunction(_ pause: Duration) -> Duration {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    mixed ^= mixed >> 31
    return pause / 2 + pause / 2 * (Double(mixed >> 11) * 0x1p-53)
  }
}
