/// What speaks against a command: links that broke while it was under way. One is chance; from the second on it may be
/// the reason, and would take the link from all users again. It then waits until nothing else is under way on the link,
/// and is tried alone, after pauses that grow. Decision 0089.
struct Suspicion: Equatable {
  /// Links that broke while it was under way.
  private(set) var breaks = 0
  /// When it may be tried next; nil before the first break.
  private(set) var due: MonotonicInstant?

  /// From so many breaks on it is suspected.
  static let threshold = 2
  /// The pause before it is tried alone for the first time; each next one is `pauseFactor` times as long.
  static let firstPause: Duration = .seconds(1)
  static let pauseFactor = 5
  static let longestPause: Duration = .seconds(300)
  /// How long it waits beyond its pause for a moment at which nothing else is under way: on a link that never rests it
  /// would be refused for ever, and may be innocent.
  static let patience: Duration = .seconds(60)
  /// How often it is looked for such a moment.
  static let look: Duration = .milliseconds(50)

  /// As it is after a restart of the daemon or on another connection, with the pauses from the first one on.
  static func known(at now: MonotonicInstant) -> Suspicion {
    Suspicion(breaks: threshold, due: now + pause(after: threshold))
  }

  var isSuspected: Bool { breaks >= Self.threshold }

  mutating func linkBroke(at now: MonotonicInstant) {
    breaks += 1
    due = now + Self.pause(after: breaks)
  }

  /// The pause after so many breaks: 1 s after the second, then 5 s, 25 s, 125 s, and 300 s from there on.
  static func pause(after breaks: Int) -> Duration {
    guard breaks >= threshold else { return .zero }
    var pause = firstPause
    for _ in threshold..<min(breaks, threshold + 8) { pause = min(pause * pauseFactor, longestPause) }
    return pause
  }
}
