import Testing

@testable import GatewayCore

@Suite struct FleetPortionsTests {
  private let scene = FleetScene()
  private var key: FleetKey { scene.place.key(.adopted) }

  @Test func theNamesOfALongTableAreLookedAtInPortionsAlsoWhereNoneIsWanted() {
    let count = FleetNames.portion * 3
    for number in 1...count { scene.store.set(key, "b/\(number)", [1]) }
    var (looks, most, isOver) = (0, 0, false)
    FleetPortions(key: key, engine: scene.engine).read { _ in
      looks += 1
      return false
    } _: { _ in
      Issue.record("none is wanted")
    } _: {
      if case .done = $0 { isOver = true }
    }
    while scene.timers.nextDeadline.map({ $0 <= scene.time.now }) ?? false {
      let before = looks
      scene.timers.fire()
      most = max(most, looks - before)
    }
    #expect(isOver && looks == count && most == FleetNames.portion)
  }

  @Test func theRowsOfALongTableAreReadOnceEachInPortions() {
    let count = FleetNames.portion * 2 + 1
    for number in 1...count { scene.store.set(key, "b/\(number)", [1]) }
    var (seen, isOver) = ([String](), false)
    FleetPortions(key: key, engine: scene.engine).read {
      $0.hasSuffix("7")
    } _: {
      #expect($0.count <= FleetPortions.portion)
      seen += $0.keys
    } _: {
      if case .done = $0 { isOver = true }
    }
    scene.settle()
    #expect(isOver && seen.sorted() == (1...count).map { "b/\($0)" }.filter { $0.hasSuffix("7") }.sorted())
  }

  @Test func anEngineThatIsLostAmongTheNamesEndsTheReading() {
    for number in 1...(FleetNames.portion * 3) { scene.store.set(key, "b/\(number)", [1]) }
    scene.engine.way.delay = 5...5
    var ends: [FleetOutcome<Bool>] = []
    FleetPortions(key: key, engine: scene.engine).read { _ in
      false
    } _: { _ in
    } _: {
      ends.append($0.failure() ?? .done(true))
    }
    scene.turn(by: .milliseconds(12))
    scene.engine.way.isOpen = false
    scene.engine.cut()
    scene.turn(by: .seconds(1))
    #expect(ends == [.unanswered])
  }

  @Test func namesAreTakenOutInPortionsBehindWhatIsNone() {
    let replies = [FleetReply.integer(7)] + (1...FleetNames.portion + 1).map { FleetReply.bytes(Array("\($0)".utf8)) }
    var names = FleetNames(replies, from: 1) ?? FleetNames()
    let first = names.takePortion()
    #expect(first.count == FleetNames.portion && first.last == "\(FleetNames.portion + 1)")
    #expect(names.takePortion() == ["1"] && names.isEmpty && names.takePortion() == [])
    #expect(FleetNames(replies) == nil && FleetNames([.integer(7)], from: 1) == FleetNames())
  }
}
