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
    #expect((0..<model.count).map { ring.look($0) { $0 } } == model)
    #expect(ring.look(-1) { $0 } == nil && ring.look(model.count) { $0 } == nil)
  }

  @Test func aRingThatWasLargeOnceGivesItsMemoryBackWhileItIsInUse() {
    var ring = Ring<Int>()
    for number in 0..<10_000 { ring.append(number) }
    #expect(ring.placeCount == 16_384)
    #expect((0..<ring.count).map { ring[$0] } == Array(0..<10_000))
    #expect((0..<ring.count).map { ring.look($0) { $0 } } == Array(0..<10_000))
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

  @Test(arguments: 1...5) func aLongRingIsWhatAnArrayWouldBe(_ seed: Int) {
    var random = UInt64(seed) &* 0x9e37_79b9_7f4a_7c15 | 1
    func number(below limit: Int) -> Int {
      random ^= random << 13
      random ^= random >> 7
      random ^= random << 17
      return Int(random % UInt64(limit))
    }
    var ring = Ring<Int>()
    var model: [Int] = []
    var gone = 0
    for step in 0..<60 {
      for new in 0..<number(below: 9_000) {
        ring.append(step * 10_000 + new)
        model.append(step * 10_000 + new)
      }
      for _ in 0..<number(below: 5_000) {
        #expect(ring.popLast() == (gone < model.count ? model.popLast() : nil))
      }
      let changed = number(below: max(1, ring.count))
      #expect((ring.update(changed) { $0 += 1 } != nil) == (gone + changed < model.count))
      if gone + changed < model.count { model[gone + changed] += 1 }
      #expect(ring.update(ring.count) { $0 = 0 } == nil)
      for _ in 0..<number(below: 3) {
        ring.prepend(-step)
        model.replaceSubrange(0..<gone, with: [-step])
        gone = 0
      }
      for _ in 0..<number(below: step % 20 < 10 ? 6_000 : 14_000) {
        #expect(ring.popFirst() == (gone < model.count ? model[gone] : nil))
        gone = min(gone + 1, model.count)
      }
      #expect(ring.count == model.count - gone && ring.first == model.dropFirst(gone).first)
      let offset = number(below: max(1, ring.count))
      #expect(ring[offset] == model.dropFirst(gone + offset).first)
    }
    #expect(ring.drained() == Array(model[gone...]))
  }
}
