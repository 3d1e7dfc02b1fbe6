import Testing

@testable import GatewayCore

@Suite struct NumberTableTests {
  @Test func holdsWhatADictionaryHolds() {
    let random = FakeRandom(seed: 1)
    var table = NumberTable<Int>()
    var model: [UInt64: Int] = [:]
    for step in 0..<20_000 {
      // Few keys, some of them with the same low bits, so that they meet each other.
      let key = random.bits() % 64 &* (step.isMultiple(of: 2) ? 1 : 1 << 32)
      switch random.bits() % 3 {
      case 0: #expect(table.removeValue(forKey: key) == model.removeValue(forKey: key))
      default:
        table[key] = step
        model[key] = step
      }
      #expect(table.count == model.count)
      #expect(table[key] == model[key])
    }
    #expect(Dictionary(uniqueKeysWithValues: table.pairs.map { ($0.key, $0.value) }) == model)
  }

  @Test(arguments: [0, 1, 3, 4, 96, 97, 1_000]) func roomThatWasAskedForIsFilledLikeAnyOther(_ room: Int) {
    var table = NumberTable<Int>(room: room)
    #expect(table.isEmpty && table[0] == nil && table.removeValue(forKey: 1) == nil)
    for key in 0..<room + 5 { table[UInt64(key)] = key }
    #expect(table.values.sorted() == Array(0..<room + 5))
  }

  @Test(arguments: [0, 1, 4, 97]) func everythingIsHandedOutOnceAndTheTableIsEmptyThen(_ count: Int) {
    var table = NumberTable<Int>()
    for key in 0..<count { table[UInt64(key)] = -key }
    var drained: [UInt64: Int] = [:]
    table.drain { key, value in
      #expect(drained[key] == nil)
      drained[key] = value
    }
    #expect(drained == Dictionary(uniqueKeysWithValues: (0..<count).map { (UInt64($0), -$0) }))
    #expect(table.isEmpty && table[0] == nil && Array(table.values).isEmpty)
    table[7] = 1
    #expect(table.pairs.map(\.key) == [7])
  }

  @Test func findsNumbersThatFollowEachOther() {
    var table = NumberTable<UInt64>()
    for key in 0..<10_000 as Range<UInt64> { table[key] = key * 2 }
    #expect((0..<10_000).allSatisfy { table[$0] == $0 * 2 })
    for key in 0..<5_000 as Range<UInt64> { table[key] = nil }
    #expect(table.values.sorted() == (5_000..<10_000).map { $0 * 2 })
    #expect(!table.contains(4_999))
    #expect(table.contains(5_000))
  }

  @Test func countsOfAKeyAddUpAndAKeyWithoutAnyIsForgotten() {
    var table = NumberTable<Int>()
    let keys = 0..<100 as Range<UInt64>
    for key in keys { table.add(2, to: key) }
    for key in keys { table.add(-1, to: key) }
    #expect(table.count == 100 && table.values.allSatisfy { $0 == 1 })
    for key in keys { table.add(-1, to: key) }
    #expect(table.isEmpty && keys.allSatisfy { table[$0] == nil })
  }

  @Test func isEmptyAfterTheLastValueLeft() {
    var table = NumberTable<String>()
    #expect(table.isEmpty)
    table[.max - 1] = "a"
    table[0] = "b"
    #expect(table[.max] == nil)
    table[.max - 1] = nil
    #expect(table[0] == "b")
    table[0] = nil
    #expect(table.isEmpty)
    #expect(table[0] == nil)
    table[7] = "c"
    table.removeAll()
    #expect(table[7] == nil)
  }

  @Test func theSameContentIsEqualInWhateverOrderItCame() {
    var (a, b) = (NumberTable<Int>(), NumberTable<Int>())
    for key in 0..<100 as Range<UInt64> { a[key] = Int(key) }
    for key in (0..<100 as Range<UInt64>).reversed() { b[key] = Int(key) }
    #expect(a == b)
    b[3] = 4
    #expect(a != b)
  }
}
