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

  private func finished(_ number: UInt64, of owner: UInt32) -> OutboxEntry {
    var entry = entry(number, of: owner)
    (entry.state, entry.ended) = (.expired, 1_795_000_000_001)
    return entry
  }

  private func outbox(_ entries: [OutboxEntry]) -> Outbox {
    Outbox(.open(FakeOutboxStore(), entries), settings: OutboxSettings(), time: FakeTime())
  }

  /// The numbers of what is found in one go.
  private func numbers(
    _ outbox: Outbox, limit: Int = .max, states: Set<OutboxState>? = nil,
    where isWanted: @escaping (OutboxTarget, UInt32) -> Bool = { _, _ in true }
  ) -> [UInt64] {
    let search = OutboxSearch(
      outbox, before: .max, limit: limit,
      .init(states: states, concerns: { _ in true }, isWanted: isWanted))
    var portion = Int.max
    #expect(search.look(&portion))
    return numbers(search)
  }

  private func numbers(_ search: OutboxSearch) -> [UInt64] {
    var found: [UInt64] = []
    while let record = search.next() { found.append(record.entry.number) }
    return found
  }

  @Test func theEntriesOfOthersCostAUserNothing() {
    let outbox = outbox(
      (1...5_000).map { entry($0, of: 1) } + (5_001...9_000).map { finished($0, of: 1) }
        + [entry(9_001, of: 2), finished(9_002, of: 2)])
    var asked = 0
    let search = OutboxSearch(
      outbox, before: .max,
      .init(states: nil, concerns: { $0 == 2 }) { _, owner in
        asked += 1
        return owner == 2
      })
    var portion = 100
    #expect(search.look(&portion))
    #expect(numbers(search) == [9_001, 9_002])
    // For each of two lines, and for the finished one.
    #expect(asked == 3)
    #expect(outbox.archive.count(of: 1) == 4_000 && outbox.archive.count(of: 2) == 1)
  }

  @Test func noMoreIsLookedAtInOneGoThanItMay() {
    let outbox = outbox((1...3_000).map { entry($0, of: 1) } + (3_001...6_000).map { finished($0, of: 1) })
    var (asked, most, looks) = (0, 0, 1)
    let search = OutboxSearch(
      outbox, before: .max,
      .init(states: nil, concerns: { _ in true }, isWanted: { _, _ in true }) { _ in
        asked += 1
        return true
      })
    var portion = 100
    while !search.look(&portion) {
      most = max(most, asked)
      (asked, portion) = (0, 100)
      looks += 1
    }
    #expect(most <= 100 && looks > 60)
    #expect(numbers(search) == Array(1...6_000))
  }

  @Test func whatEndsWhileItIsLookedForIsFoundOnceAndWhatComesIsNot() {
    let outbox = outbox((1...100).map { entry($0, of: 1) })
    let search = OutboxSearch(
      outbox, before: 101, .init(states: nil, concerns: { _ in true }, isWanted: { _, _ in true }))
    var portion = 60
    #expect(!search.look(&portion))
    // One that has been looked at, and one that has not.
    for id in ["id-3", "id-90"] { outbox.record(id).map { _ = outbox.finish($0, .sent) } }
    outbox.add(entry(101, of: 1)) { _, _, _ in }
    portion = .max
    #expect(search.look(&portion))
    #expect(numbers(search) == Array(1...100))
  }

  @Test func othersAreHeardWhileALongOutboxIsListed() {
    let count = 4 * OutboxSearch.portion
    let entries = (1...UInt64(count)).map { $0 % 2 == 0 ? entry($0, of: 1_000) : finished($0, of: 1_000) }
    let harness = GatewayHarness(outbox: .open(FakeOutboxStore(), entries)) { _ in }
    let (lister, other) = (harness.client(), harness.client())
    #expect(lister.call("outbox.list", #"{"limit":10000}"#).isEmpty)
    var turns = 0
    var answer: [String] = []
    while answer.isEmpty, turns < 100 {
      #expect(other.call("ping").count == 1)
      harness.timers.fire()
      turns += 1
      answer = lister.read()
    }
    #expect(turns > 4)
    let result = HarnessClient.values(answer).first?["result"]
    #expect(
      (result?["entries"]?.elements ?? []).map { $0["id"]?.stringValue } == (1...count).map { "id-\($0)" })
    #expect(result?["more"]?.boolValue == false)
  }

  @Test func othersAreHeardWhileALongOutboxIsLookedThroughForCancelling() {
    let count = 4 * OutboxSearch.portion
    let entries = (1...UInt64(count)).map { entry($0, of: 1_000) }
    let harness = GatewayHarness(outbox: .open(FakeOutboxStore(), entries)) { _ in }
    let client = harness.client()
    client.call("outbox.cancel", #"{"upstream":"chat","states":["queued"]}"#)
    let outbox = harness.gateway.relay.outbox
    var most = count - outbox.usage.total.count
    #expect(most == 0)
    var turns = 0
    while outbox.usage.total.count > 0, turns < 100 {
      let before = outbox.usage.total.count
      harness.timers.fire()
      most = max(most, before - outbox.usage.total.count)
      turns += 1
    }
    #expect(most <= OutboxWork.portion)
    #expect(turns == 4 + count / OutboxWork.portion - 1)
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
    #expect(numbers(outbox) == Array(1...90))
    #expect(numbers(outbox, limit: 4) == [1, 2, 3, 4])
    #expect(numbers(outbox, limit: 2, states: [.queued]) == [3, 4])
    #expect(numbers(outbox, states: [.sent]) == [1])
    #expect(numbers(outbox, limit: 2) { target, owner in target.upstream == "u0" && owner == 0 } == [15, 30])
  }
}
