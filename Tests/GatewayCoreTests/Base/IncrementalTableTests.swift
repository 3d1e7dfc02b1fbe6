import Testing

@testable import GatewayCore

@Suite struct IncrementalTableTests {
  /// Counts how often a key is hashed.
  private final class Counter {
    var hashes = 0
  }

  private struct Key: Hashable {
    let number: Int
    let counter: Counter

    static func == (a: Key, b: Key) -> Bool { a.number == b.number }
    func hash(into hasher: inout Hasher) {
      counter.hashes += 1
      hasher.combine(number)
    }
  }

  /// Keys of which many have the same hash.
  private struct Alike: Hashable {
    let number: Int

    func hash(into hasher: inout Hasher) { hasher.combine(number % 7) }
  }

  @Test func noKeyIsHashedAgainWhenOthersComeOrGo() {
    let counter = Counter()
    var table = IncrementalTable<Key, Int>()
    var most = 0
    func note(_ work: () -> Void) {
      counter.hashes = 0
      work()
      most = max(most, counter.hashes)
    }
    for number in 0..<100_000 { note { table[Key(number: number, counter: counter)] = number } }
    for number in 0..<100_000 { note { table[Key(number: number, counter: counter)] = nil } }
    #expect(most == 1)
    #expect(table.isEmpty)
  }

  @Test func onlyAFewHundredValuesMoveTogether() {
    var table = IncrementalTable<Int, Int>()
    for number in 0..<50_000 {
      table[number] = number
      if number.isMultiple(of: 97) { #expect(table.fullestPiece < 512) }
    }
    #expect(table.pieceCount > 300)
    for number in 0..<50_000 {
      table[number] = nil
      if number.isMultiple(of: 97) { #expect(table.fullestPiece < 512) }
    }
    #expect(table.pieceCount == 1)
  }

  @Test func holdsWhatADictionaryHolds() {
    let random = FakeRandom(seed: 1)
    var table = IncrementalTable<Int, Int>()
    var model: [Int: Int] = [:]
    for step in 0..<40_000 {
      let key = Int(random.bits() % 4_000)
      // More come at first, and more go then.
      if random.bits() % 8 < (step < 20_000 ? 6 : 2) {
        #expect(table.updateValue(step, forKey: key) == model.updateValue(step, forKey: key))
      } else {
        #expect(table.removeValue(forKey: key) == model.removeValue(forKey: key))
      }
      #expect(table.count == model.count && table[key] == model[key])
    }
    #expect(Dictionary(uniqueKeysWithValues: table.pairs.map { ($0.key, $0.value) }) == model)
    #expect(table.values.sorted() == model.values.sorted())
  }

  @Test func allGoPieceByPieceAndTheOthersAreFoundMeanwhile() {
    var table = IncrementalTable<Int, Int>()
    for number in 0..<10_000 { table[number] = number }
    var gone: Set<Int> = []
    while !table.isEmpty {
      let piece = table.popPiece()
      #expect(piece.count < 1_000 && piece.allSatisfy { $0.key == $0.value })
      gone.formUnion(piece.map(\.key))
      #expect(gone.count + table.count == 10_000)
      if let left = (0..<10_000).first(where: { !gone.contains($0) }) { #expect(table[left] == left) }
    }
    table[7] = 8
    #expect(table[7] == 8 && table.count == 1)
  }

  @Test func aValueIsChangedInItsPlaceAndNoOther() {
    var table = IncrementalTable<Alike, [Int]>()
    for number in 0..<40 where !number.isMultiple(of: 3) { table[Alike(number: number)] = [number] }
    for number in 0..<40 {
      #expect(table.update(Alike(number: number)) { $0.append(-number) } == !number.isMultiple(of: 3))
    }
    for number in 0..<40 {
      #expect(table[Alike(number: number)] == (number.isMultiple(of: 3) ? nil : [number, -number]))
    }
    #expect(table.count == 26)
  }

  @Test func keysWithOneHashAreToldApart() {
    let random = FakeRandom(seed: 2)
    var table = IncrementalTable<Alike, Int>()
    var model: [Alike: Int] = [:]
    for step in 0..<5_000 {
      let key = Alike(number: Int(random.bits() % 40))
      if random.bits() % 2 == 0 {
        #expect(table.updateValue(step, forKey: key) == model.updateValue(step, forKey: key))
      } else {
        #expect(table.removeValue(forKey: key) == model.removeValue(forKey: key))
      }
      #expect(table.count == model.count && table[key] == model[key])
    }
    #expect(Dictionary(uniqueKeysWithValues: table.pairs.map { ($0.key, $0.value) }) == model)
  }
}
