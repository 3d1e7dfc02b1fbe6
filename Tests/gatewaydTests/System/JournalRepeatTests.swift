@testable import GatewayCore
import Testing

@testable import gatewayd

/// Repeated facts are counted, not repeated.
struct JournalRepeatTests {
  private final class StandingClock: TimeSource {
    var now = MonotonicInstant(nanoseconds: 0)
    var wallMilliseconds: Int64 = 0
  }

  private let clock = StandingClock()
  private let timers: Timers
  private let written = Written()
  private let log: Log

  private final class Written { var records: [LogRecord] = [] }

  init() {
    timers = Timers(time: clock)
    let written = written
    log = Log(time: clock, timers: timers) { written.records.append($0) }
  }

  private func lost(_ upstream: String, attempt: Int = 0) -> LogRecord {
    LogRecord(.connectionDown, [.upstream: upstream, .reason: "closed", .attempt: String(attempt)])
  }

  private func move(_ duration: Duration) {
    clock.now = clock.now + duration
    timers.fire()
  }

  @Test func aStormBecomesAFewLinesAndACount() {
    for attempt in 0..<1_000 { log.record(lost("chat", attempt: attempt)) }
    #expect(written.records == (0..<5).map { lost("chat", attempt: $0) })
    written.records = []
    move(RepeatFilter.window)
    #expect(written.records.map(\.text) == ["connection down upstream=chat reason=closed attempt=999 repeated=995"])
  }

  @Test func aFactThatGoesOnIsToldOncePerWindow() {
    for second in 0..<300 {
      log.record(lost("chat", attempt: second))
      move(.seconds(1))
    }
    let counted = written.records.compactMap { $0.facts.last { $0.field == .repeated }.flatMap { Int($0.value) } }
    #expect(written.records.count - counted.count == RepeatFilter.burst)
    #expect(counted.count <= 11)
    log.flush()
    let all = written.records.compactMap { $0.facts.last { $0.field == .repeated }.flatMap { Int($0.value) } }
    #expect(all.reduce(0, +) + RepeatFilter.burst == 300)
  }

  @Test func differentFactsAreNotMixed() {
    for _ in 0..<10 { log.record(lost("chat")) }
    log.record(lost("news"))
    #expect(written.records.last == lost("news"))
  }

  @Test func aQuietFactStartsAfresh() {
    for _ in 0..<5 { log.record(lost("chat")) }
    move(.seconds(31))
    #expect(timers.count == 0)
    log.record(lost("chat"))
    #expect(written.records.count == 6)
  }

  @Test func countlessDifferentFactsOfOneKindAreLimited() {
    for number in 0..<10_000 { log.record(lost("https://h\(number)/")) }
    #expect(written.records.count <= RepeatFilter.factLimit + RepeatFilter.burst)
    log.record(LogRecord(.started))
    #expect(written.records.last?.kind == .started)
  }

  @Test func whatIsBelowTheLevelIsDropped() {
    log.level = .error
    log.record(lost("chat"))
    #expect(written.records == [])
  }

  @Test func nothingHeldBackIsForgottenAtTheEnd() {
    for _ in 0..<7 { log.record(lost("chat")) }
    log.flush()
    #expect(written.records.last?.facts.last == LogRecord.Fact(field: .repeated, value: "2"))
    #expect(timers.count == 0)
  }
}
