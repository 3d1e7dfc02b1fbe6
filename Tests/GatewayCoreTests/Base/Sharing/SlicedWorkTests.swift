import Testing

@testable import GatewayCore

@Suite struct SlicedWorkTests {
  private final class Log {
    var entries: [String] = []
  }

  private let time = FakeTime()
  private let log = Log()

  @Test func manyAreDoneAPortionInEachTurnInARoundOverUsers() {
    let timers = Timers(time: time)
    let work = SlicedWork(timers)
    for (user, count) in [(1, 5), (2, 3), (3, 2)] as [(UInt32, Int)] {
      work.forEach(of: 1...count, portion: 2, for: .user(user)) { [log] in
        log.entries.append("\(user).\($0)")
      } then: { [log] in
        log.entries.append("\(user) done")
      }
    }
    #expect(log.entries == ["1.1", "1.2", "2.1", "2.2", "3.1", "3.2", "3 done"])
    log.entries = []
    timers.fire()
    #expect(log.entries == ["1.3", "1.4"])
    timers.fire()
    #expect(log.entries == ["1.3", "1.4", "2.3", "2 done"])
    timers.fire()
    #expect(log.entries.suffix(2) == ["1.5", "1 done"])
    timers.fire()
    #expect(timers.count == 0)
  }
}
