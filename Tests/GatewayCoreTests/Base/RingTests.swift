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

  @Test func aRingThatWasLargeOnceGivesItsMemoryBackWhileItIsInUse() {
    var ring = Ring<Int>()
    for number in 0..<10_000 { ring.append(number) }
    #expect(ring.placeCount == 16_384)
    for number in 0..<9_990 { #expect(ring.popFirst() == number) }
    #expect(ring.placeCount == 64)
    #expect((0..<ring.count).map { ring[$0] } == Array(9_990..<10_000))
    // Not again and again at the border.
    for number in 0..<1_000 {
      ring.append(number)
      _ = ring.popFirst()
    }
    #expect(ring.placeCount == 64)
  }
}
