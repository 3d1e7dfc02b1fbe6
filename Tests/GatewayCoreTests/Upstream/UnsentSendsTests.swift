import Testing

@testable import GatewayCore

/// Sends of several users on links that take nothing.
@Suite struct UnsentSendsTests {
  private let budget = MemoryBudget(total: 1 << 20)

  @Test func eachUserIsToldOfItsOwnBytes() {
    let sends = UnsentSends(budget)
    sends.wrote(100, for: .user(1))
    #expect(sends.bytes(of: .user(1), ofAll: 120) == 120, "nobody else has written")
    sends.wrote(50, for: .user(2))
    #expect(sends.bytes(of: .user(1), ofAll: 150) == 100)
    #expect(sends.bytes(of: .user(2), ofAll: 120) == 50, "what came first was taken first")
    #expect(sends.bytes(of: .user(1), ofAll: 120) == 70)
    #expect(sends.bytes(of: .user(3), ofAll: 30) == 0)
    #expect(sends.bytes(of: .user(3), ofAll: 0) == 0)
  }

  @Test func manyBytesCountForTheirUserUntilTheyAreTaken() {
    let link = MemoryHold(budget, for: .configuration)
    var sends: UnsentSends? = UnsentSends(budget)
    for _ in 0..<5 {
      sends?.wrote(100_000, for: .user(1))
      link.set(link.count + 100_000)
    }
    #expect(budget.used == 500_000 && budget.limit.used(by: .user(1)) == 400_000)
    sends?.taken(downTo: 150_000)
    link.set(150_000)
    #expect(budget.used == 150_000 && budget.limit.used(by: .user(1)) == 150_000)
    sends = nil
    #expect(budget.limit.used(by: .user(1)) == 0 && budget.used == 150_000)
  }

  @Test func whatTheLinkTookIsNoticedThoughNobodyWritesAnyMore() {
    let time = FakeTime()
    let timers = Timers(time: time)
    let sends = UnsentSends(budget)
    var unsent = 300_000
    sends.watch(timers) { unsent }
    for _ in 0..<3 { sends.wrote(100_000, for: .user(1)) }
    #expect(budget.limit.used(by: .user(1)) == 200_000)
    unsent = 0
    time.advance(by: .milliseconds(100))
    timers.fire()
    #expect(budget.limit.used(by: .user(1)) == 0)
    #expect(timers.count == 0)
  }

  @Test func aSharedHoldCountsForEachAndGivesEverythingBack() {
    var hold: SharedMemoryHold? = SharedMemoryHold(budget)
    hold?.add(600_000, for: .user(1))
    hold?.add(10, for: .user(2))
    #expect(throws: SharedBounds.Overrun.share(1 << 19)) { try hold?.check(1, for: .user(1)) }
    #expect(throws: Never.self) { try hold?.check(1, for: .user(2)) }
    hold = nil
    #expect(budget.used == 0)
  }
}
