import Testing

@testable import GatewayCore

@Suite struct SortedSetTests {
  private let limit = SortedSet<Int>.blockLimit

  @Test func whateverComesAndGoesItIsInOrderAndThereOnce() {
    var (set, model) = (SortedSet<Int>(), Set<Int>())
    let random = FakeRandom()
    for _ in 0..<20_000 {
      let number = Int(random.bits() % 3_000)
      if random.bits() % 5 < 3 {
        #expect(set.insert(number) == model.insert(number).inserted)
      } else {
        #expect(set.remove(number) == (model.remove(number) != nil))
      }
    }
    #expect(Array(set.all) == model.sorted() && set.count == model.count)
    #expect((0..<3_000).allSatisfy { set.contains($0) == model.contains($0) })
    for last in stride(from: -1, to: 3_000, by: 7) {
      #expect(set.next(300, behind: last) == Array(model.sorted().drop { $0 <= last }.prefix(300)))
    }
    #expect(set.next(10, behind: nil) == Array(model.sorted().prefix(10)))
    for last in -1...3_000 { #expect(set.first(behind: last) == set.next(1, behind: last).first) }
    #expect(set.first(behind: nil) == model.min() && set.last == model.max())
  }

  @Test func whatComesInItsOrderFillsBlocks() {
    var set = SortedSet<Int>()
    for number in 0..<(limit * 3) { set.insert(number) }
    let blocks = (0..<4).map { _ in set.popFirstBlock() }
    #expect(blocks == [Array(0..<limit), Array(limit..<(limit * 2)), Array((limit * 2)..<(limit * 3)), []])
    #expect(set.isEmpty)
  }

  @Test func aUnionHasWhatAnyHasInItsOrderAndOnce() {
    let random = FakeRandom(seed: 1)
    for count in 0..<5 {
      var (sets, all): ([SortedSet<Int>], Set<Int>) = ([], [])
      for _ in 0..<count {
        var set = SortedSet<Int>(only: 7)
        for _ in 0..<700 { set.insert(Int(random.bits() % 2_000)) }
        sets.append(set)
        all.formUnion(set.all)
      }
      #expect(SortedSet.union(sets) == all.sorted())
    }
  }

  @Test func anEmptyOneHasNothing() {
    var set = SortedSet<Int>()
    #expect(!set.remove(1) && !set.contains(1) && set.next(5, behind: nil) == [] && set.next(5, behind: 3) == [])
    set.insert(1)
    set.remove(1)
    #expect(set.isEmpty && Array(set.all) == [])
  }
}
