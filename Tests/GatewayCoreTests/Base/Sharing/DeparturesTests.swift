import Testing

@testable import GatewayCore

/// What clients that leave give back: so much in each turn, of all of them together.
@Suite struct DeparturesTests {
  private let time = FakeTime()
  private let timers: Timers
  private let departures: Departures
  private let log = Log()

  private final class Log {
    var entries: [String] = []
  }

  init() {
    timers = Timers(time: time)
    departures = Departures(SlicedWork(timers))
  }

  /// Something of a user with so many pieces, of which each counts and takes so much.
  private func leave(_ name: String, of user: UInt32 = 1, _ count: Int, cost: Int = 1, each: Duration = .zero) {
    var given = 0
    departures.end(for: .user(user)) { [log, time] in
      guard given < count else {
        log.entries.append("\(name) done")
        return nil
      }
      given += 1
      log.entries.append("\(name).\(given)")
      time.advance(by: each)
      return cost
    }
  }

  /// What the next turn gives back.
  private func turn() -> [String] {
    log.entries = []
    timers.fire()
    return log.entries
  }

  @Test func fewGoAtOnceAndAreDone() {
    leave("a", 2)
    leave("b", of: 2, 1)
    #expect(log.entries == ["a.1", "a.2", "a done", "b.1", "b done"])
    #expect(turn().isEmpty && timers.count == 0)
  }

  @Test func whatHasGoneInTheSameTurnCountsForThoseThatFollow() {
    leave("a", 2, cost: Departures.portion / 2)
    leave("b", of: 2, 1)
    #expect(log.entries == ["a.1", "a.2"])
    #expect(turn() == ["a done"])
    #expect(turn() == ["b.1", "b done"])
    leave("c", 1)
    #expect(log.entries.suffix(2) == ["c.1", "c done"])
  }

  @Test func whatTakesLongIsBoundByTimeInEveryTurn() {
    leave("a", 3, each: Portion.limit)
    leave("b", of: 2, 1)
    #expect(log.entries == ["a.1"])
    #expect(turn() == ["a.2"])
    #expect(turn() == ["b.1", "b done"])
    #expect(turn() == ["a.3"])
    #expect(turn() == ["a done"])
  }

  @Test func allOfOneUserGoInTheirOrderAndManyShareAPortion() {
    leave("a", 2, cost: Departures.portion)
    for name in ["b", "c"] { leave(name, 1) }
    #expect(log.entries == ["a.1"])
    #expect(turn() == ["a.2"])
    #expect(turn() == ["a done", "b.1", "b done", "c.1", "c done"])
  }
}
