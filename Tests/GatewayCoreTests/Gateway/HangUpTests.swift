import Testing

@testable import GatewayCore

/// What is left to be done for a client that hangs up.
@Suite struct HangUpTests {
  @Test func aClientWithVeryManySubscriptionsLeavesInPortions() {
    let harness = GatewayHarness { $0.limits.subscriptions = 10_000 }
    let (client, other) = (harness.client(), harness.client())
    for _ in 0..<1_500 { client.call("subscribe", #"{"upstream":"chat"}"#) }
    other.call("subscribe", #"{"upstream":"chat"}"#)
    harness.upstream.channel.accept()
    let stream = harness.gateway.upstreams.pool.all[0].stream
    client.disconnect()
    #expect(stream.subscriptionCount > 900 && stream.subscriptionCount < 1_100)
    harness.upstream.channel.emit("meanwhile")
    #expect(other.read().count == 1)
    harness.pass(.zero)
    #expect(stream.subscriptionCount == 1 && harness.gateway.upstreams.pool.all[0].leaseCount == 1)
  }

  @Test func aClientTakesItsPlaceUntilItsLastSubscriptionIsOver() {
    let harness = GatewayHarness {
      $0.limits.subscriptions = 10_000
      $0.limits.clientsPerUser = 1
    }
    let client = harness.client()
    for _ in 0..<1_500 { client.call("subscribe", #"{"upstream":"chat"}"#) }
    client.disconnect()
    #expect(!harness.client().isConnected)
    harness.pass(.zero)
    #expect(harness.client().isConnected)
  }

  @Test func namesOfASubscriptionCountWhenItEnds() {
    let harness = GatewayHarness()
    let client = harness.client()
    let names = "[" + (0..<1_000).map { "\"n\($0)\"" }.joined(separator: ",") + "]"
    for _ in 0..<3 { client.call("subscribe", #"{"upstream":"chat","events":\#(names)}"#) }
    let connection = harness.gateway.upstreams.pool.all[0]
    client.disconnect()
    #expect(connection.stream.subscriptionCount == 2)
    harness.pass(.zero)
    #expect(connection.leaseCount == 0)
  }
}
