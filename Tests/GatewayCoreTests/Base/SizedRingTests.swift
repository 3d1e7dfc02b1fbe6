import Testing

@testable import GatewayCore

@Suite struct SizedRingTests {
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
