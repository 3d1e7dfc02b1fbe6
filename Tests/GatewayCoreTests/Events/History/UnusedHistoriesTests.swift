import Testing

@testable import GatewayCore

/// Histories on disk that nobody has any more are bounded by number, with a share for each user.
@Suite struct UnusedHistoriesTests {
  @Test func theOldestOfWhoeverHasTooManyGoes() {
    var unused = UnusedHistories()
    unused.bounds = SharedBounds(total: 4)
    #expect(unused.add("a1", of: .user(1)).isEmpty && unused.add("a2", of: .user(1)).isEmpty)
    #expect(unused.add("a3", of: .user(1)) == ["a1"])
    // Used again, and left again: the newest.
    unused.take("a2")
    #expect(unused.add("a2", of: .user(1)).isEmpty && unused.add("a4", of: .user(1)) == ["a3"])
    #expect(unused.add("b1", of: .user(2)).isEmpty && unused.add("b2", of: .configuration).isEmpty)
    #expect(unused.add("c1", of: .user(3)) == ["a2"])
    #expect(!unused.contains("a2") && unused.contains("c1"))
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
      #expect(harness.gateway.pool.count == 0)
    }
    #expect(Set(store.names()).count == 2)
    // What an earlier daemon left is nobody's, and counts as well.
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
