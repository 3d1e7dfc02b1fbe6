import Testing

@testable import GatewayCore

/// Histories on disk that no connection has any more are bounded by number, with a share for each user.
@Suite struct UnusedHistoriesTests {
  @Test func theOldestOfWhoeverHasTooManyGoes() {
    var unused = UnusedHistories()
    unused.bounds = SharedBounds(total: 4)
    func add(_ name: String, of account: Account) -> [String] {
      unused.add(name, of: account)
      return Self.excess(of: &unused)
    }
    #expect(add("a1", of: .user(1)).isEmpty && add("a2", of: .user(1)).isEmpty)
    #expect(add("a3", of: .user(1)) == ["a1"])
    // Used again, and left again: the newest.
    unused.forget("a2")
    #expect(add("a2", of: .user(1)).isEmpty && add("a4", of: .user(1)) == ["a3"])
    #expect(add("b1", of: .user(2)).isEmpty && add("b2", of: .configuration).isEmpty)
    #expect(add("c1", of: .user(3)) == ["a2"])
    #expect(!unused.contains("a2") && unused.contains("c1"))
  }

  private static func excess(of unused: inout UnusedHistories) -> [String] {
    var gone: [String] = []
    while let name = unused.popExcess() { gone.append(name) }
    return gone
  }

  @Test func smallerBoundsTakeAllThatIsTooMuch() {
    var unused = UnusedHistories()
    unused.bounds = SharedBounds(total: 8)
    for number in 0..<4 {
      unused.add("a\(number)", of: .user(1))
      unused.add("b\(number)", of: .user(2))
    }
    #expect(unused.popExcess() == nil)
    unused.bounds = SharedBounds(total: 2)
    #expect(Self.excess(of: &unused).count == 6)
    #expect(unused.contains("a3") && unused.contains("b3"))
  }

  private static func harness(_ store: FakeHistoryStore, seed: UInt64) -> GatewayHarness {
    GatewayHarness(histories: .success(store), seed: seed) {
      $0.limits.connections = 4
      var settings = UpstreamSettings()
      settings.history.disk = true
      settings.history.age = .seconds(86_400)
      $0.upstreams["chat"] = ConfiguredUpstream(
        url: UpstreamURL(scheme: "http", host: "chat.example"), settings: settings)
    }
  }

  /// A user's namespace brings an event, and is left.
  private static func leave(_ upstream: String, _ namespace: String, _ harness: GatewayHarness) {
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"\#(upstream)","namespace":"\#(namespace)"}"#)
    harness.upstream.channel.accept()
    harness.upstream.channel.emit("event")
    harness.gateway.commitHistories()
    client.disconnect()
    harness.pass(.seconds(120))
  }

  @Test func aNamespaceThatBecomesTheUpstreamsOwnIsNotTooMuch() throws {
    let store = FakeHistoryStore()
    let harness = Self.harness(store, seed: 1)
    store.modified = harness.time.wallMilliseconds
    harness.reload { $0.upstreams["other"] = $0.upstreams["chat"] }
    Self.leave("chat", "/n", harness)
    let own = try #require(store.names().first)
    #expect(store.listings == 0, "a history that is left is not looked at")
    harness.reload { $0.upstreams["chat"]?.url.path = "/n" }
    #expect(harness.gateway.upstreams.wantedHistories().contains(own))
    for number in 0..<4 { Self.leave("other", "/n\(number)", harness) }
    #expect(store.names().contains(own) && store.names().count == 3)
  }

  @Test func smallerBoundsOfAReloadRemoveWhatIsTooMuch() {
    let store = FakeHistoryStore()
    let harness = Self.harness(store, seed: 1)
    store.modified = harness.time.wallMilliseconds
    for number in 0..<2 { Self.leave("chat", "/n\(number)", harness) }
    #expect(store.names().count == 2)
    harness.reload { $0.limits.connections = 2 }
    #expect(store.names().count == 1)
  }

  @Test func aUserWhoGoesThroughNamespacesKeepsTheNewestHistoriesOnly() {
    let store = FakeHistoryStore()
    let harness = Self.harness(store, seed: 1)
    store.modified = harness.time.wallMilliseconds
    for number in 0..<6 {
      let client = harness.client()
      client.call("subscribe", #"{"upstream":"chat","namespace":"/n\#(number)"}"#)
      harness.upstream.channel.accept()
      harness.upstream.channel.emit("event")
      harness.gateway.commitHistories()
      client.disconnect()
      harness.pass(.seconds(120))
      #expect(harness.gateway.upstreams.pool.count == 0)
    }
    #expect(Set(store.names()).count == 2)
    // What an earlier daemon left is no user's, and counts as well.
    let later = Self.harness(store, seed: 2)
    for number in 6..<10 {
      let client = later.client(uid: UInt32(2_000 + number))
      client.call("subscribe", #"{"upstream":"chat","namespace":"/n\#(number)"}"#)
      later.upstream.channel.accept()
      later.upstream.channel.emit("event")
      later.gateway.commitHistories()
      client.disconnect()
      later.pass(.seconds(120))
    }
    #expect(Set(store.names()).count == 4)
  }
}
