import Testing

@testable import gatewayd

struct PendingInputTests {
  @Test func whatWasNotHeardIsLeft() {
    var unheard = PendingInput([1, 2, 3, 4])
    unheard.keepLast(3)
    #expect(unheard.withRest { Array($0) } == [2, 3, 4])
    unheard.keepLast(1)
    #expect(unheard.withRest { Array($0) } == [4])
    #expect(!unheard.isEmpty)
    unheard.keepLast(0)
    #expect(unheard.isEmpty)
    #expect(unheard.withRest { $0.count } == 0)
  }
}
