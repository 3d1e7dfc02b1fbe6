import Testing

@testable import GatewayCore

@Suite struct FleetCallersTests {
  private func entry(_ number: UInt64, life: UInt64 = 1) -> FleetUpEntry {
    FleetUpEntry(host: "b", life: life, conversation: 1, number: number, call: .forget(ack: 1))
  }

  @Test func callsCountOnceAndInTheirOrderAndNoneBeforeTheirLifeIsKnown() {
    var lives = FleetCallers()
    var isAdmitted = [lives.admits(entry(1))]
    _ = lives.note(1, of: "b")
    for number in [1, 1, 3, 2, 3] as [UInt64] { isAdmitted.append(lives.admits(entry(number))) }
    #expect(isAdmitted == [false, true, false, false, true, true])
  }

  @Test func aLaterLifeEndsTheOneBeforeAndCountsAnew() {
    var lives = FleetCallers()
    let isEnd = [1, 1, 2, 1].map { lives.note($0, of: "b") }
    #expect(isEnd == [false, false, true, false])
    let isAdmitted = [lives.admits(entry(1)), lives.admits(entry(1, life: 2))]
    #expect(isAdmitted == [false, true])
    let senders = [1, 2].map { FleetSender.host("b", life: $0, number: 1, row: nil) } + [.adopted("b/7"), .holder]
    #expect(senders.map { lives.isOver($0) } == [true, false, false, false])
  }
}
