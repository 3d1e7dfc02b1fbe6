import Testing

@testable import GatewayCore

/// How many attempts the whole machine may start, and whose turn is the next.
@Suite final class AttemptBudgetTests {
  private let time = FakeTime()
  private lazy var timers = Timers(time: time)
  private lazy var start = time.now
  /// What started, and how many milliseconds after the beginning.
  private var started: [String] = []

  private func budget(_ attempts: Int, burst: Int) -> AttemptBudget {
    AttemptBudget(limits(attempts, burst: burst), time: time, timers: timers)
  }

  private func limits(_ attempts: Int, burst: Int) -> Limits {
    var limits = Limits()
    limits.attempts = attempts
    limits.attemptsBurst = burst
    return limits
  }

  private func note(_ name: String) { started.append("\(name) \((time.now - start).milliseconds)") }

  /// A connection wants an attempt; returns when it is expected to start if it has to wait.
  @discardableResult
  private func ask(
    _ budget: AttemptBudget, _ name: String, for user: UInt32 = 1, isWanted: @escaping () -> Bool = { true }
  ) -> Int64? {
    _ = start
    guard !budget.takeFreeTurn() else {
      note(name)
      return nil
    }
    let candidate = AttemptBudget.Candidate(isWanted: isWanted, start: { [unowned self] in note(name) })
    return (budget.wait(candidate, for: .user(user)) - start).milliseconds
  }

  private func pass(_ duration: Duration) {
    let end = time.now + duration
    while let next = timers.nextDeadline, next <= end {
      if next > time.now { time.advance(by: next - time.now) }
      timers.fire()
    }
    time.advance(by: end - time.now)
  }

  @Test func aBurstStartsAtOnceAndTheRestTakesTurnsInTheOrderOfAsking() {
    let budget = budget(10, burst: 3)
    let expected = ["a", "b", "c", "d", "e", "f"].map { ask(budget, $0) }
    #expect(expected == [nil, nil, nil, 100, 200, 300])
    pass(.seconds(1))
    #expect(started == ["a 0", "b 0", "c 0", "d 100", "e 200", "f 300"])
  }

  @Test func aQuietTimeFillsTheBudgetAgainButNeverBeyondTheBurst() {
    let budget = budget(10, burst: 2)
    for name in ["a", "b", "c"] { ask(budget, name) }
    pass(.seconds(60))
    for name in ["d", "e", "f"] { ask(budget, name) }
    pass(.seconds(60))
    #expect(started == ["a 0", "b 0", "c 100", "d 60000", "e 60000", "f 60100"])
  }

  @Test func newLimitsCountFromTheNextTurnOn() {
    let budget = budget(1, burst: 1)
    for name in ["a", "b", "c"] { ask(budget, name) }
    budget.adopt(limits(1_000, burst: 1))
    pass(.seconds(3))
    #expect(started == ["a 0", "b 1000", "c 1001"])
  }

  @Test func thousandsOfAttemptsOfOneUserDoNotHoldUpAnothersFirst() {
    let budget = budget(100, burst: 100)
    for number in 0..<2_000 { ask(budget, "a\(number)", for: 1) }
    #expect(ask(budget, "b", for: 2) ?? 9_999 <= 20)
    pass(.milliseconds(20))
    #expect(started.contains("b 20"))
    pass(.seconds(30))
    #expect(started.count == 2_001)
  }

  @Test func whatIsNotWantedAnyMoreUsesUpNoTurn() {
    let budget = budget(10, burst: 1)
    ask(budget, "a")
    for number in 0..<50 { ask(budget, "b\(number)", isWanted: { false }) }
    ask(budget, "c")
    pass(.milliseconds(150))
    #expect(started == ["a 0", "c 100"])
  }

  @Test func whatLeftTheLineDelaysNobodyBehindIt() {
    let budget = budget(10, burst: 1)
    ask(budget, "a")
    ask(budget, "b")
    var isWanted = true
    for number in 0..<50 { ask(budget, "c\(number)", isWanted: { isWanted }) }
    isWanted = false
    budget.forgetUnwanted(of: .user(2))
    #expect(ask(budget, "d") == 5_200)
    budget.forgetUnwanted(of: .user(1))
    #expect(ask(budget, "e") == 300)
    pass(.seconds(1))
    #expect(started == ["a 0", "b 100", "d 200", "e 300"])
  }
}
