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

@Suite struct WallClockWatchTests {
  private let time = FakeTime()

  private func watch() -> WallClockWatch { WallClockWatch(wall: time.wallMilliseconds, now: time.now) }
  private func step(_ watch: inout WallClockWatch) -> Int64? { watch.step(wall: time.wallMilliseconds, now: time.now) }

  @Test func timeThatPassesIsNoStep() {
    var watch = watch()
    for _ in 0..<10 {
      time.advance(by: .seconds(86_400))
      #expect(step(&watch) == nil)
    }
  }

  @Test(arguments: [-86_400_000, -1_000, 1_000, 3_600_000] as [Int64])
  func aStepIsToldOnce(_ size: Int64) {
    var watch = watch()
    time.advance(by: .seconds(7))
    time.wallMilliseconds += size
    #expect(step(&watch) == size)
    time.advance(by: .seconds(7))
    #expect(step(&watch) == nil)
  }

  @Test func smallStepsAddUp() {
    var watch = watch()
    time.wallMilliseconds -= 999
    #expect(step(&watch) == nil)
    time.wallMilliseconds -= 1
    #expect(step(&watch) == -1_000)
  }
}
