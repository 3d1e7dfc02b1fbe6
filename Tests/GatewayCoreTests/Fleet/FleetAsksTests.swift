import Testing

@testable import GatewayCore

@Suite struct FleetAsksTests {
  private func host(_ name: String = "b", life: UInt64 = 1, row: String? = nil) -> FleetSender {
    .host(name, life: life, number: 1, row: row)
  }

  @Test func numbersAreTheHoldersAndNameOneAskEach() {
    var asks = FleetAsks()
    let numbers = [asks.begin(host("b"), ack: 4), asks.begin(host("c"), ack: 4)].compactMap { $0 }
    let none = asks.begin(host("b"), ack: nil)
    let next = asks.nextNumber()
    #expect(none == nil && Set(numbers + [next]).count == 3)
    #expect(numbers.allSatisfy { $0 > FleetTap.firstNumber })
    let taken = numbers.map { asks.take($0) } + numbers.map { asks.take($0) }
    let expected = [
      FleetAsks.Ask(sender: host("b"), id: 4), FleetAsks.Ask(sender: host("c"), id: 4), nil, nil,
    ]
    #expect(taken == expected)
  }

  @Test func whatAHostForgetsIsAwaitedNoMore() {
    var asks = FleetAsks()
    let number = asks.begin(host(), ack: 4) ?? 0
    let forgotten = [asks.forget(4, of: "c"), asks.forget(4, of: "b"), asks.forget(4, of: "b")]
    #expect(forgotten == [FleetAsks.Over(), FleetAsks.Over(numbers: [number]), FleetAsks.Over()])
    #expect(asks[number] == nil)
  }

  @Test func aNewLifeOfAHostEndsWhatItAwaitedButForItsDurableSends() {
    var asks = FleetAsks()
    let plain = asks.begin(host(), ack: 1) ?? 0
    let durable = asks.begin(host(row: "7"), ack: 2) ?? 0
    let other = asks.begin(host("c"), ack: 1) ?? 0
    let over = [asks.abandon("b"), asks.abandon("b")]
    #expect(over == [FleetAsks.Over(numbers: [plain], sends: ["7"]), FleetAsks.Over()])
    #expect([plain, durable, other].map { asks[$0] == nil } == [true, false, false])
    #expect(asks.progress(of: "7") == .written && asks.progress(of: "8") == .notWritten)
  }

  @Test func whatIsUnderWayIsAwaitedByTheLifeThatSaysItAgain() {
    var asks = FleetAsks()
    let number = asks.begin(host(row: "7"), ack: 4) ?? 0
    let isTaken = [
      asks.takeOver(host(row: "7"), ack: 5), asks.takeOver(host(life: 2, row: "8"), ack: 1),
      asks.takeOver(host(life: 2, row: "7"), ack: 1),
    ]
    #expect(isTaken == [false, false, true])
    #expect(asks[number] == FleetAsks.Ask(sender: host(life: 2, row: "7"), id: 1))
  }

  @Test func whatIsNotAwaitedAnyMoreOrIsFinishedIsWrittenForTheNextLife() {
    var asks = FleetAsks()
    _ = asks.begin(host(row: "7"), ack: 4)
    _ = asks.forget(4, of: "b")
    _ = asks.begin(host(row: "8"), ack: nil)
    var isTaken = [
      asks.takeOver(host(life: 2, row: "7"), ack: 1), asks.takeOver(host(row: "8"), ack: nil),
    ]
    _ = asks.finish("8")
    isTaken.append(asks.takeOver(host(life: 2, row: "8"), ack: nil))
    #expect(isTaken == [false, true, false])
  }

  @Test func whatTwoNamesOfAHostSayIsAwaitedByBothThoughTheirLivesHaveTheSameNumber() {
    var asks = FleetAsks()
    let number = asks.begin(host("b", row: "7"), ack: 4) ?? 0
    let isTaken = asks.takeOver(host("b-x", row: "7"), ack: 4)
    let (first, second) = (
      FleetAsks.Ask(sender: host("b", row: "7"), id: 4), FleetAsks.Ask(sender: host("b-x", row: "7"), id: 4)
    )
    #expect(isTaken && asks[number] == first && asks.others(than: first) == [second])
    var over = [asks.forget(4, of: "b")]
    #expect(asks[number] == second && asks.others(than: second) == [] && asks.progress(of: "7") == .awaited)
    over.append(asks.forget(4, of: "b-x"))
    #expect(over == [FleetAsks.Over(), FleetAsks.Over(numbers: [number], sends: ["7"])])
    #expect(asks.progress(of: "7") == .notWritten)
  }

  @Test func aRetryIsOverWithTheSendThatAnotherNameOfItsHostAwaits() {
    var asks = FleetAsks()
    let numbers = [asks.begin(.adopted("7"), ack: 0), asks.begin(.adopted("7"), ack: 0)].compactMap { $0 }
    let isTaken = asks.takeOver(host("b-x", row: "7"), ack: 4)
    let ask = asks.take(numbers[0])
    let rest = asks.finish("7")
    #expect(isTaken && ask == FleetAsks.Ask(sender: host("b-x", row: "7"), id: 4))
    #expect(rest == [numbers[1]] && asks[numbers[1]] == nil)
    let over = [asks.forget(4, of: "b-x"), asks.abandon("b-x")]
    #expect(over == [FleetAsks.Over(), FleetAsks.Over()])
  }

  @Test func manyThatNobodyAwaitsAnyMoreAreLetGoInPortions() {
    var asks = FleetAsks()
    for number in 0..<2_000 { _ = asks.begin(.adopted("r\(number)"), ack: 0) }
    var portions = 0
    while !asks.isEmpty, portions < 1_000 {
      asks.dropPortion()
      portions += 1
    }
    #expect(portions > 4 && asks.isEmpty)
  }
}
