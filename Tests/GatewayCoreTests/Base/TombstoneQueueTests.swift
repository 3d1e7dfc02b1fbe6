import Testing

@testable import GatewayCore

@Suite struct TombstoneQueueTests {
  private func queue(_ places: [UInt64]) -> TombstoneQueue<String> {
    var queue = TombstoneQueue<String>()
    for place in places { queue.insert("c\(place)", at: place) }
    return queue
  }

  @Test func whatComesBackStandsWhereItStood() {
    var queue = queue([1, 2, 3, 5])
    for place in [1, 2, 5] as [UInt64] { queue.remove(at: place) }
    #expect((queue.firstPlace, queue.count) == (3, 1))
    for place in [2, 4, 1] as [UInt64] { queue.insert("c\(place)", at: place) }
    #expect(Array(queue.all) == ["c1", "c2", "c3", "c4"])
  }

  @Test func aPlaceWhereNothingStandsIsPassedOver() {
    var queue = queue([1, 2, 3, 4])
    #expect(queue.remove(at: 2) == "c2")
    #expect(queue.remove(at: 2) == nil)
    #expect(queue.remove(at: 9) == nil)
    #expect((queue.nextPlace(from: 2), queue.nextPlace(from: 5), queue.count) == (3, nil, 3))
    #expect((queue[2], queue[3]) == (nil, "c3"))
  }

  @Test(arguments: [[], [4], [1, 2, 3], [1, 6, 9], [11, 12]] as [[UInt64]])
  func manyComeBackToTheirPlacesAtOnce(_ places: [UInt64]) {
    var queue = queue([0, 5, 7, 8, 10])
    queue.remove(at: 0)
    queue.remove(at: 7)
    queue.insert(places.map { ($0, "c\($0)") })
    let all = ([5, 8, 10] + places).sorted()
    #expect(Array(queue.all) == all.map { "c\($0)" })
    #expect((queue.count, queue.firstPlace) == (all.count, all.first))
    for place in all { #expect(queue[place] == "c\(place)") }
    for place in all { queue.remove(at: place) }
    #expect(queue.isEmpty)
  }

  @Test func tombstonesBehindTheFirstElementGoWhenTheyAreTheMajority() {
    var queue = queue(Array(0..<1_000))
    for place in 1..<999 as Range<UInt64> { queue.remove(at: place) }
    #expect(Array(queue.all) == ["c0", "c999"])
    #expect(queue.slotCount <= 64)
    #expect((queue.nextPlace(from: 1), queue[999]) == (999, "c999"))
    queue.remove(at: 0)
    queue.remove(at: 999)
    #expect(queue.isEmpty && queue.firstPlace == nil)
    queue.insert("new", at: 1_000)
    #expect(Array(queue.all) == ["new"])
  }

  private final class Element {
    let onEnd: () -> Void
    init(_ onEnd: @escaping () -> Void) { self.onEnd = onEnd }
    deinit { onEnd() }
  }

  @Test func aLongQueueThatIsNotWantedIsFreedAPortionInEachTurn() {
    let timers = Timers(time: FakeTime())
    let work = SlicedWork(timers)
    var queue = TombstoneQueue<Element>()
    var freed = 0
    let portion = Ring<Element>.blockSize
    for _ in 0..<(2 * portion + 1) { queue.append(Element { freed += 1 }) }
    work.release(queue, for: .user(1))
    queue.removeAll()
    for turn in 1...2 {
      #expect(freed == (turn - 1) * portion)
      timers.fire()
    }
    timers.fire()
    #expect(freed == 2 * portion + 1 && timers.count == 0)
  }

  /// Against a dictionary, with places close together, far apart, given and its own.
  @Test(arguments: [(1, 40), (2, 400), (3, 1 << 60)] as [(UInt64, UInt64)])
  func itIsTheSortedContentOfADictionary(_ seed: UInt64, _ span: UInt64) {
    var random = FakeRandom(seed: seed)
    var queue = TombstoneQueue<UInt64>()
    var model: [UInt64: UInt64] = [:]
    for step in 0..<8_000 as Range<UInt64> {
      let place = UInt64.random(in: 0..<span, using: &random)
      let known = queue.nextPlace(from: place) ?? place
      // It grows and shrinks in turns.
      switch UInt64.random(in: 0..<(step % 4_000 < 2_000 ? 8 : 14), using: &random) {
      case 0...2:
        queue.insert(step, at: place)
        model[place] = step
      case 3:
        let own = queue.append(step)
        model[own] = step
      case 4:
        let many = Set((0..<5).map { _ in UInt64.random(in: 0..<span, using: &random) }.filter { model[$0] == nil })
        queue.insert(many.sorted().map { ($0, step) })
        for place in many { model[place] = step }
      case 5: #expect(queue.remove(at: place) == model.removeValue(forKey: place))
      case 6:
        let first = model.keys.min()
        #expect(queue.popFirst() == first.flatMap { model.removeValue(forKey: $0) })
      case 7 where step % 1_000 < 10:
        queue.removeAll()
        model.removeAll()
      default: #expect(queue.remove(at: known) == model.removeValue(forKey: known))
      }
      #expect((queue.count, queue.isEmpty) == (model.count, model.isEmpty))
      #expect(queue[place] == model[place])
      if step % 50 == 0 {
        let places = model.keys.sorted()
        #expect(Array(queue.all) == places.map { model[$0] })
        #expect((queue.firstPlace, queue.last?.place) == (places.first, places.last))
        #expect(queue.first == places.first.flatMap { model[$0] })
        #expect(queue.last?.element == places.last.flatMap { model[$0] })
        #expect(queue.nextPlace(from: place) == places.first { $0 >= place })
      }
      #expect(queue.slotCount <= max(64, 2 * queue.count + 1))
    }
  }
}
