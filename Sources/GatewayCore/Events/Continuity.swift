/// How a stream's conversations with its server follow each other: whether the next one goes on with the present epoch,
/// and whether the present one went on with the last.
struct Continuity {
  /// What the present epoch has behind it.
  enum Phase: Equatable {
    /// No conversation with the server yet: the first one begins nothing new. May become `conversing`.
    case fresh
    /// Events may come. May become `interrupted`.
    case conversing
    /// The conversation has ended, perhaps with an earlier daemon: unless the server goes on where it was left, the
    /// epoch ends when the next one begins. May become `conversing`, or `fresh` with a new epoch.
    case interrupted
  }

  /// Which epoch a conversation belongs to.
  enum Epoch { case present, next }

  private(set) var phase = Phase.fresh
  /// Whether the present conversation goes on where the last one ended, so that nothing was missed.
  private(set) var isContinued = false
  /// Whether there has been a conversation with the server since this daemon was started.
  private(set) var hasConversed = false
  /// By the places that the link gives something is missing since the last conversation ended, or before it began.
  private var hasMissed = false

  /// A conversation begins. `isRecovered`: the server says that it goes on where the last one ended.
  mutating func begin(isRecovered: Bool) -> Epoch {
    let epoch = phase == .fresh || isRecovered ? Epoch.present : .next
    begin(isContinued: isRecovered)
    return epoch
  }

  /// The same where the places that the link gives say which epoch is the present one, and what is missing of it.
  mutating func beginByPlaces() { begin(isContinued: phase != .fresh && !hasMissed) }

  private mutating func begin(isContinued: Bool) {
    self.isContinued = isContinued
    phase = .conversing
    hasConversed = true
  }

  /// The conversation has ended, if there was one.
  mutating func end() {
    guard phase == .conversing else { return }
    phase = .interrupted
    hasMissed = false
  }

  /// By the places that the link gives something is missing.
  mutating func miss() { hasMissed = true }

  /// What has a past that the next conversation does not go on with, unless the server says so: that of an earlier
  /// daemon, or of links that gave places.
  mutating func inheritPast() { phase = .interrupted }

  /// An epoch begins. What was said in the last one is behind it; a conversation goes on within it.
  mutating func beginEpoch() { if phase == .interrupted { phase = .fresh } }
}
