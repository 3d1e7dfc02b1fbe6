import Testing

@testable import GatewayCore

@Suite struct FleetCarrierTests {
  private let time = FakeTime()
  private let timers: Timers
  private let carrier: FleetCarrier
  private final class Notes { var all: [String] = [] }
  private let notes = Notes()
  private let sent = FleetSendEnd(.sent)

  init() {
    let time = time
    timers = Timers(time: time)
    carrier = FleetCarrier(FleetTries(timers: timers), timers: timers) { time.wallMilliseconds }
    let notes = notes
    carrier.onDue = { notes.all.append("due \($0.entry.id)") }
    carrier.onEnd = { notes.all.append("\($1.state) \($0)") }
  }

  private func row(
    _ number: UInt64, owner: UInt32 = 1, retries: Int? = nil, coalesce: String? = nil, ttl: Int64? = nil
  ) -> [UInt8] {
    var entry = OutboxEntry(
      number: number, id: "", owner: owner, target: OutboxTarget(name: .upstream("u"), namespace: "/"),
      message: PreparedMessage(event: "e", body: []), delivery: .durable, fingerprint: 0, created: 0,
      expires: ttl.map { time.wallMilliseconds + $0 })
    (entry.retries, entry.coalesce, entry.ackTimeout) = (retries, coalesce, 1_000)
    return FleetBoxRow.waiting(entry.row).bytes
  }

  private func take(_ rows: [String: [UInt8]], underWay: Set<String> = []) -> [String] {
    let found = FleetFindings(FleetSend.waiting(in: rows, of: FleetPlace(fleet: "f", upstream: "u")))
    var taken: [FleetSend] = []
    while !found.isEmpty {
      let portion = found.takePortion()
      taken += portion.filter { carrier.take($0, underWay.contains($0.send.name) ? .written : .notWritten) }.map(\.send)
    }
    return taken.map(\.name)
  }

  private func pass(_ seconds: Int) -> [String] {
    time.advance(by: .seconds(seconds))
    timers.fire()
    defer { notes.all = [] }
    return notes.all
  }

  @Test func theSendsOfEachHostGoInTheOrderOfTheirAcceptanceAndOnce() {
    let rows = ["b/z": row(9), "b/a": row(10), "a/x": row(30), "b/m": row(2)]
    #expect(take(rows) == ["a/x", "b/m", "b/z", "b/a"])
    #expect(take(rows.merging(["c/n": row(1)]) { $1 }) == ["c/n"])
  }

  /// The durable send at which a server hangs up, of a host that died.
  @Test func whatBreaksEachLinkIsTriedAloneAfterPausesAndEndsWithItsRetries() {
    let rows = ["b/1": row(1, retries: 3), "b/2": row(2, retries: 3)]
    for _ in 0..<2 {
      #expect(take(rows) == ["b/1", "b/2"])
      for id in ["1", "2"] { carrier.wrote(id) }
      _ = carrier.finish("2", sent)
      carrier.close(isBlamed: true)
    }
    #expect(take(rows) == ["b/2"])
    _ = carrier.finish("2", sent)
    #expect(pass(0) == [])
    #expect(pass(1) == ["due 1"])
    carrier.wrote("1")
    carrier.close(isBlamed: true)
    #expect(take(["b/1": row(1, retries: 3)]) == [])
    #expect(pass(4) == [])
    #expect(pass(1) == ["due 1"])
    carrier.wrote("1")
    carrier.close(isBlamed: true)
    #expect(take(["b/1": row(1, retries: 3)]) == [])
    #expect(notes.all == ["lost 1"])
  }

