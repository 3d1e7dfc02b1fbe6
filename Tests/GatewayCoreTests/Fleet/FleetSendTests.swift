import Testing

@testable import GatewayCore

@Suite struct FleetSendTests {
  private let place = FleetPlace(fleet: "f", upstream: "u", namespace: "/x")

  @Test func anEntryCrossesAsItIs() {
    var entry = OutboxEntry(
      number: 12, id: "abc-c", owner: 1_000, target: OutboxTarget(name: .upstream("u"), namespace: "/x"),
      message: PreparedMessage(event: "e", body: Array("[1]".utf8), attachments: [[0, 255]]), delivery: .durable,
      fingerprint: .max, created: -1, expires: 1_795_000_060_000)
    #expect(OutboxEntry(entry.row, id: "abc-c", to: entry.target) == entry)
    (entry.groups, entry.retries, entry.ackTimeout) = ([1, 20], 3, 1_500)
    (entry.coalesce, entry.key, entry.delivery) = ("é", "k", .accepted)
    entry.message.compress = false
    #expect(FleetSend(name: "b/abc-c", entry.row, place: place)?.entry == entry)
    #expect(FleetSend(name: "b/abc-c", entry.row, place: place)?.host == "b")
    #expect(FleetSend(name: "b/abc-c", FleetFields(), place: place) == nil)
  }

  @Test(arguments: [Int64.max, .min])
  func instantsThatNoClockHasBecomeOnesThatCanBeAddedTo(_ instant: Int64) throws {
    let entry = OutboxEntry(
      number: 1, id: "a", owner: 1_000, target: OutboxTarget(name: .upstream("u"), namespace: "/x"),
      message: PreparedMessage(event: "e", body: Array("[1]".utf8)), delivery: .durable, fingerprint: 0,
      created: instant, expires: instant, ackTimeout: instant)
    let read = try #require(OutboxEntry(entry.row, id: "a", to: entry.target))
    for number in [read.created, try #require(read.expires), try #require(read.ackTimeout)] {
      #expect(abs(number) < Int64.max / 1_000)
    }
  }

  @Test func anEndCrossesAsItIs() {
    let ends = [
      FleetSendEnd(.sent), FleetSendEnd(.acked, answer: Array("1,2".utf8)), FleetSendEnd(.lost, reason: "ack_timeout"),
    ]
    for end in ends {
      guard case .finished(let fields) = FleetBoxRow(end.row.bytes) else { Issue.record("not finished"); continue }
      #expect(FleetSendEnd(fields) == end)
    }
    var fields = FleetFields()
    fields.add("s", "queued")
    #expect(FleetSendEnd(fields) == nil)
  }

  @Test func anAnswerThatIsLongIsNotKept() {
    let long = [UInt8](repeating: 49, count: OutboxEntry.resultLimit + 1)
    #expect(FleetSendEnd(.acked, answer: long) == FleetSendEnd(.acked))
  }
}
