import Testing

@testable import GatewayCore

/// A reload hands what is in the outbox to the connections that its targets mean then, a portion in each turn of the loop: how
/// much that is, and what happens in between.
@Suite struct OutboxPlacementTests {
  private static let alice: UInt32 = 1_000
  /// More than one turn gives to a connection.
  private static let count = OutboxPlacement.portion

  private let store = FakeOutboxStore()

  private static func entry(_ number: Int, _ name: OutboxTarget.Name = .upstream("chat")) -> OutboxEntry {
    OutboxEntry(
      number: UInt64(number), id: "old-\(number)", owner: alice, target: OutboxTarget(name: name, namespace: "/"),
      message: PreparedMessage(event: "e\(number)", body: Array("[]".utf8)), delivery: .durable, fingerprint: 0,
      created: 1_795_000_000_000, expires: 1_795_000_060_000)
  }

  private static var entries: [OutboxEntry] { (1...count).map { entry($0) } }

  private static func written(_ numbers: some Sequence<Int>) -> [String] { numbers.map { "e\($0) []" } }

  private static func allowing(_ verbs: Set<AccessVerb>) -> [AccessRule] {
    [RightsOverTimeTests.rule(alice, "chat", verbs)]
  }

  /// All of these sends wait, because alice may not send; the connection is up.
  private func begin(_ entries: [OutboxEntry] = Self.entries) -> GatewayHarness {
    let harness = GatewayHarness(outbox: .open(store, entries)) { $0.access = Self.allowing([.status]) }
    harness.client(uid: 0).call("send", #"{"upstream":"chat","event":"hi"}"#)
    harness.upstream.channel.accept()
    return harness
  }

  private static func allow(_ verbs: Set<AccessVerb>, in harness: GatewayHarness) {
    harness.reload { $0.access = allowing(verbs) }
  }

  @Test func aReloadGivesToConnectionsNoMoreThanAPortionInATurn() {
    let harness = begin()
    Self.allow([.send], in: harness)
    let carried = harness.gateway.relay.outbox.unfinished.count { $0.connection != nil }
    #expect(carried > 0 && carried <= OutboxPlacement.portion / OutboxPlacement.moveCost)
    harness.pass(.seconds(1))
    #expect(harness.upstream.channel.written == ["hi []"] + Self.written(1...Self.count))
  }

  @Test func aReloadAsksForNoMoreThanAPortionOfTheTargetsInATurn() {
    let entries = (1...100).map { Self.entry($0, .url("http://n\($0).example/")) }
    let harness = GatewayHarness(outbox: .open(store, entries))
    let before = harness.urls.count
    harness.reload { $0.upstreams["chat"]?.settings.linger = .seconds(7) }
    #expect(harness.urls.count - before <= OutboxPlacement.portion / OutboxPlacement.lineCost)
    harness.pass(.milliseconds(1))
    #expect(harness.urls.count - before >= entries.count)
  }

  @Test func whatIsSentWhileSendsComeBackDoesNotOvertakeThem() {
    let harness = begin()
    Self.allow([.send], in: harness)
    harness.client().call("send", #"{"upstream":"chat","event":"new"}"#)
    harness.client(uid: 0).call("request", #"{"upstream":"chat","event":"ask"}"#)
    harness.pass(.seconds(1))
    let all = ["hi []"] + Self.written(1...Self.count) + ["new []", "ask []#0"]
    #expect(harness.upstream.channel.written == all)
  }

  @Test func aRequestWhoseTimeEndsWhileSendsComeBackIsToldThatItWaitedForThem() {
    let harness = begin()
    let client = harness.client(uid: 0)
    Self.allow([.send], in: harness)
    client.call("request", #"{"upstream":"chat","event":"ask","timeout":1000}"#)
    harness.time.advance(by: .milliseconds(1_500))
    harness.timers.fire()
    let error = client.readValues().last?["error"]?["data"]
    #expect(error?["type"]?.stringValue == "UpstreamDown")
    #expect(error?["detail"]?.stringValue == "a reload had not handed over in time what was sent before it")
  }

  @Test func aLinkThatOpensWhileSendsComeBackWritesThemInTheirOrder() {
    let harness = GatewayHarness(outbox: .open(store, Self.entries)) { $0.access = Self.allowing([.status]) }
    Self.allow([.send], in: harness)
    harness.upstream.channel.accept()
    #expect(harness.upstream.channel.written.isEmpty)
    harness.pass(.seconds(1))
    #expect(harness.upstream.channel.written == Self.written(1...Self.count))
  }

  @Test func whatWasAcceptedLaterAndWaitsAlreadyStaysBehindWhatComesBack() {
    let later = (Self.count + 1...Self.count + 500).map { number in
      var entry = Self.entry(number)
      entry.owner = 0
      return entry
    }
    let harness = GatewayHarness(outbox: .open(store, Self.entries + later)) { $0.access = Self.allowing([.status]) }
    Self.allow([.send], in: harness)
    harness.upstream.channel.accept()
    harness.pass(.seconds(1))
    #expect(harness.upstream.channel.written == Self.written(1...Self.count + 500))
  }

  @Test func aRightThatGoesWhileSendsComeBackKeepsAllOfThemBack() {
    let harness = begin()
    Self.allow([.send], in: harness)
    Self.allow([.status], in: harness)
    harness.client(uid: 0).call("send", #"{"upstream":"chat","event":"new"}"#)
    harness.pass(.seconds(1))
    #expect(harness.upstream.channel.written == ["hi []", "new []"])
    Self.allow([.send], in: harness)
    harness.pass(.seconds(1))
    #expect(harness.upstream.channel.written == ["hi []", "new []"] + Self.written(1...Self.count))
  }

  @Test func whatIsCancelledWhileSendsComeBackIsNotWritten() {
    let harness = begin()
    Self.allow([.send, .status], in: harness)
    harness.client().call("outbox.cancel", #"{"ids":["old-2","old-\#(Self.count)"]}"#)
    harness.pass(.seconds(1))
    let rest = (1..<Self.count).filter { $0 != 2 }
    #expect(harness.upstream.channel.written == ["hi []"] + Self.written(rest))
  }

  @Test func aNewerSendWhileSendsComeBackTakesThePlaceOfOneThatHasNotComeBackYet() {
    var last = Self.entry(Self.count)
    last.coalesce = "k"
    let harness = begin((1..<Self.count).map { Self.entry($0) } + [last])
    Self.allow([.send], in: harness)
    harness.client().call("send", #"{"upstream":"chat","event":"new","delivery":"durable","coalesce":"k"}"#)
    store.settle()
    harness.pass(.seconds(1))
    #expect(harness.upstream.channel.written == ["hi []"] + Self.written(1..<Self.count) + ["new []"])
  }

  @Test func whatWaitsForARightGoesAlongWithItsTargetAndGivesWayToANewerOne() {
    // The program is in this group, as the one that sent the old one was not.
    func rules(_ upstream: String) -> [AccessRule] {
      [AccessRule(subject: .group(Self.alice), upstreams: [upstream], events: ["e1", "new"], allow: [.send])]
    }
    let moved = ConfiguredUpstream(
      url: UpstreamURL(scheme: "http", host: "moved.example"), settings: UpstreamSettings())
    var old = Self.entry(1, .url("http://moved.example/"))
    old.coalesce = "k"
    let harness = GatewayHarness(outbox: .open(store, [old])) {
      ($0.upstreams["before"], $0.access) = (moved, rules("before"))
    }
    harness.reload {
      ($0.upstreams["before"], $0.upstreams["after"], $0.access) = (nil, moved, rules("after"))
    }
    harness.client().call("send", #"{"upstream":"after","event":"new","delivery":"durable","coalesce":"k"}"#)
    store.settle()
    harness.reload { $0.access = [] }
    harness.upstream.channel.accept()
    #expect(harness.upstream.channel.written == ["new []"])
  }

  @Test func whatGoesToAnotherConnectionWhileItIsUnderWayIsOvertakenByNothing() {
    let scene = MovedUpstream(Self.entries, in: store)
    let first = scene.first
    #expect(first.written == ["e1 []#0"])
    let second = scene.move()
    #expect(second.written.isEmpty)
    scene.harness.pass(.milliseconds(1))
    #expect(second.written == ["e1 []#0"])
    second.acknowledge(0)
    #expect(second.written == ["e1 []#0", "e2 []#1"])
    #expect(first.written == ["e1 []#0"] && first.forgotten == [0])
  }

  @Test func aStopWhileSendsComeBackLetsThemOut() {
    let harness = begin()
    Self.allow([.send], in: harness)
    harness.gateway.stop(reason: "test") {}
    harness.pass(.seconds(1))
    #expect(harness.upstream.channel.written == ["hi []"] + Self.written(1...Self.count))
  }
}
