import Testing

@testable import GatewayCore

/// Which clock the `time` of events is read from.
@Suite struct EventClockTests {
  private let time = FakeTime()

  private func clock(_ change: (inout ServerTimeSettings) -> Void = { _ in }) -> EventClock {
    var settings = ServerTimeSettings()
    change(&settings)
    return EventClock(settings)
  }

  /// The server's clock as seen now, `lead` milliseconds ahead of the local one, give or take `error`.
  private func sample(_ source: ClockSample.Source, lead: Int64, error: Int64 = 2) throws -> ClockSample {
    let shown = (time.wallMilliseconds + lead) * 1_000_000
    return try #require(
      ClockSample(
        source, shown: shown - error * 1_000_000...shown + error * 1_000_000, notBefore: time.now, notAfter: time.now))
  }

  private func stamp(_ clock: inout EventClock) -> Int64 { clock.stamp(wall: time.wallMilliseconds, now: time.now) }

  private func estimate(_ clock: EventClock) -> EventClock.Estimate? {
    clock.estimate(wall: time.wallMilliseconds, now: time.now)
  }

  @Test func withoutAnySampleItIsTheLocalClock() {
    var clock = clock()
    #expect(stamp(&clock) == time.wallMilliseconds && estimate(clock) == nil)
    time.wallMilliseconds += 86_400_000
    #expect(stamp(&clock) == time.wallMilliseconds)
  }

  @Test(arguments: [ClockSample.Source.event, .request], [-3_600_000, -132, 5, 3_600_000] as [Int64])
  func aConfiguredSourceIsFollowed(_ source: ClockSample.Source, _ lead: Int64) throws {
    var clock = clock()
    clock.take(try sample(source, lead: lead))
    #expect(stamp(&clock) == time.wallMilliseconds + lead)
    #expect(
      estimate(clock) == EventClock.Estimate(offset: lead, error: 2, samples: 1, source: source, isFollowed: true))
  }

  @Test(arguments: [-61_999, -5_000, 0, 5_000, 61_000] as [Int64])
  func aDateWithinTheToleranceLeavesTheLocalClockAlone(_ lead: Int64) throws {
    var clock = clock()
    clock.take(try sample(.date, lead: lead, error: 2_000))
    #expect(stamp(&clock) == time.wallMilliseconds)
    #expect(estimate(clock)?.isFollowed == false && estimate(clock)?.offset == lead)
  }

  @Test(arguments: [-3_600_000, -62_001, 62_001, 40_000_000_000] as [Int64])
  func aDateBeyondTheToleranceIsFollowed(_ lead: Int64) throws {
    var clock = clock()
    clock.take(try sample(.date, lead: lead, error: 2_000))
    #expect(stamp(&clock) == time.wallMilliseconds + lead)
    #expect(estimate(clock)?.isFollowed == true)
  }

  @Test func theToleranceIsASetting() throws {
    var strict = clock { $0.tolerance = .milliseconds(0) }
    var never = clock { $0.tolerance = .seconds(31_536_000) }
    let sample = try sample(.date, lead: 3_000, error: 1_000)
    strict.take(sample)
    never.take(sample)
    #expect(stamp(&strict) == time.wallMilliseconds + 3_000)
    #expect(stamp(&never) == time.wallMilliseconds)
  }

  @Test func aLocalClockThatWasSetRightIsUsedAgainAndOneThatIsNearlyRightIsNot() throws {
    var clock = clock()
    clock.take(try sample(.date, lead: -3_600_000, error: 1_000))
    let followed = stamp(&clock)
    time.wallMilliseconds -= 3_560_000
    #expect(stamp(&clock) == followed)
    time.wallMilliseconds -= 39_500
    #expect(stamp(&clock) == time.wallMilliseconds && estimate(clock)?.isFollowed == false)
  }

  @Test func aServerThatWasSetRightIsJudgedByTheToleranceAgain() throws {
    var clock = clock()
    clock.take(try sample(.date, lead: -3_600_000, error: 1_000))
    _ = stamp(&clock)
    clock.take(try sample(.date, lead: 30_000, error: 1_000))
    #expect(stamp(&clock) == time.wallMilliseconds && estimate(clock)?.isFollowed == false)
  }

  @Test(arguments: [-7_200_000, -1, 1, 7_200_000] as [Int64])
  func settingTheLocalClockDoesNotTouchAFollowedServer(_ step: Int64) throws {
    var clock = clock()
    clock.take(try sample(.request, lead: 1_000))
    let before = stamp(&clock)
    time.wallMilliseconds += step
    time.advance(by: .milliseconds(250))
    #expect(stamp(&clock) == before + 250)
    #expect(estimate(clock)?.offset == 1_000 - step)
  }

  @Test func withinAnEpochItStandsStillRatherThanRunBackwards() {
    var clock = clock()
    let before = stamp(&clock)
    time.wallMilliseconds -= 10_000
    time.advance(by: .milliseconds(9_999))
    #expect(stamp(&clock) == before)
    time.advance(by: .milliseconds(2))
    #expect(stamp(&clock) == before + 1)
    time.wallMilliseconds -= 10_000
    clock.beginEpoch()
    #expect(stamp(&clock) == time.wallMilliseconds)
  }

  @Test func anEpochThatWentOnElsewhereIsResumedBehindItsLastEvent() {
    var clock = clock()
    clock.resume(after: time.wallMilliseconds + 50)
    #expect(stamp(&clock) == time.wallMilliseconds + 50)
    time.advance(by: .milliseconds(60))
    #expect(stamp(&clock) == time.wallMilliseconds)
  }

  @Test func whateverTheClocksDoItNeverRunsBackwardsWithinAnEpoch() throws {
    var clock = clock { $0.tolerance = .milliseconds(500) }
    let random = FakeRandom()
    var last = Int64.min
    for _ in 0..<5_000 {
      let jump = Int64(random.bits() % 20_000) - 10_000
      switch random.bits() % 8 {
      case 0: time.wallMilliseconds += jump
      case 1: clock.take(try sample(.request, lead: jump))
      case 2: clock.take(try sample(.event, lead: jump))
      case 3: clock.take(try sample(.date, lead: jump, error: 1_000))
      case 4: clock.adopt(ServerTimeSettings())
      case 5 where random.bits() % 16 == 0:
        clock.beginEpoch()
        last = .min
      default: time.advance(by: .milliseconds(Int64(random.bits() % 2_000)))
      }
      let stamp = stamp(&clock)
      #expect(stamp >= last)
      last = stamp
    }
  }

  @Test func otherSettingsForgetTheServer() throws {
    var clock = clock()
    clock.take(try sample(.request, lead: -500))
    _ = stamp(&clock)
    clock.adopt(ServerTimeSettings())
    #expect(estimate(clock) == nil && stamp(&clock) == time.wallMilliseconds)
  }
}
