import Testing

@testable import GatewayCore

@Suite struct FleetCallersTests {
  private func entry(_ number: UInt64, life: UInt64 = 1) -> FleetUpEntry {
    FleetUpEntry(host: "b", life: life, conversation: 1, number: number, call: .forget(ack: 1))
  }

  @Test func callsCountOnceAndInTheirOrderAndNoneBeforeTheirLifeIsKnown() {
    var callers = FleetCallers()
    var isAdmitted = [callers.admits(entry(1))]
    _ = callers.note(1, of: "b")
    for number in [1, 1, 3, 2, 3] as [UInt64] { isAdmitted.append(callers.admits(entry(number))) }
    #expect(isAdmitted == [false, true, false, false, true, true])
  }

  @Test func aHostIsAskedOnceInAWhileForWhatIsMissing() {
    var callers = FleetCallers()
    _ = callers.note(1, of: "b")
    _ = callers.admits(entry(1))
    func at(_ seconds: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: seconds * 1_000_000_000) }
    var asked = [entry(1), entry(2), entry(4), entry(5), entry(4, life: 2)].map {
      callers.missing(before: $0, at: at(1))
    }
    #expect(asked == [nil, nil, 2, nil, nil])
    asked = [2, 3].map { callers.missing(before: entry(5), at: at($0)) }
    #expect(asked == [2, 2])
  }

  @Test func aLaterLifeEndsTheOneBeforeAndCountsAnew() {
    var callers = FleetCallers()
    let isEnd = [1, 1, 2, 1].map { callers.note($0, of: "b") }
    #expect(isEnd == [false, false, true, false])
    let isAdmitted = [callers.admits(entry(1)), callers.admits(entry(1, life: 2))]
    #expect(isAdmitted == [false, true])
    let senders = [1, 2].map { FleetSender.host("b", life: $0, number: 1, row: nil) } + [.adopted("b/7"), .holder]
    #expect(senders.map { callers.isOver($0) } == [true, false, false, false])
  }
}
