import Testing

@testable import GatewayCore

/// `trace` and `untrace`, as a local client sees them.
@Suite struct TraceTests {
  private let harness = GatewayHarness()
  private let fact = TraceFact(.incoming, .engine, "PING")

  /// What the kind of the connection tells its observers.
  private func observe(_ fact: TraceFact) {
    for connection in harness.gateway.upstreams.pool.all { connection.connector.observer?.observed(fact) }
  }

  private func texts(_ client: HarnessClient) -> [String?] {
    client.readValues().filter { $0["method"]?.stringValue == "trace" }.map { $0["params"]?["text"]?.stringValue }
  }

  @Test func aTraceBeginsBeforeTheConnectionAndEndsWithUntrace() {
    let admin = harness.client(uid: 0)
    let reply = HarnessClient.values(admin.call("trace", #"{"upstream":"chat"}"#))
    #expect(reply[0]["result"]?["trace"]?.stringValue == "t1")
    #expect(harness.gateway.upstreams.pool.count == 0)
    harness.client().call("send", #"{"upstream":"chat","event":"e"}"#)
    observe(fact)
    let told = admin.readValues()
    #expect(told.count == 1)
    #expect(told[0]["params"]?["direction"]?.stringValue == "in")
    #expect(told[0]["params"]?["layer"]?.stringValue == "engine")
    #expect(told[0]["params"]?["text"]?.stringValue == "PING")
    admin.call("untrace", #"{"trace":"t1"}"#)
    #expect(harness.gateway.upstreams.pool.all[0].connector.observer == nil)
    let again = HarnessClient.values(admin.call("untrace", #"{"trace":"t1"}"#))
    #expect(again[0]["error"]?["data"]?["type"]?.stringValue == "InvalidParams")
  }

  @Test func aTraceEndsWithItsClientAndStaysForOthers() {
    harness.client().call("subscribe", #"{"upstream":"chat"}"#)
    let one = harness.client(uid: 0)
    let other = harness.client(uid: 0)
    one.call("trace", #"{"upstream":"chat"}"#)
    other.call("trace", #"{"upstream":"chat","payloads":true}"#)
    var fact = fact
    fact.payload = "p"
    observe(fact)
    #expect(one.readValues()[0]["params"]?["payload"] == nil)
    #expect(other.readValues()[0]["params"]?["payload"]?.stringValue == "p")
    one.disconnect()
    observe(fact)
    #expect(texts(other) == ["PING"])
    other.disconnect()
    #expect(harness.gateway.upstreams.pool.all[0].connector.observer == nil)
  }

  @Test func itNeedsTheRightAdmin() {
    let lines = harness.client().call("trace", #"{"upstream":"chat"}"#)
    #expect(HarnessClient.values(lines)[0]["error"]?["data"]?["need"]?.stringValue == "admin")
  }

  @Test func aTraceIsNoUse() {
    harness.client(uid: 0).call("trace", #"{"upstream":"chat"}"#)
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat","subscription":"s"}"#)
    harness.upstream.channel.accept()
    client.call("unsubscribe", #"{"subscription":"s"}"#)
    harness.pass(.seconds(200))
    #expect(harness.gateway.upstreams.pool.count == 0)
    client.call("subscribe", #"{"upstream":"chat"}"#)
    #expect(harness.gateway.upstreams.pool.all[0].connector.observer != nil)
  }

  @Test func whatIsNotReadIsDroppedAndCounted() {
    harness.client().call("subscribe", #"{"upstream":"chat"}"#)
    let admin = harness.client(uid: 0)
    admin.call("trace", #"{"upstream":"chat"}"#)
    for _ in 0..<10_000 { observe(fact) }
    let unread = admin.session?.output.pointee.count ?? 0
    #expect(unread < ClientOutput.directLimit + 1_024)
    let told = admin.readValues()
    let dropped = told.last?["params"]?["dropped"]?.integerValue ?? 0
    #expect(dropped > 0)
    #expect(told.count - 1 + dropped == 10_000)
    observe(fact)
    #expect(texts(admin) == ["PING"])
  }

  @Test func aClientHasSoManyTraces() {
    let admin = harness.client(uid: 0)
    for _ in 0..<Trace.limit { admin.call("trace", #"{"upstream":"chat"}"#) }
    let lines = admin.call("trace", #"{"upstream":"chat"}"#)
    #expect(HarnessClient.values(lines)[0]["error"]?["data"]?["quota"]?.stringValue == "traces")
  }
}
