@testable import GatewayCore
import Testing

@Suite struct TimersTests {
  let time = FakeTime()
  let timers: Timers

  init() { timers = Timers(time: time) }

  /// What fired, in order.
  final class Log {
    var entries: [Int] = []
  }

  @Test func callsFireInTheOrderOfTheirDeadlines() {
    let log = Log()
    for delay in [5, 1, 4, 2, 3] { timers.after(.seconds(delay)) { log.entries.append(delay) } }
    time.advance(by: .seconds(3))
    timers.fire()
    #expect(log.entries == [1, 2, 3])
    time.advance(by: .seconds(2))
    timers.fire()
    #expect(log.entries == [1, 2, 3, 4, 5])
    #expect((timers.count, timers.nextDeadline) == (0, nil))
  }

  @Test func workThatGoesOnHasOnePortionInEachTurn() {
    let log = Log()
    timers.goOn {
      log.entries.append(log.entries.count)
      return log.entries.count < 3
    }
    #expect(log.entries == [0])
    timers.fire()
    #expect(log.entries == [0, 1])
    for _ in 0..<5 { timers.fire() }
    #expect(log.entries == [0, 1, 2] && timers.count == 0)
  }

  @Test func equalDeadlinesFireInTheOrderOfScheduling() {
    let log = Log()
    for number in 0..<100 { timers.after(.seconds(1)) { log.entries.append(number) } }
    time.advance(by: .seconds(1))
    timers.fire()
    #expect(log.entries == Array(0..<100))
  }

  @Test func nothingFiresBeforeItsDeadlineOrInsideScheduling() {
    let log = Log()
    timers.after(.seconds(1)) { log.entries.append(1) }
    timers.after(.seconds(-5)) { log.entries.append(2) }
    timers.at(time.now - .seconds(5)) { log.entries.append(3) }
    #expect(log.entries == [])
    timers.fire()
    #expect(log.entries == [3, 2])
    time.advance(by: .nanoseconds(999_999_999))
    timers.fire()
    #expect(log.entries == [3, 2])
    #expect(timers.nextDeadline == time.now + .nanoseconds(1))
  }

  @Test func aCancelledCallNeverFires() {
    let log = Log()
    let first = timers.after(.seconds(1)) { log.entries.append(1) }
    timers.after(.seconds(2)) { log.entries.append(2) }
    timers.cancel(first)
    timers.cancel(first)
    timers.cancel(nil)
    #expect((timers.count, timers.nextDeadline) == (1, time.now + .seconds(2)))
    time.advance(by: .seconds(9))
    timers.fire()
    #expect(log.entries == [2])
    timers.cancel(first)
    #expect(timers.count == 0)
  }

  @Test func aBodyMayCancelTheNextOne() {
    let log = Log()
    var second: Timers.ID?
    timers.after(.seconds(1)) { [timers] in
      log.entries.append(1)
      timers.cancel(second)
    }
    second = timers.after(.seconds(1)) { log.entries.append(2) }
    timers.after(.seconds(1)) { log.entries.append(3) }
    time.advance(by: .seconds(1))
    timers.fire()
    #expect(log.entries == [1, 3])
  }

  @Test func aBodyThatReschedulesItselfWaitsForTheNextTurn() {
    let log = Log()
    func again() {
      log.entries.append(log.entries.count)
      timers.after(.zero, again)
    }
    timers.after(.zero, again)
    timers.fire()
    #expect(log.entries == [0])
    timers.fire()
    #expect(log.entries == [0, 1])
    #expect(timers.nextDeadline == time.now)
  }

  @Test func callsThatHaveToWaitForOthersFireInTheNextTurnAndInOrder() {
    let log = Log()
    for number in 0..<10 { timers.after(.seconds(1)) { log.entries.append(number) } }
    time.advance(by: .seconds(1))
    timers.fire { log.entries.count < 4 }
    #expect(log.entries == [0, 1, 2, 3])
    #expect((timers.count, timers.nextDeadline) == (6, time.now))
    timers.fire()
    #expect(log.entries == Array(0..<10))
  }

  @Test func onlyAnEarlierDeadlineIsAnnounced() {
    let log = Log()
    timers.onEarlierDeadline = { log.entries.append(1) }
    timers.after(.seconds(5)) {}
    #expect(log.entries.count == 1)
    timers.after(.seconds(6)) {}
    timers.after(.seconds(5)) {}
    #expect(log.entries.count == 1)
    timers.after(.seconds(4)) {}
    #expect(log.entries.count == 2)
  }

  @Test func manyCancelledCallsLeaveTheRestInOrder() {
    let log = Log()
    let random = FakeRandom(seed: 5)
    var kept: [(delay: Int, number: Int)] = []
    var cancelled: [Timers.ID] = []
    for number in 0..<2_000 {
      let delay = Int(random.bits() % 500)
      let id = timers.after(.milliseconds(delay)) { log.entries.append(number) }
      if number % 10 == 0 { kept.append((delay, number)) } else { cancelled.append(id) }
    }
    cancelled.forEach(timers.cancel)
    #expect(timers.count == kept.count)
    time.advance(by: .seconds(1))
    timers.fire()
    #expect(log.entries == kept.sorted { ($0.delay, $0.number) < ($1.delay, $1.number) }.map(\.number))
  }

  @Test func cancelledCallsLetGoOfWhatTheyHeldAtOnce() {
    final class Held {}
    weak var held: Held?
    let id: Timers.ID
    do {
      let object = Held()
      held = object
      id = timers.after(.seconds(1)) { _ = object }
    }
    #expect(held != nil)
    timers.cancel(id)
    #expect(held == nil)
  }
}
