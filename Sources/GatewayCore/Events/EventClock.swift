/// The clock that gives the events of one connection their `time`: the server's where it is known well enough, else the
/// local wall clock. Within an epoch it never runs backwards; what would is told as the last time again.
struct EventClock: Equatable, Sendable {
  /// What is known of the server's clock, for `status`. Milliseconds.
  struct Estimate: Equatable, Sendable {
    /// The server's clock minus the local wall clock.
    var offset: Int64
    /// The truth is at most so far from it, either way.
    var error: Int64
    var samples: Int
    var source: ClockSample.Source
    /// Whether the `time` of events follows it.
    var isFollowed: Bool
  }

  private var server = ServerClock()
  private var tolerance: Int64
  /// The local clock was found to be wrong, and has not come back into the server's bounds since.
  private var followsDate = false
  private var last = Int64.min

  init(_ settings: ServerTimeSettings) { tolerance = settings.tolerance.nanoseconds }

  /// The settings changed, and perhaps the server with them: nothing is known of its clock any more.
  mutating func adopt(_ settings: ServerTimeSettings) {
    server = ServerClock()
    followsDate = false
    tolerance = settings.tolerance.nanoseconds
  }

  /// Takes a look at the server's clock into account.
  mutating func take(_ sample: ClockSample) {
    server.take(sample)
    // What was found about the local clock, was found by another server's clock.
    if server.count == 1 { followsDate = false }
  }

  /// Events from here on are not ordered with those before.
  mutating func beginEpoch() { last = .min }

  /// Goes on with an epoch whose last event had this time.
  mutating func resume(after time: Int64) { last = max(last, time) }

  /// The time of an event that arrives now, in milliseconds since 1970.
  mutating func stamp(wall: Int64, now: MonotonicInstant) -> Int64 {
    let time = server.source == nil ? wall : follow(wall, now).map { Self.middle(of: $0, now) } ?? wall
    last = max(last, time)
    return last
  }

  /// Nil while nothing is known.
  func estimate(wall: Int64, now: MonotonicInstant) -> Estimate? {
    guard let lead = server.lead(at: now), let source = server.source else { return nil }
    var copy = self
    let width = lead.upperBound &- lead.lowerBound
    return Estimate(
      offset: Self.middle(of: lead, now) &- wall, error: (width / 2 &+ 999_999) / 1_000_000, samples: server.count,
      source: source, isFollowed: copy.follow(wall, now) != nil)
  }

  /// The bounds of the server's lead, if they are to be followed. A `Date` header overrules the local clock only if
  /// that is out by more than the tolerance, and then until it is right again.
  private mutating func follow(_ wall: Int64, _ now: MonotonicInstant) -> ClosedRange<Int64>? {
    guard let source = server.source, let lead = server.lead(at: now) else { return nil }
    guard !source.isExact else { return lead }
    let local = wall.multipliedReportingOverflow(by: 1_000_000).partialValue &- now.nanoseconds
    let distance = max(0, lead.lowerBound &- local, local &- lead.upperBound)
    followsDate = distance > (followsDate ? 0 : tolerance)
    return followsDate ? lead : nil
  }

  private static func middle(of lead: ClosedRange<Int64>, _ now: MonotonicInstant) -> Int64 {
    let middle = lead.lowerBound &+ (lead.upperBound &- lead.lowerBound) / 2
    return (middle &+ now.nanoseconds) / 1_000_000
  }
}
