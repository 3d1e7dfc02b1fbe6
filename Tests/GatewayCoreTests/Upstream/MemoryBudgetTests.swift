import Testing

@testable import GatewayCore

/// Memory that users hold together.
@Suite struct MemoryBudgetTests {
  @Test func whatOneUserHoldsLeavesRoomForAnother() {
    let budget = MemoryBudget(total: 100)
    let greedy = MemoryHold(budget, for: .user(1))
    let second = MemoryHold(budget, for: .user(1))
    let modest = MemoryHold(budget, for: .user(2))
    #expect(greedy.change(to: 40))
    #expect(!second.change(to: 20))
    #expect(second.count == 0 && modest.change(to: 50))
    #expect(budget.used == 90)
  }

  @Test func memoryGoesBackWithItsHolder() {
    let budget = MemoryBudget(total: 100)
    var hold: MemoryHold? = MemoryHold(budget, for: .configuration)
    #expect(hold?.change(to: 50) == true)
    hold = nil
    #expect(budget.used == 0)
  }

  @Test func whatHasToBeTakenCountsBeyondTheLimit() {
    let budget = MemoryBudget(total: 100)
    let hold = MemoryHold(budget, for: .user(1))
    hold.set(70)
    #expect(budget.used == 70)
    #expect(!hold.change(to: 71))
    #expect(hold.change(to: 10))
    #expect(budget.used == 10)
  }

  @Test func whoHasNoMemoryForTheRestOfALineIsToldWhoseItIs() {
    let harness = GatewayHarness()
    let overruns: [(SharedBounds.Overrun, String)] = [
      (.share(7), "7 bytes of this user"), (.total(9), "9 bytes of all users"),
    ]
    for (overrun, word) in overruns {
      let client = harness.client()
      client.session?.receiveLineWithoutMemory(overrun)
      let told = client.read()
      #expect(told.count == 1 && told[0].contains(word) && told[0].contains("\"quota\":\"receive_bytes\""))
    }
  }
}
