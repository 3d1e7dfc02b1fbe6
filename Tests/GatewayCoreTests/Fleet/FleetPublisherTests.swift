import Testing

@testable import GatewayCore

@Suite struct FleetPublisherTests {
  private let scene = FleetScene()
  private let publisher: FleetPublisher
  private let own = FleetOwn(term: 1, host: "a")
  /// The end of the first conversation, where the server has hung up.
  private static let end = #"3-0 down(reason: "closed", detail: "gone", settled: nil)"#

  init() {
    publisher = FleetPublisher(scene.place, engine: scene.engine, timers: scene.timers, grace: .seconds(10))
    var taken: FleetTaken?
    let step = FleetTake(place: scene.place, host: "a", seen: FleetSight(), run: scene.store.run)
    scene.engine.run(step) { if case .done(let value) = $0 { taken = value } }
    scene.settle()
    if let taken { publisher.begin(own, taken) }
  }

  private func publish(_ text: String) { publisher.publish(FleetScene.event(text), offset: nil) }

  @Test func eventsBeforeTheNumberIsKnownFollowTheOpening() {
    publisher.opened(newEpoch: "e1", nil, hosts: 1)
    publish("one")
    scene.settle()
    publish("two")
    scene.settle()
    #expect(scene.events == ["1-0 take", "2-0 open(hosts: 1)", "2-1 one", "2-2 two"])
  }

  @Test func whatTheEngineHadNoRoomForIsSaidWhenItHasRoomAgain() {
    publisher.opened(newEpoch: "e1", nil, hosts: 1)
    scene.settle()
    scene.store.isFull = true
    publish("one")
    publish("two")
    scene.settle()
    publisher.heal()
    scene.settle()
    scene.store.isFull = false
    publish("three")
    scene.settle()
    #expect(scene.events == ["1-0 take", "2-0 open(hosts: 1)"])
    publisher.heal()
    scene.settle()
    publish("four")
    scene.settle()
    #expect(scene.events.dropFirst(2) == ["2-1 one", "2-2 two", "2-3 three", "2-4 four"])
  }

  @Test func theEngineHasNoMoreBytesOfEventsThanTheHolderKeeps() {
    publisher.opened(newEpoch: "e1", nil, hosts: 1)
    scene.settle()
    let text = String(repeating: "x", count: 1 << 20)
    for _ in 0..<100 {
      publish(text)
      scene.settle()
    }
    let records = scene.store.records(of: scene.place.key(.events), after: .start)
    let bytes = records.reduce(0) { $0 + $1.byteCount }
    #expect(bytes <= FleetPublisher.keptLimit.bytes + FleetPublisher.trimStep.bytes + text.utf8.count * 2)
    #expect(records.last?.position.number == 100 && records.count > 30)
  }

  @Test func aServerIsReadOnWhereTheEngineThatIsReachedAgainHasNoRoom() {
    publisher.opened(newEpoch: "e1", nil, hosts: 1)
    scene.settle()
    scene.engine.cut()
    publisher.engineLost()
    publish(String(repeating: "x", count: 2 << 20))
    #expect(publisher.unsentBytes > 2 << 20)
    scene.store.isFull = true
    scene.turn(by: .seconds(1))
    publisher.heal()
    scene.settle()
    #expect(publisher.unsentBytes == 0)
    publish(String(repeating: "x", count: 2 << 20))
    #expect(publisher.unsentBytes == 0)
  }

  @Test func anEndThatTheEngineHasLostIsSaidOnceMore() {
    publisher.opened(newEpoch: "e1", nil, hosts: 1)
    scene.settle()
    scene.store.copyToReplica()
    publisher.ended(UpstreamFailure(.closed, "gone"))
    scene.settle()
    #expect(scene.events == ["1-0 take", "2-0 open(hosts: 1)", Self.end])
    for isLost in [false, true] {
      if isLost { scene.store.failOver() } else { scene.engine.cut() }
      publisher.engineLost()
      scene.turn(by: .seconds(1))
      #expect(scene.events.count == (isLost ? 2 : 3))
      publisher.heal()
      scene.settle()
      #expect(scene.events == ["1-0 take", "2-0 open(hosts: 1)", Self.end])
    }
  }

