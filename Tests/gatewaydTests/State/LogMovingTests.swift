@testable import GatewayCore
import Testing

@testable import gatewayd

@Suite struct LogMovingTests {
  private func at(_ seconds: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: seconds * 1_000_000_000) }

  @Test func aFailureIsTriedAgainLaterEachTimeAndToldOnce() {
    var moving = LogMoving()
    var attempts: [Int64] = []
    var told: [Int64] = []
    for second in 0...200 as ClosedRange<Int64> where moving.isDue(at: at(second)) {
      attempts.append(second)
      if moving.ended(false, at: at(second)) { told.append(second) }
    }
    #expect(attempts == [0, 1, 3, 7, 15, 31, 63, 127, 191])
    #expect(told == [0])
  }

  @Test func whatWorksAgainIsToldOnceAndTheNextFailureAnew() {
    var moving = LogMoving()
    let said = [true, false, false, true, true, false].enumerated().map { second, isMoved in
      moving.ended(isMoved, at: at(Int64(second)))
    }
    #expect(said == [false, true, false, true, false, true])
    #expect(moving.isDue(at: at(6)) && !moving.isDue(at: at(5)))
  }
}
