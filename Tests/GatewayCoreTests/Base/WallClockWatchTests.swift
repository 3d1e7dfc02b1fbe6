import Testing

@testable import GatewayCore

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