  @Test func anOpeningThatIsNotConfirmedInTimeIsAskedForOnceMore() {
    var numbers: [UInt64] = []
    publisher.onOpen = { numbers.append($0.conversation) }
    // The holder looks whether it still is one, and asks again.
    publisher.onDoubt = { [publisher, scene] in scene.timers.after(.seconds(1)) { publisher.openAgain() } }
    scene.engine.copies = 1
    scene.engine.isCopied = false
    publisher.opened(newEpoch: "e1", nil, hosts: 1)
    scene.settle()
    scene.engine.isCopied = true
    scene.turn(by: .seconds(2))
    #expect(numbers == [3])
  }

  /// Each asking begins another one at the engine: what is said in the first counts for nothing then.
  @Test func aDoubtDoesNotOpenAConversationThatIsBeingOpened() {
    var numbers: [UInt64] = []
    publisher.onOpen = { numbers.append($0.conversation) }
    publisher.opened(newEpoch: "e1", nil, hosts: 1)
    publisher.openAgain()
    scene.settle()
    publish("one")
    scene.settle()
    #expect(numbers == [2])
    #expect(scene.events == ["1-0 take", "2-0 open(hosts: 1)", "2-1 one"])
  }

  @Test func aDoubtDoesNotOpenAConversationThatAnEngineWhichIsReachedAgainOpens() {
    publisher.engineLost()
    publisher.opened(newEpoch: "e1", nil, hosts: 1)
    scene.engine.way.delay = 5...5
    publisher.heal()
    scene.turn(by: .milliseconds(11))
    publisher.openAgain()
    publisher.heal()
    scene.turn(by: .seconds(1))
    publish("one")
    scene.turn(by: .seconds(1))
    #expect(scene.events == ["1-0 take", "2-0 open(hosts: 1)", "2-1 one"])
  }

  @Test func aLinkThatIsOpenedAnewBeforeTheEngineAnswersIsInItsOwnConversation() {
    var numbers: [UInt64] = []
    publisher.onOpen = { numbers.append($0.conversation) }
    publisher.opened(newEpoch: "e1", nil, hosts: 1)
    publisher.ended(UpstreamFailure(.closed, "gone"))
    publisher.opened(newEpoch: "e2", nil, hosts: 1)
    publish("one")
    scene.settle()
    #expect(numbers == [4])
    #expect(scene.events == ["1-0 take", "2-0 open(hosts: 1)", Self.end, "4-0 open(hosts: 1)", "4-1 one"])
  }

