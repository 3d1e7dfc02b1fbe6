import Testing

@testable import GatewayCore

@Suite struct ConnectionPoolTests {
  /// What the list is kept in, without being sorted for those who ask for it.
  private func isInOrder(_ all: [Connection]) -> Bool {
    let ranks = all.map { ($0.specification.name ?? "\u{10ffff}", $0.specification.url.redacted) }
    return zip(ranks, ranks.dropFirst()).allSatisfy { $0 <= $1 }
  }

  @Test func theListStaysInOrderAsConnectionsComeGoAndChange() {
    let harness = GatewayHarness { configuration in
      for name in ["beta", "alpha"] { configuration.upstreams[name] = configuration.upstreams["chat"] }
    }
    let pool = harness.gateway.upstreams.pool
    let client = harness.client(uid: 0)
    for number in [7, 3, 9, 1, 5, 8, 2, 6, 4] {
      client.call("subscribe", #"{"url":"http://host\#(number).example","subscription":"s\#(number)"}"#, id: number)
    }
    for name in ["chat", "beta", "alpha"] { client.call("subscribe", #"{"upstream":"\#(name)"}"#, id: 20) }
    #expect(pool.all.count == 12 && pool.count == 12)
    #expect(isInOrder(pool.all))
    for channel in harness.upstream.channels { channel.accept() }
    for number in [3, 9, 6] {
      client.call("unsubscribe", #"{"subscription":"s\#(number)"}"#, id: 30)
      for method in ["disconnect", "release"] {
        client.call(method, #"{"url":"http://host\#(number).example"}"#, id: 31)
      }
    }
    #expect(pool.all.count == 9 && pool.count == 9)
    #expect(isInOrder(pool.all))
    harness.reload { $0.upstreams["alpha"]?.url = UpstreamURL(scheme: "http", host: "moved.example") }
    #expect(pool.all.count == pool.count)
    #expect(isInOrder(pool.all))
  }
}
