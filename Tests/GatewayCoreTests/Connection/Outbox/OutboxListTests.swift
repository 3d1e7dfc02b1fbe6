import Testing

@testable import GatewayCore

/// What `outbox.list` looks at, and in which order it shows it.
@Suite struct OutboxListTests {
  private func entry(_ number: UInt64, of owner: UInt32, to upstream: String = "chat") -> OutboxEntry {
    OutboxEntry(
      number: number, id: "id-\(number)", owner: owner,
      target: OutboxTarget(name: .upstream(upstream), namespace: "/"),
      message: PreparedMessage(event: "e", body: Array("[]".utf8)), delivery: .durable, fingerprint: 0,
      created: 1_795_000_000_000, expires: nil)
  }

  private func outbox(_ entries: [OutboxEntry]) -> Outbox {
    Outbox(.open(FakeOutboxStore(), entries), settings: OutboxSettings(), time: FakeTime())
  }

  @Test func theEntriesOfOthersCostAUserNothing() {
    let outbox = outbox((1...5_000).map { entry($0, of: 1) } + [entry(5_001, of: 2)])
    var asked = 0
    let found = outbox.records(limit: 100) { _, owner in
      asked += 1
      return owner == 2
    }
    #expect(found.map(\.entry.number) == [5_001])
    #expect(asked == 2)
  }

  @Test func anEntryThatFitsIntoNoLineHidesNoneBehindIt() {
    var large = entry(1, of: 1_000)
    (large.state, large.ended) = (.acked, 1_795_000_000_001)
    large.result = Array("\"\(String(repeating: "x", count: 6_000))\"".utf8)
    large.message.event = String(repeating: "e", count: 300)
    let entries = [large, entry(2, of: 1_000)]
    let harness = GatewayHarness(outbox: .open(FakeOutboxStore(), entries)) { $0.limits.line = 4_096 }
    let result = HarnessClient.values(harness.client().call("outbox.list")).last?["result"]
    let listed = result?["entries"]?.elements ?? []
    #expect(listed.map { $0["id"]?.stringValue } == ["id-1", "id-2"])
    #expect(listed.first?["args"] == nil && listed.first?["event"]?.stringValue?.utf8.count ?? 0 < 80)
    #expect(listed.map { $0["size"] != nil } == [true, false])
  }

  @Test func severalUsersAndTargetsAreShownTogetherTheOldestFirst() {
    let entries = (1...90).map { (number: UInt64) in
      entry(number, of: UInt32(number % 3), to: "u\(number % 5)")
    }
    let outbox = outbox(entries)
    if let gone = outbox.record("id-2") { outbox.finish(gone, .cancelled) }
    if let first = outbox.record("id-1") { outbox.finish(first, .sent) }
    #expect(outbox.records { _, _ in true }.map(\.entry.number) == Array(1...90))
    #expect(outbox.records(limit: 4) { _, _ in true }.map(\.entry.number) == [1, 2, 3, 4])
    #expect(outbox.records(limit: 2, states: [.queued]) { _, _ in true }.map(\.entry.number) == [3, 4])
    #expect(outbox.records(states: [.sent]) { _, _ in true }.map(\.entry.number) == [1])
    #expect(
      outbox.records(limit: 2) { target, owner in target.upstream == "u0" && owner == 0 }.map(\.entry.number) == [
        15, 30,
      ])
  }
}
