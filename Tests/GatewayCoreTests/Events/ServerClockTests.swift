import Testing

@testable import GatewayCore

/// What is made of several looks at a server's clock.
@Suite struct ServerClockTests {
  /// The server's clock is an hour ahead of a local one that shows this at the monotonic origin of the tests.
  private static let truth: Int64 = 1_795_003_600_000

  /// A look at time `at` that took `roundTrip`, and found the server's clock at the fraction `place` of it. All in
  /// milliseconds; `off` is how wrong the server's clock is.
  private func sample(
    _ source: ClockSample.Source = .request, at: Int64, roundTrip: Int64, place: Double = 0.5, off: Int64 = 0
  ) throws -> ClockSample {
    let shown = (Self.truth + at + Int64(Double(roundTrip) * place) + off) * 1_000_000
    return try #require(
      ClockSample(source, shown: shown...shown, notBefore: instant(at), notAfter: instant(at + roundTrip)))
  }

  private func instant(_ milliseconds: Int64) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: milliseconds * 1_000_000)
  }

  /// The server's lead in milliseconds, as its middle and how far it may be from there.
  private func reading(_ clock: ServerClock, at: Int64) throws -> (middle: Double, error: Double) {
    let lead = try #require(clock.lead(at: instant(at)))
    let low = Double(lead.lowerBound) / 1e6 - Double(Self.truth)
    let high = Double(lead.upperBound) / 1e6 - Double(Self.truth)
    return ((low + high) / 2, (high - low) / 2)
  }

  @Test func nothingIsKnownWithoutASample() {
    let clock = ServerClock()
    #expect(clock.lead(at: instant(0)) == nil && clock.source == nil && clock.count == 0)
  }

  @Test func theShortestRoundTripDecides() throws {
    var clock = ServerClock()
    for (at, roundTrip, place) in [(0, 400, 0.1), (500, 20, 0.5), (600, 300, 0.9), (1_000, 150, 0.3)] {
      clock.take(try sample(at: Int64(at), roundTrip: Int64(roundTrip), place: place))
    }
    let (middle, error) = try reading(clock, at: 1_150)
    #expect(abs(middle) <= 1 && error > 9.9 && error < 10.2)
    #expect(clock.count == 4 && clock.source == .request)
  }

  @Test func theTruthIsWithinTheBoundsWhateverTheWayTook() throws {
    var clock = ServerClock()
    let random = FakeRandom()
    for turn in 0..<500 {
      let roundTrip = Int64(random.bits() % 300)
      clock.take(try sample(at: Int64(turn) * 1_000, roundTrip: roundTrip, place: random.fraction()))
      let (middle, error) = try reading(clock, at: Int64(turn) * 1_000 + roundTrip)
      // A sample is written in whole milliseconds.
      #expect(abs(middle) <= error + 1)
    }
    #expect(clock.count > 400)
  }

  @Test func driftWidensTheBoundsUntilTheNextSample() throws {
    var clock = ServerClock()
    clock.take(try sample(at: 0, roundTrip: 10))
    #expect(try reading(clock, at: 10).error == 5)
    let hour = try reading(clock, at: 3_600_010)
    #expect(hour.error == 365 && abs(hour.middle) < 0.01)
    clock.take(try sample(at: 3_600_010, roundTrip: 40))
    #expect(try reading(clock, at: 3_600_050).error == 20)
  }

  @Test(arguments: [-3_600_000, -500, 500, 3_600_000] as [Int64])
  func aServerClockThatWasSetIsBelievedAtOnce(_ step: Int64) throws {
    var clock = ServerClock()
    clock.take(try sample(at: 0, roundTrip: 10))
    clock.take(try sample(at: 1_000, roundTrip: 10))
    clock.take(try sample(at: 2_000, roundTrip: 10, off: step))
    let (middle, error) = try reading(clock, at: 2_010)
    #expect(abs(middle - Double(step)) < 0.1 && error == 5 && clock.count == 1)
  }

  @Test func anEventThatWasLateChangesNothing() throws {
    var clock = ServerClock()
    clock.take(try sample(.event, at: 0, roundTrip: 10))
    clock.take(try sample(.event, at: 1_000, roundTrip: 10, off: -700))
    clock.take(try sample(.event, at: 2_000, roundTrip: 10, off: -90_000))
    clock.take(try sample(.event, at: 3_000, roundTrip: 10, off: -300))
    #expect(abs(try reading(clock, at: 3_010).middle) < 0.1 && clock.count == 1)
  }

  @Test func anEventThatWasFasterThanThoseBeforeReplacesThem() throws {
    var clock = ServerClock()
    clock.take(try sample(.event, at: 0, roundTrip: 10, off: -700))
    clock.take(try sample(.event, at: 1_000, roundTrip: 10))
    #expect(abs(try reading(clock, at: 1_010).middle) < 0.1 && clock.count == 1)
  }

  @Test func threeEventsThatAgreeMeanThatTheServerWasSetBack() throws {
    var clock = ServerClock()
    clock.take(try sample(.event, at: 0, roundTrip: 10))
    for turn in 1...2 {
      clock.take(try sample(.event, at: Int64(turn) * 1_000, roundTrip: 10, off: -3_600_000))
      #expect(abs(try reading(clock, at: 3_000).middle) < 1)
    }
    clock.take(try sample(.event, at: 3_000, roundTrip: 10, off: -3_600_000))
    #expect(abs(try reading(clock, at: 3_010).middle + 3_600_000) < 1 && clock.count == 3)
  }

  @Test func aDateGivesWayToABetterSourceAndIsNeverMixedWithIt() throws {
    var clock = ServerClock()
    clock.take(try sample(.date, at: 0, roundTrip: 2_000))
    #expect(clock.source == .date)
    clock.take(try sample(.event, at: 100, roundTrip: 10, off: 5_000))
    #expect(clock.source == .event && clock.count == 1)
    clock.take(try sample(.date, at: 200, roundTrip: 2_000))
    #expect(clock.source == .event && clock.count == 1)
    clock.take(try sample(.request, at: 3_000, roundTrip: 10, off: 5_000))
    #expect(clock.source == .request && clock.count == 2)
  }

  @Test func aDateCountsAgainWhenTheBetterSourceIsOlderThanItIsWorth() throws {
    var clock = ServerClock()
    clock.take(try sample(at: 0, roundTrip: 10))
    // Half a second of drift either way after 5,000 seconds, a second after 10,000.
    clock.take(try sample(.date, at: 5_000_000, roundTrip: 1_100))
    #expect(clock.source == .request)
    clock.take(try sample(.date, at: 10_000_000, roundTrip: 1_100))
    #expect(clock.source == .date)
  }

  @Test func aSampleThatComesLateIsTakenAsOldAsItIs() throws {
    var clock = ServerClock()
    let old = try sample(.date, at: 0, roundTrip: 100)
    clock.take(try sample(.date, at: 3_600_000, roundTrip: 2_000))
    clock.take(old)
    let error = try reading(clock, at: 3_602_000).error
    #expect(error > 400 && error < 412 && clock.count == 2)
  }

  @Test(arguments: [
    (0, -1, 0, 0), (0, 7_258_118_400_000_000_001, 0, 0), (1, 1, 5, 4), (1, 1, 0, Int64.max), (1, 1, Int64.min, 0),
  ])
  func anImpossibleSampleIsNone(_ low: Int64, _ high: Int64, _ earliest: Int64, _ latest: Int64) {
    let shown = min(low, high)...max(low, high)
    #expect(
      ClockSample(
        .request, shown: shown, notBefore: MonotonicInstant(nanoseconds: earliest),
        notAfter: MonotonicInstant(nanoseconds: latest)) == nil)
  }

  @Test func aDateIsAnIntervalOfTwoSeconds() throws {
    let headers = [HTTPHeader(name: "date", value: "Sun, 06 Nov 1994 08:49:37 GMT")]
    let sample = try #require(ClockSample(dateOf: headers, asked: instant(1_000), heard: instant(1_050)))
    #expect(sample.shown == 784_111_777_000_000_000...784_111_779_000_000_000)
    #expect(sample.looked == instant(1_000)...instant(1_050) && sample.source == .date)
  }

  @Test(arguments: [
    [], [HTTPHeader(name: "date", value: "soon")], [HTTPHeader(name: "date", value: "Sun, 06 Nov 9999 08:49:37 GMT")],
    Array(repeating: HTTPHeader(name: "date", value: "Sun, 06 Nov 1994 08:49:37 GMT"), count: 2),
  ])
  func noDateIsNoSample(_ headers: [HTTPHeader]) {
    #expect(ClockSample(dateOf: headers, asked: instant(0), heard: instant(1)) == nil)
  }
}