  @Test func thousandsThatWereUnderWayAtABreakCountAsSuchBeforeTheyWereGoneThrough() {
    let rows = Dictionary(uniqueKeysWithValues: (1...1_000).map { ("b/\($0)", row(UInt64($0), retries: 3)) })
    for _ in 0..<2 {
      let taken = take(rows)
      #expect(taken.count == rows.count)
      for number in 1...1_000 { carrier.wrote("\(number)") }
      carrier.close(isBlamed: true)
    }
    #expect(timers.count > 0)
    #expect(take(rows) == [])
    // Goes through all of them.
    for _ in 0..<100 { #expect(pass(0) == []) }
    #expect(Set(pass(1)) == Set((1...1_000).map { "due \($0)" }))
  }

  @Test func theEndOfAConversationWithThousandsCancelsTheirTimersInPortions() {
    let rows = Dictionary(uniqueKeysWithValues: (1...3_000).map { ("b/\($0)", row(UInt64($0), retries: 3)) })
    _ = take(rows, underWay: Set(rows.keys))
    let before = timers.count
    carrier.close(isBlamed: false)
    #expect(before - timers.count < 1_000)
    // Nobody waits any more, whether its timer is cancelled or not.
    #expect(pass(10) == [])
  }

  @Test func whatARowSaysOfRetriesHasTheLimitsOfPrograms() {
    var fields = FleetFields()
    PreparedMessage(event: "e", body: []).add(to: &fields)
    fields.add("r", UInt64.max)
    fields.add("l", "0")
    let sends = FleetSend.waiting(
      in: ["b/1": FleetBoxRow.waiting(fields).bytes], of: FleetPlace(fleet: "f", upstream: "u"))
    #expect(sends.map(\.entry.retries) == [100] && sends.map(\.entry.ackTimeout) == [100])
  }

  @Test func anOlderSendWithTheSameValueGivesWay() {
    let rows = [
      "b/1": row(1, coalesce: "v"), "b/2": row(2, coalesce: "v"), "b/3": row(3, owner: 2, coalesce: "v"),
      "c/4": row(1, coalesce: "v"),
    ]
    #expect(take(rows) == ["b/2", "b/3", "c/4"])
    #expect(pass(0) == ["dropped 1"])
  }

  @Test func whatItsHostHasWrittenIsWaitedForAndThenTriedAgain() {
    #expect(take(["b/1": row(1, retries: 1)], underWay: ["b/1"]) == [])
    #expect(pass(1) == ["due 1"])
    carrier.wrote("1")
    #expect(pass(1) == ["due 1"])
    carrier.wrote("1")
    #expect(carrier.finish("1", sent) == ["b/1"])
    #expect(carrier.finish("1", sent) == [])
    #expect(pass(2) == [])
  }

  @Test func whatIsNotAcknowledgedIsLostAfterItsRetries() {
    #expect(take(["b/1": row(1, retries: 0)]) == ["b/1"])
    #expect(carrier.admits("1", .notWritten))
    carrier.wrote("1")
    #expect(pass(1) == ["lost 1"])
  }

  @Test func whatHasExpiredIsNotWritten() {
    #expect(take(["b/1": row(1, ttl: 500), "b/2": row(2, ttl: 5_000)]) == ["b/1", "b/2"])
    time.wallMilliseconds += 1_000
    #expect(!carrier.admits("1", .notWritten))
    #expect(carrier.admits("2", .notWritten))
    #expect(pass(0) == ["expired 1"])
  }

  @Test func aSendThatTheFleetHasUnderTwoNamesOfItsHostIsOne() {
    #expect(take(["b/1": row(1, retries: 1), "b-x/1": row(1, retries: 1)]) == ["b/1"])
    #expect(take(["b-y/1": row(1, retries: 1)]) == [])
    carrier.wrote("1")
    // One timer for all of them.
    #expect(pass(1) == ["due 1"])
    #expect(["b/1", "b-x/1", "b-y/1"].allSatisfy { carrier.hasTaken($0) })
    #expect(carrier.finish("1", sent) == ["b/1", "b-x/1", "b-y/1"])
    #expect(!carrier.hasTaken("b-x/1") && take(["b-z/1": row(1, retries: 1)]) == [])
    #expect(pass(5) == [])
  }

  @Test func whatAHostThatLivesAwaitsUnderAnotherNameHasNoTimerUntilItDoesNot() {
    #expect(take(["b/1": row(1, retries: 1)]) == ["b/1"])
    #expect(!carrier.admits("1", .awaited))
    #expect(pass(5) == [])
    carrier.resume("1")
    #expect(pass(1) == ["due 1"])
    #expect(carrier.admits("1", .written))
    carrier.wrote("1")
    carrier.leave("1", to: "b-x/1")
    #expect(pass(5) == [] && carrier.hasTaken("b/1"))
    carrier.leave("1", to: "b/1")
    #expect(!carrier.hasTaken("b/1"))
  }
}
