@testable import GatewayCore

/// Durable sends with retries to a URL, which a reload makes the one of a configured upstream: another connection carries
/// them from then on.
struct MovedUpstream {
  let harness: GatewayHarness
  /// The open link of the connection that has them at first.
  let first: FakeChannel

  init(_ entries: [OutboxEntry], in store: FakeOutboxStore = FakeOutboxStore()) {
    let sends = entries.map { entry in
      var send = entry
      send.target = OutboxTarget(name: .url("http://moved.example/"), namespace: entry.target.namespace)
      send.retries = 9
      return send
    }
    harness = GatewayHarness(outbox: .open(store, sends))
    harness.client().call("subscribe", #"{"url":"http://moved.example"}"#)
    first = harness.upstream.channel
    first.accept()
  }

  /// Reloads. Returns the open link of the connection that has them then.
  func move() -> FakeChannel {
    harness.reload {
      $0.upstreams["moved"] = ConfiguredUpstream(
        url: UpstreamURL(scheme: "http", host: "moved.example"), settings: UpstreamSettings())
    }
    let second = harness.upstream.channel
    second.accept()
    return second
  }
}
