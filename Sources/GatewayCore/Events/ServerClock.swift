/// What is known of a server's clock: between which bounds its lead over the local monotonic clock lies. That clock is
/// never set, so setting the local wall clock changes nothing here.
///
/// Each sample is an interval that holds the truth; all that agree are intersected, so the one with the shortest round
/// trip decides. Nothing but the intersection is kept. It grows as time passes, because clocks drift, until a new
/// sample narrows it. Decision 0048.
struct ServerClock: Equatable, Sendable {
  /// The lead lies within `range` nanoseconds, as of an instant.
  private struct Bounds: Equatable, Sendable {
    var range: ClosedRange<Int64>
    var at: MonotonicInstant

    /// As of a later instant.
    func widened(to later: MonotonicInstant) -> Bounds {
      let elapsed = max(0, later.nanoseconds &- at.nanoseconds)
      let slack = elapsed / ServerClock.driftDivisor
      return Bounds(range: (range.lowerBound &- slack)...(range.upperBound &+ slack), at: max(at, later))
    }

    /// What both allow; nil if they contradict each other.
    func narrowed(by other: Bounds) -> Bounds? {
      guard range.overlaps(other.range) else { return nil }
      return Bounds(range: range.clamped(to: other.range), at: at)
    }

    var width: Int64 { range.upperBound &- range.lowerBound }
  }

  /// Events that contradict what is known, and agree with each other.
  private struct Late: Equatable, Sendable {
    var bounds: Bounds
    var count: Int
  }

  /// Two clocks come apart by at most the ten thousandth part of the time (100 ppm, twice what quartz is made to keep).
  private static let driftDivisor: Int64 = 10_000
  /// So many late events in a row that agree with each other were not late: the server's clock was set back.
  private static let agreeingLimit = 3

  private var bounds: Bounds?
  /// The best source of the samples that agree; nil while nothing is known.
  private(set) var source: ClockSample.Source?
  /// How many samples agree.
  private(set) var count = 0
  /// Events that seem to have been on their way for too long.
  private var late: Late?

  /// By how many nanoseconds the server's clock is ahead of the monotonic one; nil while nothing is known.
  func lead(at now: MonotonicInstant) -> ClosedRange<Int64>? { bounds?.widened(to: now).range }

  /// Takes a sample. One that contradicts what was known means that the server's clock was set, and begins afresh.
  mutating func take(_ sample: ClockSample) {
    let asTaken = Bounds(range: sample.lead, at: sample.looked.upperBound)
    guard let known = bounds?.widened(to: asTaken.at), let source else { return begin(asTaken, sample.source) }
    let fresh = asTaken.widened(to: known.at)
    guard sample.source.isExact == source.isExact else {
      // Another machine's clock perhaps: the two are never mixed.
      if sample.source.isExact || fresh.width < known.width { begin(fresh, sample.source) }
      return
    }
    if let both = known.narrowed(by: fresh) {
      (bounds, late) = (both, nil)
      self.source = sample.source == .request ? .request : source
      count &+= 1
    } else if sample.source == .event, fresh.range.upperBound < known.range.lowerBound {
      takeLate(fresh)
    } else {
      begin(fresh, sample.source)
    }
  }

  /// The server's clock was set back, or, far more often, the event was on its way for longer than a round trip.
  private mutating func takeLate(_ fresh: Bounds) {
    guard let before = late, let both = before.bounds.widened(to: fresh.at).narrowed(by: fresh) else {
      return late = Late(bounds: fresh, count: 1)
    }
    let agreeing = before.count + 1
    guard agreeing >= Self.agreeingLimit else { return late = Late(bounds: both, count: agreeing) }
    begin(both, .event)
    count = agreeing
  }

  private mutating func begin(_ fresh: Bounds, _ source: ClockSample.Source) {
    bounds = fresh
    self.source = source
    count = 1
    late = nil
  }
}
