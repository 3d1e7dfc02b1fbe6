import Testing

@testable import GatewayCore

@Suite struct ClockTests {
  private static let half: Int64 = 500_000_000

  @Test(
    arguments: [
      (Duration.zero, 0), (.nanoseconds(1), 1), (.nanoseconds(-1), -1),
      (.seconds(10), 10_000_000_000),
      (.milliseconds(-1_500), -1_500_000_000), (.nanoseconds(Int64.max), .max),
      (.nanoseconds(-Int64.max), -.max),
    ] as [(Duration, Int64)])
  func aWholeNumberIsExact(_ duration: Duration, _ expected: Int64) {
    #expect(duration.nanoseconds == expected)
  }

  @Test func aPartOfOneIsLeftOut() {
    #expect(Duration(secondsComponent: 0, attosecondsComponent: Self.half).nanoseconds == 0)
    #expect(Duration(secondsComponent: 0, attosecondsComponent: -Self.half).nanoseconds == 0)
    #expect(
      Duration(secondsComponent: 1, attosecondsComponent: Self.half).nanoseconds == 1_000_000_000)
    #expect(
      Duration(secondsComponent: -1, attosecondsComponent: -Self.half).nanoseconds == -1_000_000_000
    )
  }

  @Test func whatIsBeyondTheRangeStaysAtItsEnd() {
    #expect((Duration.nanoseconds(Int64.max) + .nanoseconds(1)).nanoseconds == .max)
    #expect((Duration.nanoseconds(-Int64.max) - .nanoseconds(1)).nanoseconds == .min)
    #expect((Duration.nanoseconds(-Int64.max) - .nanoseconds(2)).nanoseconds == .min)
    #expect(Duration.seconds(Int64.max).nanoseconds == .max)
    #expect(Duration.seconds(-Int64.max).nanoseconds == .min)
  }

  @Test func aDeadlineBeyondTheClockStaysInTheFuture() {
    let now = MonotonicInstant(nanoseconds: 5_000)
    #expect(now + .seconds(Int64.max) == MonotonicInstant(nanoseconds: .max))
    #expect(now + .nanoseconds(Int64.max) == MonotonicInstant(nanoseconds: .max))
    #expect(MonotonicInstant(nanoseconds: -5_000) + .seconds(Int64.min) == MonotonicInstant(nanoseconds: .min))
    #expect(now + .nanoseconds(-6_000) == MonotonicInstant(nanoseconds: -1_000))
  }
}
