import Testing

@testable import GatewayClient

@Suite struct CallLedgerTests {
  private let now = ContinuousClock.now

  private func call(_ owner: Call.Owner = .program) -> Call {
    Call(method: "ping", params: Params(), patience: .unbounded, reach: .seconds(5), owner: owner)
  }

  @Test func callsWaitInTheirOrderAndThoseOfSubscriptionsThatComeBackAreFirst() {
    var ledger = CallLedger(behind: 0)
    for owner in [.program, .program, .resuming(1), .program, .resuming(2)] as [Call.Owner] {
      _ = ledger.add(call(owner), now: now)
    }
    _ = ledger.abandon(2)
    var order: [CallID] = []
    while let (id, _) = ledger.next() { order.append(id) }
    #expect(order == [3, 5, 1, 4])
  }

  @Test func whatWasWrittenAndWaitsAgainStandsWhereItStood() {
    var ledger = CallLedger(behind: 0)
    for _ in 0..<3 { _ = ledger.add(call(), now: now) }
    if let (id, _) = ledger.next() { ledger.post(id, now: now) }
    #expect(ledger.interrupt().map(\.id) == [1])
    ledger.waitAgain(1, isDrained: false, now: now)
    #expect(ledger.next()?.id == 1)
  }

  @Test func callsThatEndWhileTheyWaitTakeNoRoom() {
    var ledger = CallLedger(behind: 0)
    let first = ledger.add(call(), now: now)
    for _ in 0..<100_000 { _ = ledger.abandon(ledger.add(call(), now: now)) }
    #expect(ledger.next()?.id == first)
    #expect(ledger.next()?.id == nil)
    #expect(ledger.isWaitedFor)
  }
}
