@testable import GatewayCore
import Testing

@Suite struct KeeperBackoffTests {
  let settings = ReconnectSettings()

  @Test func theBoundsAreThoseOfTheDocumentedTable() {
    let lost = (1...8).map { Backoff.bound(attempt: $0, base: settings.base, cap: settings.cap) }
    #expect(lost == [1, 2, 4, 8, 16, 30, 30, 30].map { .seconds($0) })
    let refused = (1...8).map { Backoff.bound(attempt: $0, base: settings.refusedBase, cap: settings.refusedCap) }
    #expect(refused == [30, 60, 120, 240, 480, 600, 600, 600].map { .seconds($0) })
  }

  @Test(arguments: [1, 2, 33, 62, 63, 64, 65, 1_000, Int.max])
  func noAttemptNumberOverflows(attempt: Int) {
    let cap = Duration.seconds(30)
    for base: Duration in [.nanoseconds(1), .milliseconds(1), .seconds(1), .seconds(30), .seconds(Int64.max)] {
      let bound = Backoff.bound(attempt: attempt, base: base, cap: cap)
      #expect(bound > .zero && bound <= cap)
      if attempt >= 64 { #expect(bound == cap) }
    }
    #expect(Backoff.bound(attempt: attempt, base: .seconds(Int64.max), cap: .seconds(Int64.max)) > .seconds(1_000_000))
  }

  @Test func strangeSettingsGiveNoNegativeBound() {
    #expect(Backoff.bound(attempt: 0, base: .seconds(1), cap: .seconds(30)) == .seconds(1))
    #expect(Backoff.bound(attempt: -5, base: .seconds(1), cap: .seconds(30)) == .seconds(1))
    #expect(Backoff.bound(attempt: 9, base: .zero, cap: .seconds(30)) == .zero)
    #expect(Backoff.bound(attempt: 9, base: .seconds(-1), cap: .seconds(-30)) == .zero)
    #expect(Backoff.bound(attempt: 1, base: .seconds(60), cap: .seconds(30)) == .seconds(30))
  }

  @Test func jitterTakesTheWholeRange() {
    let bound = Duration.seconds(8)
    #expect(Backoff.delay(bound: bound, fraction: 0) == Backoff.shortestDelay)
    #expect(Backoff.delay(bound: bound, fraction: 0.25) == .seconds(2))
    #expect(Backoff.delay(bound: bound, fraction: 0.5) == .seconds(4))
    #expect(Backoff.delay(bound: bound, fraction: 1) == bound)
    #expect(Backoff.delay(bound: bound, fraction: -3) == Backoff.shortestDelay)
    #expect(Backoff.delay(bound: bound, fraction: .nan) == Backoff.shortestDelay)
    #expect(Backoff.delay(bound: bound, fraction: .infinity) == bound)
    #expect(Backoff.delay(bound: .seconds(Int64.max), fraction: 1) == .seconds(Int64.max))
  }

  @Test func manyDrawsSpreadEvenly() {
    let random = FakeRandom(seed: 7)
    var tenths = [Int](repeating: 0, count: 10)
    for _ in 0..<10_000 {
      let delay = Backoff.delay(bound: .seconds(10), fraction: random.fraction())
      tenths[Int(delay.milliseconds / 1_000)] += 1
    }
    #expect(tenths.allSatisfy { (900...1_100).contains($0) }, "\(tenths)")
  }

  @Test func connectingAndDroppingKeepsSlowingDown() {
    var backoff = Backoff(settings: settings)
    let delays = (0..<7).map { _ in backoff.failed(.closed, lasted: .seconds(9), fraction: 0.5) }
    #expect(delays == [0.5, 1, 2, 4, 8, 15, 15].map { .seconds($0) })
    #expect(backoff.attempts == 7)
  }

  @Test func onlyAStableConnectionStartsAnew() {
    var backoff = Backoff(settings: settings)
    for _ in 0..<5 { _ = backoff.failed(.unreachable, lasted: nil, fraction: 0.5) }
    let unstable = backoff.failed(.closed, lasted: settings.stable - .nanoseconds(1), fraction: 0.5)
    #expect(unstable == .seconds(15))
    let stable = backoff.failed(.closed, lasted: settings.stable, fraction: 0.5)
    #expect(stable == .milliseconds(500))
    #expect(backoff.attempts == 1)
  }

  @Test func aStableConnectionThatWasClosedOnPurposeForgetsItsFailures() {
    var backoff = Backoff(settings: settings)
    for _ in 0..<5 { _ = backoff.failed(.unreachable, lasted: nil, fraction: 0.5) }
    backoff.ended(lasted: nil)
    backoff.ended(lasted: .seconds(1))
    #expect(backoff.attempts == 5)
    backoff.ended(lasted: .seconds(40))
    #expect(backoff == Backoff(settings: settings))
  }

  @Test func refusalsHaveASlowerScheduleOfTheirOwn() {
    var backoff = Backoff(settings: settings)
    #expect(backoff.failed(.refused, lasted: nil, fraction: 0) == .seconds(15))
    #expect(backoff.failed(.unreachable, lasted: nil, fraction: 0.5) == .milliseconds(500))
    #expect(backoff.failed(.refused, lasted: nil, fraction: 0.5) == .seconds(45))
    #expect((backoff.losses, backoff.refusals, backoff.attempts) == (1, 2, 3))
    #expect(backoff.failed(.refused, lasted: .seconds(60), fraction: 0.5) == .milliseconds(22_500))
    #expect((backoff.losses, backoff.refusals, backoff.attempts) == (0, 1, 1))
  }
}
