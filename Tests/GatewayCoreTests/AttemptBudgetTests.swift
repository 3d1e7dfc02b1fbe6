import Testing

@testable import GatewayCore

/// How many attempts the whole machine may start.
@Suite struct AttemptBudgetTests {
  private let now = MonotonicInstant(nanoseconds: 1_000_000_000_000)

  private func budget(_ attempts: Int, burst: Int) -> AttemptBudget {
    var limits = Limits()
    limits.attempts = attempts
    limits.attemptsBurst = burst
    return AttemptBudget(limits)
  }

  private func milliseconds(_ budget: AttemptBudget, _ count: Int, at instant: MonotonicInstant) -> [Int64] {
    (0..<count).map { _ in (budget.takeTurn(at: instant) - now).milliseconds }
  }

  @Test func aBurstStartsAtOnceAndTheRestTakesTurnsInTheOrderOfAsking() {
    #expect(milliseconds(budget(10, burst: 3), 6, at: now) == [0, 0, 0, 100, 200, 300])
  }

  @Test func aQuietTimeFillsTheBudgetAgainButNeverBeyondTheBurst() {
    let budget = budget(10, burst: 2)
    #expect(milliseconds(budget, 4, at: now) == [0, 0, 100, 200])
    #expect(milliseconds(budget, 3, at: now + .milliseconds(300)) == [300, 400, 500])
    #expect(milliseconds(budget, 3, at: now + .seconds(60)) == [60_000, 60_000, 60_100])
  }

  @Test func newLimitsCountFromTheNextTurnOn() {
    let budget = budget(10, burst: 1)
    #expect(milliseconds(budget, 2, at: now) == [0, 100])
    var limits = Limits()
    limits.attempts = 1_000
    limits.attemptsBurst = 1
    budget.adopt(limits)
    #expect(milliseconds(budget, 2, at: now) == [200, 201])
  }
}
