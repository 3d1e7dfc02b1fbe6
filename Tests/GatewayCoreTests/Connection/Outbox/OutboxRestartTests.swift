import Testing

@testable import GatewayCore

/// What an earlier life of the daemon left.
@Suite struct OutboxRestartTests {
  private static func entry(_ number: UInt64, _ upstream: String = "chat") -> OutboxEntry {
    OutboxEntry(
      number: number, id: "old-\(number)", owner: 1_000,
      target: OutboxTarget(name: .upstream(upstream), namespace: "/"),
      message: PreparedMessage(event: "e\(number)", body: Array("[]".utf8)), delivery: .durable, fingerprint: 0,
      created: 1_795_000_000_000, expires: 1_795_000_060_000)
  }

  @Test func queueIsResumedInOrderBehindWhichNewSendsStand() {
    let store = FakeOutboxStore()
    let harness = GatewayHarness(outbox: .open(store, [Self.entry(3), Self.entry(9), Self.entry(5)]))
    let client = harness.client()
    client.call("send", #"{"upstream":"chat","event":"new"}"#)
    harness.upstream.channel.accept()
    #expect(harness.upstream.channel.written == ["e3 []", "e5 []", "e9 []", "new []"])
  }

  @Test func whatOnlyStayedForItsKeyIsNotSentAgainAfterARestart() {
    var bare = Self.entry(1)
    bare.message = PreparedMessage(event: "e1", body: [])
    (bare.key, bare.state) = ("k", .expired)
    bare.ended = 1_795_000_000_000
    let store = FakeOutboxStore()
    let recent = GatewayHarness(outbox: .open(store, [bare])) { $0.outbox.keep = .seconds(86_400) }
    let client = recent.client()
    let answer = HarnessClient.values(client.call("outbox.retry", #"{"ids":["old-1"]}"#)).last
    store.settle()
    #expect(recent.gateway.relay.outbox.usage.total.count == 0, "\(String(describing: answer))")
  }

  @Test func entryOfAnUnknownUpstreamWaitsAndExpires() {
    let store = FakeOutboxStore()
    let harness = GatewayHarness(outbox: .open(store, [Self.entry(1, "gone")]))
    #expect(harness.upstream.channels.isEmpty)
    harness.pass(.seconds(61))
    #expect(store.stored.map(\.state) == [.expired])
  }

  @Test func entryOfAnUnknownUpstreamLeavesWhenItComesBack() throws {
    let store = FakeOutboxStore()
    let harness = GatewayHarness(outbox: .open(store, [Self.entry(1, "gone")]))
    harness.reload { $0.upstreams["gone"] = $0.upstreams["chat"] }
    harness.upstream.channel.accept()
    #expect(harness.upstream.channel.written == ["e1 []"])
  }

  @Test func aReloadWritesNothingThatIsStillOnItsWayToTheDisk() throws {
    let store = FakeOutboxStore()
    let harness = GatewayHarness(outbox: .open(store, [Self.entry(1, "gone")]))
    harness.pass(.seconds(61))
    harness.client().call("outbox.retry", #"{"ids":["old-1"]}"#)
    harness.reload { $0.upstreams["gone"] = $0.upstreams["chat"] }
    #expect(harness.upstream.channels.isEmpty)
    store.settle()
    harness.upstream.channel.accept()
    #expect(harness.upstream.channel.written == ["e1 []"])
  }

  /// An entry by a URL that two upstreams have, and the reload that leaves it to `chat` alone, whose connection is up.
  private static func resolvedConflict() -> (FakeOutboxStore, GatewayHarness, HarnessClient) {
    var entry = Self.entry(1)
    entry.target = OutboxTarget(name: .url("http://chat.example/"), namespace: entry.target.namespace)
    let store = FakeOutboxStore()
    let harness = GatewayHarness(outbox: .open(store, [entry])) { $0.upstreams["other"] = $0.upstreams["chat"] }
    let client = harness.client()
    client.call("send", #"{"upstream":"chat","event":"hi"}"#)
    harness.upstream.channel.accept()
    harness.reload { $0.upstreams["other"] = nil }
    return (store, harness, client)
  }

  @Test func whatAReloadGivesToAConnectedConnectionLeavesAtOnceAndIsNotOvertaken() {
    let (store, harness, client) = Self.resolvedConflict()
    client.call("send", #"{"upstream":"chat","event":"late"}"#)
    #expect(harness.upstream.channel.written == ["hi []", "e1 []", "late []"])
    harness.pass(.milliseconds(1))
    #expect(store.stored.map(\.state) == [.sent])
  }

  /// The upstream of the URL gets another name.
  private static func rename(_ harness: GatewayHarness) {
    harness.reload {
      $0.upstreams["renamed"] = $0.upstreams["chat"]
      $0.upstreams["chat"] = nil
    }
  }

  @Test func entryByAUrlGoesOnWhenTheUpstreamOfThatUrlIsRenamed() {
    let (_, harness, client) = Self.resolvedConflict()
    // It was on its way, and is queued again.
    harness.upstream.channel.fail(.closed)
    Self.rename(harness)
    harness.upstream.channel.accept()
    #expect(harness.upstream.channel.written == ["e1 []"])
    let listed = HarnessClient.values(client.read() + client.call("outbox.list", "{}", id: 9)).last?["result"]
    #expect(listed?["entries"]?.elements?.map { $0["reason"]?.stringValue } == [nil])
  }

  @Test func entryByAUrlGoesOnWhenItsUpstreamIsRenamedWhileTheDiskWrites() {
    let (store, harness, client) = Self.resolvedConflict()
    client.call("outbox.cancel", #"{"ids":["old-1"]}"#)
    harness.upstream.channel.fail(.closed)
    client.call("outbox.cancel", #"{"ids":["old-1"]}"#, id: 2)
    store.settle()
    client.call("outbox.retry", #"{"ids":["old-1"]}"#, id: 3)
    Self.rename(harness)
    store.settle()
    harness.upstream.channel.accept()
    #expect(harness.upstream.channel.written == ["e1 []"])
  }

  @Test func entryKeepsItsPlaceWhenItsUpstreamLeavesAndComesBack() {
    let store = FakeOutboxStore()
    let harness = GatewayHarness(outbox: .open(store, [Self.entry(1)]))
    harness.client().call("send", #"{"upstream":"chat","event":"late"}"#)
    let chat = harness.gateway.configuration.upstreams["chat"]
    harness.reload { $0.upstreams["chat"] = nil }
    harness.reload { $0.upstreams["chat"] = chat }
    harness.upstream.channel.accept()
    #expect(harness.upstream.channel.written == ["e1 []", "late []"])
  }

  @Test func whatBrokeTheLinkTwiceStillWaitsUntilOthersHaveGoneAfterARestart() {
    var suspect = Self.entry(1)
    (suspect.retries, suspect.attempts, suspect.reason) = (9, 2, "suspected")
    let harness = GatewayHarness(outbox: .open(FakeOutboxStore(), [suspect, Self.entry(2)]))
    harness.upstream.channel.accept()
    #expect(harness.upstream.channel.written == ["e2 []"])
    harness.pass(.seconds(2))
    #expect(harness.upstream.channel.written == ["e2 []", "e1 []#0"])
  }

  @Test func thatItBrokeTheLinkTwiceIsKeptOnTheDisk() {
    var entry = Self.entry(1)
    entry.retries = 9
    let store = FakeOutboxStore()
    let harness = GatewayHarness(outbox: .open(store, [entry, Self.entry(2)]))
    for _ in 0..<2 {
      harness.upstream.channel.accept()
      harness.upstream.channel.unsentBytes = 1
      harness.upstream.channel.fail(.closed)
      harness.pass(.seconds(5))
    }
    #expect(store.stored.filter { $0.reason == "suspected" && $0.state == .queued }.count == 2)
  }

  @Test func whatAReloadMovesToAnotherConnectionDoesNotOvertakeWhatIsUnderWay() {
    let scene = MovedUpstream([Self.entry(1), Self.entry(2)])
    let first = scene.first
    #expect(first.written == ["e1 []#0"])
    let second = scene.move()
    #expect(second !== first)
    #expect(second.written == ["e1 []#0"])
    second.acknowledge(0)
    #expect(second.written == ["e1 []#0", "e2 []#1"])
    #expect(first.written == ["e1 []#0"] && first.forgotten == [0])
  }

  @Test func whatStandsBehindASuspectIsNotWrittenToTheLinkThatBothLeave() {
    var suspect = Self.entry(1)
    (suspect.attempts, suspect.reason) = (2, "suspected")
    let scene = MovedUpstream([suspect, Self.entry(2)])
    let first = scene.first
    #expect(first.written.isEmpty)
    let second = scene.move()
    scene.harness.pass(.seconds(2))
    #expect(second.written == ["e1 []#0"])
    second.acknowledge(0)
    #expect(second.written == ["e1 []#0", "e2 []#1"])
    #expect(first.written.isEmpty)
  }

  @Test func entryForAnotherParserIsRefusedWithThatReason() {
    let store = FakeOutboxStore()
    let harness = GatewayHarness(outbox: .open(store, [Self.entry(1), Self.entry(2)]))
    harness.upstream.checking = { message, _ in message.event == "e1" ? .outdated("written for the other one") : nil }
    harness.upstream.channel.accept()
    #expect(harness.upstream.channel.written == ["e2 []"])
    #expect(store.stored.first?.state == .refused)
    #expect(store.stored.first?.reason == "parser_changed")
  }

  @Test func whatExpiredMeanwhileIsNeverWritten() {
    let store = FakeOutboxStore()
    var old = Self.entry(1)
    old.expires = 1_794_999_999_999
    let harness = GatewayHarness(outbox: .open(store, [old, Self.entry(2)]))
    harness.pass(.milliseconds(1))
    harness.upstream.channel.accept()
    #expect(harness.upstream.channel.written == ["e2 []"])
    #expect(store.stored.first?.state == .expired)
  }
}
