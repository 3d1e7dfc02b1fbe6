import Testing

@testable import GatewayCore

@Suite struct DeadlineHeapTests {
  /// Waits until it is told otherwise.
  final class Item: DeadlineItem {
    let number: Int
    var deadline: MonotonicInstant?

    init(_ number: Int, _ deadline: MonotonicInstant) {
      self.number = number
      self.deadline = deadline
    }

    func waits(until deadline: MonotonicInstant) -> Bool { self.deadline == deadline }

    static func == (a: Item, b: Item) -> Bool { a.number == b.number }
    static func < (a: Item, b: Item) -> Bool { a.number < b.number }
  }

  /// One time-out for nearly all, or any for each.
  @Test(arguments: [1, 2, 3, 4] as [UInt64], [50, 1] as [Int64])
  func theFirstIsTheEarliestOfThoseThatWait(_ seed: UInt64, _ spread: Int64) {
    var random = FakeRandom(seed: seed)
    var heap = DeadlineHeap<Item>()
    var model: [Item] = []
    for number in 0..<10_000 {
      switch Int.random(in: 0..<(number % 2_000 < 1_000 ? 5 : 9), using: &random) {
      case 0...2:
        let start = spread == 1 && number % 10 > 0 ? Int64(number) : 0
        let deadline = MonotonicInstant(nanoseconds: start + Int64.random(in: 0..<spread, using: &random))
        let item = Item(number, deadline)
        heap.push(deadline, item)
        model.append(item)
      case 3:
        let first = heap.first()
        #expect(first?.item.number == model.min { ($0.deadline!, $0.number) < ($1.deadline!, $1.number) }?.number)
        #expect(heap.firstDeadline() == first?.deadline)
        guard let first else { continue }
        heap.removeFirst()
        model.removeAll { $0 === first.item }
      default:
        guard let index = model.indices.randomElement(using: &random) else { continue }
        model.remove(at: index).deadline = nil
        heap.noteEnd()
        #expect(heap.entryCount <= max(64, 4 * heap.count))
      }
      #expect(heap.count == model.count)
    }
  }

  /// Says how often it was asked.
  private struct Watched: DeadlineItem {
    final class State {
      var waits = true
      nonisolated(unsafe) static var asked = 0
    }

    let number: Int
    let state: State

    func waits(until _: MonotonicInstant) -> Bool {
      State.asked += 1
      return state.waits
    }

    static func == (a: Self, b: Self) -> Bool { a.number == b.number }
    static func < (a: Self, b: Self) -> Bool { a.number < b.number }
  }

  @Test func theEndOfOneLooksAtAFewOthersHoweverManyThereAre() {
    var heap = DeadlineHeap<Watched>()
    let states = (0..<20_000).map { _ in Watched.State() }
    for (number, state) in states.enumerated() {
      heap.push(MonotonicInstant(nanoseconds: Int64(number)), Watched(number: number, state: state))
    }
    var most = 0
    for state in states.reversed() {
      state.waits = false
      Watched.State.asked = 0
      heap.noteEnd()
      most = max(most, Watched.State.asked)
    }
    #expect(1...16 ~= most)
    #expect(heap.count == 0 && heap.entryCount <= 64)
  }

  @Test func aHeapGivesItsElementsInOrder() {
    var random = FakeRandom(seed: 5)
    var heap = Heap<Int>()
    let numbers = (0..<500).map { _ in Int.random(in: 0..<100, using: &random) }
    for number in numbers { heap.push(number) }
    while let index = (0..<heap.count).first(where: { heap[$0] % 3 == 0 }) { heap.remove(at: index) }
    var found: [Int] = []
    while let first = heap.first {
      found.append(first)
      heap.removeFirst()
    }
    #expect(found == numbers.filter { $0 % 3 != 0 }.sorted())
  }
}
