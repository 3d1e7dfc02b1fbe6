import Testing

@testable import GatewayCore

@Suite struct SizedRingTests {
  @Test func fromAPlaceOnItIsLookedAtInPortionsWhateverGoesAndComesMeanwhile() {
    var ring = SizedRing<Int>()
    for number in 0..<6 { ring.append(number, bytes: number) }
    var seen: [Int] = []
    var place: Int? = ring.firstPlace
    while let next = place {
      var sizes: [Int] = []
      let takes = { (size: Int) -> Bool in
        sizes.append(size)
        return sizes.count <= 2
      }
      place = ring.look(from: next, while: takes) { seen.append($0) }
      #expect(Array(sizes.prefix(2)) == Array(seen.suffix(2)))
      if seen.count == 2 { for _ in 0..<3 { ring.popFirst() } }
      if seen.count == 4 { ring.append(6, bytes: 6) }
    }
    #expect(seen == [0, 1, 3, 4, 5, 6])
    ring.removeAll()
    ring.append(7, bytes: 7)
    #expect(ring.firstPlace == 7)
  }

  @Test func theOldestGoWhereThereAreTooManyOrTooMuch() {
    var ring = SizedRing<Int>(limit: (count: 3, bytes: 100))
    var gone: [Int] = []
    for (number, size) in [(1, 10), (2, 10), (3, 10), (4, 10), (5, 85)] {
      ring.append(number, bytes: size) { gone.append($0) }
    }
    #expect(gone == [1, 2, 3])
    #expect(ring.elements == [4, 5] && ring.bytes == 95)
    // It has no room for this one alone.
    ring.append(6, bytes: 101) { gone.append($0) }
    #expect(gone == [1, 2, 3, 4, 5, 6])
    #expect(ring.elements == [] && ring.bytes == 0)
  }

  @Test func whatIsTakenOutCountsNoMore() {
    var ring = SizedRing<Int>()
    for number in 1...3 { ring.append(number, bytes: number * 10) }
    #expect(ring.popFirst() == 1)
    #expect(ring.bytes == 50 && ring.count == 2 && ring.first == 2)
    #expect((-1...2).map { ring.look($0) { $0 } } == [nil, 2, 3, nil])
    ring.removeAll()
    #expect(ring.popFirst() == nil && ring.bytes == 0 && ring.first == nil)
  }
}
