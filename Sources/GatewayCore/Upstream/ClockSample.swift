/// One look at a server's clock, whatever kind of upstream it came from: what the clock showed, and when the server can
/// have looked at it. Both are intervals; the narrower they are, the more the sample says.
struct ClockSample: Equatable, Sendable {
  /// Where it comes from. The raw values are the `source` of `status`.
  enum Source: String, CaseIterable, Sendable {
    /// The `Date` header of the handshake: whole seconds, perhaps of a machine in front of the server.
    case date
    /// An event by which the server told its time unasked. How long it was on its way is not known.
    case event
    /// An answer to a question of ours.
    case request

    /// Whether it tells the time well enough to be followed without further ado.
    var isExact: Bool { self != .date }
  }

  var source: Source
  /// The server's clock, in nanoseconds since 1970.
  private(set) var shown: ClosedRange<Int64>
  /// When the server looked at it.
  private(set) var looked: ClosedRange<MonotonicInstant>

  /// 1970 to 2200, in nanoseconds.
  static let plausible: ClosedRange<Int64> = 0...7_258_118_400_000_000_000
  /// Instants of the local monotonic clock that can be reckoned with: some 120 years.
  private static let reckonable: ClosedRange<Int64> = -1_000_000_000_000_000_000...4_000_000_000_000_000_000

  /// Nil for a time before 1970 or after 2200, and for a look that would have ended before it began.
  init?(
    _ source: Source, shown: ClosedRange<Int64>, notBefore earliest: MonotonicInstant, notAfter latest: MonotonicInstant
  ) {
    guard Self.plausible.contains(shown.lowerBound), Self.plausible.contains(shown.upperBound), earliest <= latest,
      Self.reckonable.contains(earliest.nanoseconds), Self.reckonable.contains(latest.nanoseconds)
    else { return nil }
    self.source = source
    self.shown = shown
    looked = earliest...latest
  }

  /// By how many nanoseconds the server's clock is ahead of the local monotonic one.
  var lead: ClosedRange<Int64> {
    (shown.lowerBound - looked.upperBound.nanoseconds)...(shown.upperBound - looked.lowerBound.nanoseconds)
  }
}

extension ClockSample {
  /// The `Date` header of an answer (RFC 9110 section 6.6.1) to a request that was made at `asked`; names are in lower
  /// case. Nil without one, with more than one, and with one that is no date.
  init?(dateOf headers: [HTTPHeader], asked: MonotonicInstant, heard: MonotonicInstant) {
    let dates = headers.filter { $0.name == "date" }
    guard dates.count == 1, let seconds = HTTPDate.seconds(dates[0].value),
      (0...Self.plausible.upperBound / 1_000_000_000 - 2).contains(seconds)
    else { return nil }
    let start = seconds * 1_000_000_000
    self.init(.date, shown: start...start + Self.dateWidth, notBefore: asked, notAfter: heard)
  }

  /// A date is cut to whole seconds, and servers that write it down once a second are up to one more behind.
  private static let dateWidth: Int64 = 2_000_000_000
}
