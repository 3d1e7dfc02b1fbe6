import Testing

@testable import gatewayd

struct PendingInputTests {
  @Test func whatWasNotHeardIsLeft() {
    var pending = PendingInput([1, 2, 3, 4])
    pending.keepLast(3)
    #expect(pending.withRest { Array($0) } == [2, 3, 4])
    pending.keepLast(1)
    #expect(pending.withRest { Array($0) } == [4])
    #expect(!pending.isEmpty)
    pending.keepLast(0)
    #expect(pending.isEmpty)
    #expect(pending.withRest { $0.count } == 0)
  }
}