  @Test func numbersGoOnOverConversations() {
    publisher.opened(newEpoch: "e1", nil, hosts: 1)
    scene.settle()
    publish("one")
    publisher.ended(UpstreamFailure(.closed, "gone"))
    publisher.opened(newEpoch: "e2", nil, hosts: 2)
    scene.settle()
    publish("two")
    scene.settle()
    #expect(
      scene.events == [
        "1-0 take", "2-0 open(hosts: 1)", "2-1 one", Self.end,
        "4-0 open(hosts: 2)", "4-2 two",
      ])
  }

  @Test func nothingNewGoesOutBeforeWhatTheEngineHasLostIsThereAgain() {
    publisher.opened(newEpoch: "e1", nil, hosts: 1)
    scene.settle()
    publish("one")
    scene.settle()
    scene.store.copyToReplica()
    publish("two")
    publish("three")
    scene.settle()
    scene.store.failOver()
    publisher.engineLost()
    publish("four")
    scene.settle()
    #expect(scene.events == ["1-0 take", "2-0 open(hosts: 1)", "2-1 one"])
    // The engine is reached again, and something happens while it is asked what it has.
    scene.engine.way.delay = 5...5
    publisher.heal()
    publish("five")
    scene.turn(by: .milliseconds(7))
    publish("six")
    scene.turn(by: .seconds(1))
    #expect(
      scene.events == [
        "1-0 take", "2-0 open(hosts: 1)", "2-1 one", "2-2 two", "2-3 three", "2-4 four", "2-5 five", "2-6 six",
      ])
  }

  @Test func eventsThatNoHostHeardAreRecoveredByTheNextConversation() {
    publisher.opened(newEpoch: "e1", SessionPlace(session: "s", offset: "4"), hosts: 1)
    publisher.publish(FleetScene.event("five"), offset: "5")
    #expect(publisher.offset == "5")
    publisher.ended(UpstreamFailure(.closed, "gone"))
    scene.settle()
    #expect(publisher.offset == "4")
    #expect(publisher.sequence == 0)
  }

  @Test func aLateOpeningLeavesWhatWasHeardBeforeItToWhoeverTakesOver() {
    publisher.engineLost()
    publisher.opened(newEpoch: "e1", SessionPlace(session: "s", offset: "4"), hosts: 1)
    publisher.publish(FleetScene.event("five"), offset: "5")
    publisher.heal()
    scene.settle()
    #expect(scene.events == ["1-0 take", "2-0 open(hosts: 1)", "2-1 five"])
    let records = scene.store.records(of: scene.place.key(.events), after: .start)
    guard case .marker(let opening)? = FleetEntry(records[1].fields) else { return #expect(Bool(false), "no marker") }
    #expect(opening.sequence == 0 && opening.offset == "4")
  }

  @Test func theNextHostGoesOnInASessionThatHadNoOffsetYetWhenItBegan() {
    publisher.opened(newEpoch: "e1", SessionPlace(session: "s"), hosts: 1)
    scene.settle()
    publisher.publish(FleetScene.event("one", offset: "1"), offset: "1")
    scene.settle()
    #expect(takeOver()?.resumption == Resumption(session: "s", offset: "1"))
  }

  @Test func theNextHostRecoversNothingBehindAnEventWhoseOffsetIsNotKnown() {
    publisher.opened(newEpoch: "e1", SessionPlace(session: "s", offset: "1"), hosts: 1)
    scene.settle()
    publish("two")
    publisher.ended(UpstreamFailure(.closed, "gone"))
    scene.settle()
    #expect(publisher.offset == "")
    #expect(takeOver().map { $0.resumption == nil } == true)
  }

  private func takeOver() -> FleetTaken? {
    var taken: FleetTaken?
    let seen = FleetSight(own: own.text, beat: "0")
    scene.engine.run(FleetTake(place: scene.place, host: "b", seen: seen, run: scene.store.run)) {
      if case .done(let value) = $0 { taken = value }
    }
    scene.settle()
    return taken
  }

  @Test func anEndThatWasNotSaidIsSaidWhenTheEngineIsReachedAgain() {
    publisher.opened(newEpoch: "e1", nil, hosts: 1)
    scene.settle()
    publisher.engineLost()
    scene.engine.cut()
    publisher.ended(UpstreamFailure(.closed, "gone"))
    scene.settle()
    publisher.heal()
    scene.settle()
    #expect(scene.events == ["1-0 take", "2-0 open(hosts: 1)", Self.end])
  }

  @Test func anotherServerBeginsAnotherEpochAndLeavesNumbersOut() {
    let taken = FleetTaken(term: 2, conversation: 9, sequence: 40, epoch: "e1", isSameRun: false)
    publisher.begin(FleetOwn(term: 2, host: "a"), taken)
    #expect(publisher.epoch == "")
    #expect(publisher.sequence == 40 + FleetPublisher.skip)
  }

  @Test func anEventOfAnEndedTermIsRefusedAndDoubted() {
    publisher.opened(newEpoch: "e1", nil, hosts: 1)
    scene.settle()
    var doubts = 0
    publisher.onDoubt = { doubts += 1 }
    _ = scene.take("b")
    publish("late")
    scene.settle()
    #expect(scene.events == ["1-0 take", "2-0 open(hosts: 1)", "3-0 take"])
    #expect(doubts == 1)
  }

  /// Says thousands of events, which an engine that fails over loses.
  private func loseThousands() {
    publisher.historyLimit = 10_000
    publisher.opened(newEpoch: "e1", nil, hosts: 1)
    scene.settle()
    scene.store.copyToReplica()
    for number in 1...3_500 { publish("\(number)") }
    scene.settle()
    scene.store.failOver()
    publisher.engineLost()
    scene.settle()
    #expect(numbers.filter { $0 > 0 } == [])
  }

  @Test func thousandsOfEventsAreSaidAgainInPortionsAndWhatIsNewBehindThem() {
    loseThousands()
    publisher.heal()
    var most = 0
    while scene.timers.nextDeadline.map({ $0 <= scene.time.now }) ?? false {
      let before = scene.engine.asked
      scene.timers.fire()
      most = max(most, scene.engine.asked - before)
      // The next beat.
      publisher.heal()
      if publisher.sequence < 3_510 { publish("new") }
    }
    #expect(most >= FleetTurn.limit.count && most <= FleetTurn.limit.count + 8)
    #expect(numbers.filter { $0 > 0 } == Array(1...3_510))
    #expect(scene.events.count == 3_512)
  }

  @Test func anEngineThatIsLostOrRefusesWhileEventsAreSaidAgainHasThemAllAtLast() {
    loseThousands()
    publisher.heal()
    for isLost in [false, true] {
      for _ in 0..<4 { scene.timers.fire() }
      #expect(numbers.last ?? 0 < 3_500)
      if isLost { scene.engine.cut() } else { scene.store.isFull = true }
      if isLost { publisher.engineLost() }
      publish("new")
      scene.settle()
      scene.store.isFull = false
      publisher.heal()
    }
    scene.settle()
    publish("last")
    scene.settle()
    #expect(numbers.filter { $0 > 0 } == Array(1...3_503))
  }

  @Test func aLinkThatEndsWhileEventsAreSaidAgainEndsBehindThem() {
    loseThousands()
    publisher.heal()
    for _ in 0..<4 { scene.timers.fire() }
    publisher.ended(UpstreamFailure(.closed, "gone"))
    scene.settle()
    #expect(scene.events.suffix(2) == ["2-3500 3500", Self.end])
  }

  @Test func thousandsOfEventsBeforeTheNumberIsKnownFollowTheOpeningInPortions() {
    publisher.historyLimit = 10_000
    publisher.opened(newEpoch: "e1", nil, hosts: 1)
    for number in 1...3_500 { publish("\(number)") }
    #expect(scene.settleCountingCalls() <= FleetTurn.limit.count + 8)
    publish("last")
    scene.settle()
    #expect(numbers == [0, 0] + Array(1...3_501))
  }

  /// The numbers of the events that the engine has.
  private var numbers: [UInt64] {
    scene.store.records(of: scene.place.key(.events), after: .start).map(\.position.number)
  }

  @Test func whatAHostMayNotHaveReadYetIsNotForgottenThoughItIsBeyondTheHistory() {
    publisher.historyLimit = 10
    publisher.opened(newEpoch: "e1", nil, hosts: 1)
    scene.settle()
    for number in 1...640 { publish("\(number)") }
    scene.turn(by: .seconds(9))
    #expect(numbers.filter { $0 > 0 } == Array(1...640))
    scene.turn(by: .seconds(1))
    for number in 641...704 { publish("\(number)") }
    scene.settle()
    #expect(numbers.filter { $0 > 0 } == Array(640...704))
  }

  @Test func hostsThatLagCostTheEngineNoMoreThanTheHolderItselfKeeps() {
    publisher.historyLimit = 10
    publisher.opened(newEpoch: "e1", nil, hosts: 1)
    scene.settle()
    let long = String(repeating: "1", count: 1 << 20)
    for _ in 1...64 { publish(long) }
    scene.settle()
    #expect(numbers.filter { $0 > 0 } == Array(34...64))
  }
}
