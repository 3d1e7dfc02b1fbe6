import Testing

@testable import GatewayCore

/// What the machine's network does to connections.
@Suite struct NetworkTests {
  private func connected(_ harness: GatewayHarness, _ target: String = #"{"upstream":"chat"}"#) -> HarnessClient {
    let client = harness.client()
    client.call("subscribe", target)
    harness.upstream.channel.facts.transport = TransportFacts(
      name: "websocket", tlsVersion: nil, verified: true, address: "10.9.9.9")
    harness.upstream.channel.accept()
    return client
  }

  private func reasons(_ client: HarnessClient) -> [String?] {
    client.statusConnections().map { $0["reason"]?.stringValue }
  }

  @Test func withoutARouteAConnectionIsDownAtOnceAndNothingIsTried() {
    let harness = GatewayHarness()
    let client = connected(harness)
    harness.network.goDown()
    #expect(harness.upstream.channel.isClosed)
    #expect(reasons(client) == ["offline"])
    harness.client().call("request", #"{"upstream":"chat","event":"x","timeout":1000}"#)
    harness.pass(.seconds(3_600))
    #expect(harness.upstream.channels.count == 1)
  }

  @Test func theWayBackStartsAnAttemptAtOnce() {
    let harness = GatewayHarness()
    _ = connected(harness)
    harness.pass(.seconds(5))
    harness.network.goDown()
    harness.pass(.seconds(60))
    harness.network.comeUp()
    #expect(harness.upstream.channels.count == 2)
  }

  @Test func theWayBackEndsTheBackOff() {
    let harness = GatewayHarness()
    let client = connected(harness)
    for _ in 0..<8 {
      harness.upstream.channel.fail(.unreachable)
      client.call("reconnect", #"{"upstream":"chat"}"#)
      harness.pass(.seconds(30))
    }
    let attempts = harness.upstream.channels.count
    harness.random.prescribe(fraction: 0.99)
    harness.upstream.channel.fail(.unreachable)
    harness.network.goDown()
    #expect(reasons(client) == ["offline"])
    harness.pass(.seconds(2))
    harness.network.comeUp()
    #expect(harness.upstream.channels.count == attempts + 1)
  }

  /// What stays down, or waits longer, for a reason that the network did not make.
  @Test(arguments: [DownReason.kicked, .closed, .refused]) func aFlapOfTheNetworkDoesNotReviveWhatStaysDown(
    _ reason: DownReason
  ) {
    let harness = GatewayHarness {
      $0.upstreams["chat"]?.settings.reconnectAfterKick = reason != .kicked
      $0.upstreams["chat"]?.settings.reconnect.enabled = reason != .closed
    }
    let client = connected(harness)
    harness.random.prescribe(fraction: 0.99)
    harness.upstream.channel.fail(reason)
    harness.network.goDown()
    #expect(reasons(client) == [reason.rawValue])
    harness.pass(.seconds(5))
    harness.network.comeUp()
    harness.pass(.seconds(5))
    #expect(harness.upstream.channels.count == 1)
    #expect(reasons(client) == [reason.rawValue])
    harness.client(uid: 0).call("reconnect", #"{"upstream":"chat"}"#)
    #expect(harness.upstream.channels.count == 2)
  }

  @Test func anUpstreamOnThisMachineNeedsNoNetwork() {
    let harness = GatewayHarness()
    _ = connected(harness, #"{"url":"http://localhost:3000"}"#)
    harness.network.goDown()
    #expect(!harness.upstream.channel.isClosed)
    #expect(harness.upstream.channel.verifications == 0)
  }

  @Test func aFirstConnectionWithoutANetworkWaitsForIt() {
    let harness = GatewayHarness()
    harness.network.goDown()
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    #expect(harness.upstream.channels.isEmpty)
    #expect(reasons(client) == ["offline"])
    harness.network.comeUp()
    #expect(harness.upstream.channels.count == 1)
  }

  @Test func anotherSourceAddressMakesTheServerBeAsked() {
    let harness = GatewayHarness()
    _ = connected(harness)
    harness.network.tell(touching: [])
    harness.network.tell(touching: [7])
    #expect(harness.upstream.channel.verifications == 0)
    harness.network.comeUp(source: [10, 0, 0, 77])
    #expect(harness.upstream.channel.verifications == 1)
  }

  @Test func anInterfaceThatLostSomethingForAMomentMakesTheServerBeAsked() {
    let harness = GatewayHarness()
    _ = connected(harness)
    harness.network.tell(touching: [2])
    harness.network.tell(touching: nil)
    #expect(harness.upstream.channel.verifications == 2)
  }

  @Test func aResumeAsksTheServerAndEndsTheWaiting() {
    let harness = GatewayHarness()
    _ = connected(harness)
    harness.gateway.resumed()
    #expect(harness.upstream.channel.verifications == 1)
    harness.random.prescribe(fraction: 0.99)
    harness.pass(.seconds(20))
    harness.upstream.channel.fail(.unreachable)
    harness.gateway.resumed()
    #expect(harness.upstream.channels.count == 2)
  }

  @Test func commandsAskTheNetworkNothing() {
    let harness = GatewayHarness()
    let client = connected(harness)
    let before = harness.network.questions
    for _ in 0..<100 { client.call("send", #"{"upstream":"chat","event":"x"}"#) }
    #expect(harness.network.questions == before)
  }
}
