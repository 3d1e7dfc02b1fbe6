import Testing

@testable import GatewayCore

@Suite struct RingTests {
  @Test func whatComesLastGoesLastHoweverOftenTheMemoryIsUsedAgain() {
    var ring = Ring<Int>()
    var model: [Int] = []
    for step in 0..<10_000 {
      // Sometimes it grows for a while, sometimes it empties.
      if step % 700 < 400 || step % 3 == 0 {
        ring.append(step)
        model.append(step)
      } else {
        #expect(ring.popFirst() == (model.isEmpty ? nil : model.removeFirst()))
      }
      #expect(ring.count == model.count)
      #expect(ring.first == model.first)
    }
    #expect((0..<model.count).map { ring[$0] } == model)
    #expect(ring[-1] == nil && ring[model.count] == nil)
  }
}
