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

  @Test func messagesToBeUndoneCountWhenTheirSubscriptionEnds() {
    let harness = GatewayHarness()
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    let channel = harness.upstream.channel
    channel.accept()
    for room in 0..<10 {
      let said = { (event: String) in
        "[" + (0..<100).map { #"{"event":"\#(event)","args":[\#(room * 100 + $0)]}"# }.joined(separator: ",") + "]"
      }
      client.call("subscribe", #"{"upstream":"chat","enter":\#(said("join")),"leave":\#(said("leave"))}"#)
    }
    let left = { channel.written.count { $0.hasPrefix("leave") } }
    client.disconnect()
    #expect(channel.written.count { $0.hasPrefix("join") } == 1_000)
    #expect(left() > 0 && left() < Departures.portion + HeldEnter.countLimit)
    harness.pass(.zero)
    #expect(left() == 1_000 && harness.gateway.upstreams.pool.all[0].leaseCount == 0)
  }

  /// So many at most end in each turn, until none is left.
  private func expectPortions(_ harness: GatewayHarness, _ count: () -> Int, of all: Int) {
    var last = count()
    #expect(last < all && all - last <= Departures.portion)
    for _ in 0..<100 where last > 0 {
      harness.timers.fire()
      let left = count()
      #expect(last - left <= Departures.portion)
      last = left
    }
    #expect(last == 0)
  }

  @Test func clientsThatHangUpAtOnceEndOnePortionInEachTurnTogether() {
    let harness = GatewayHarness { $0.limits.clientsPerUser = 4 }
    let clients = (0..<8).map { harness.client(uid: UInt32(1_000 + $0 / 4)) }
    for client in clients { for _ in 0..<120 { client.call("subscribe", #"{"upstream":"chat"}"#) } }
    harness.upstream.channel.accept()
    let connection = harness.gateway.upstreams.pool.all[0]
    for client in clients { client.disconnect() }
    expectPortions(harness, { connection.stream.subscriptionCount }, of: 960)
    harness.pass(.zero)
    #expect(connection.leaseCount == 0)
    #expect((0..<8).allSatisfy { harness.client(uid: UInt32(1_000 + $0 / 4)).isConnected })
  }

  @Test func clientsThatAreLetGoAtOnceEndOnePortionInEachTurnTogether() {
    let harness = GatewayHarness()
    let clients = (0..<8).map { _ in harness.client() }
    for client in clients { for _ in 0..<120 { client.call("subscribe", #"{"upstream":"chat"}"#) } }
    let connection = harness.gateway.upstreams.pool.all[0]
    for client in clients { client.session?.drop(reason: "kicked") }
    harness.timers.fire()
    expectPortions(harness, { connection.stream.subscriptionCount }, of: 960)
  }

  @Test func openCallsOfClientsThatHangUpAtOnceEndInPortions() {
    let harness = GatewayHarness()
    let clients = (0..<8).map { _ in harness.client() }
    for client in clients {
      for id in 1...100 {
        client.call("wait", #"{"upstream":"chat","state":"connected","timeout":60000}"#, id: id)
      }
    }
    let connection = harness.gateway.upstreams.pool.all[0]
    #expect(connection.leaseCount == 800)
    for client in clients { client.disconnect() }
    expectPortions(harness, { connection.leaseCount }, of: 800)
  }

  /// A client hangs up, and behind it in the same turn one whose turn to give back what it holds comes later.
  private func leaveBehindAnother(_ harness: GatewayHarness, _ client: HarnessClient) {
    let other = harness.client()
    for _ in 0..<600 { other.call("subscribe", #"{"upstream":"chat"}"#) }
    other.disconnect()
    client.disconnect()
  }

  @Test func whatAClientWaitedForIsTakenBackThoughItsTurnComesLater() {
    let harness = GatewayHarness { $0.limits.subscriptions = 10_000 }
    let (client, stays) = (harness.client(), harness.client(uid: 2))
    stays.call("subscribe", #"{"upstream":"chat"}"#)
    client.call("request", #"{"upstream":"chat","event":"ask","timeout":60000}"#)
    leaveBehindAnother(harness, client)
    let connection = harness.gateway.upstreams.pool.all[0]
    #expect(!connection.delivery.commands.isIdle)
    harness.pass(.zero)
    #expect(connection.delivery.commands.isIdle)
    harness.upstream.channel.accept()
    #expect(harness.upstream.channel.written.isEmpty)
  }

  @Test func anAnswerThatComesBeforeACallIsTakenBackIsItsOutcome() {
    let harness = GatewayHarness { $0.limits.subscriptions = 10_000 }
    let (client, again) = (harness.client(), harness.client())
    again.call("subscribe", #"{"upstream":"chat"}"#)
    harness.upstream.channel.accept()
    let request = #"{"upstream":"chat","event":"ask","key":"k","timeout":60000}"#
    client.call("request", request)
    leaveBehindAnother(harness, client)
    harness.upstream.channel.acknowledge(0)
    harness.pass(.zero)
    let repeated = HarnessClient.values(again.call("request", request, id: 2)).last?["result"]
    #expect(repeated?["duplicate"]?.boolValue == true && repeated?["state"]?.stringValue == "acked")
  }

  private func keyedSend(_ event: String, _ delivery: String) -> String {
    #"{"upstream":"chat","event":"\#(event)","key":"k","delivery":"\#(delivery)"}"#
  }

  /// What a client is told that repeats the send of one that is gone, in the meantime.
  private func expectTaken(_ answer: [String], _ events: [String], _ harness: GatewayHarness) {
    let result = HarnessClient.values(answer).last?["result"]
    #expect(result?["state"]?.stringValue == "accepted" && result?["duplicate"] == nil)
    harness.pass(.seconds(2))
    harness.upstream.channel.accept()
    #expect(harness.upstream.channel.written == events)
  }

  @Test func aSendIsNoDuplicateOfOneThatIsTakenBackAfterIt() {
    let harness = GatewayHarness { $0.limits.subscriptions = 10_000 }
    let (client, again) = (harness.client(), harness.client())
    client.call("send", keyedSend("a", "sent"))
    leaveBehindAnother(harness, client)
    expectTaken(again.call("send", keyedSend("a", "accepted")), ["a []"], harness)
  }

  @Test func aSendDoesNotConflictWithOneThatIsTakenBackAfterIt() {
    let harness = GatewayHarness { $0.limits.subscriptions = 10_000 }
    let (client, again) = (harness.client(), harness.client())
    client.call("send", keyedSend("a", "sent"))
    leaveBehindAnother(harness, client)
    expectTaken(again.call("send", keyedSend("b", "accepted")), ["b []"], harness)
  }

  @Test func aSendIsNoDuplicateOfOneWhoseClientIsLetGoAndStillThere() {
    let harness = GatewayHarness()
    let (client, again) = (harness.client(), harness.client())
    client.call("send", keyedSend("a", "sent"))
    client.session?.drop(reason: "kicked")
    expectTaken(again.call("send", keyedSend("a", "accepted")), ["a []"], harness)
  }

  @Test func aSendIsADuplicateOfOneWhoseClientIsThere() {
    let harness = GatewayHarness()
    let (client, again) = (harness.client(), harness.client())
    client.call("send", keyedSend("a", "sent"))
    let repeated = HarnessClient.values(again.call("send", keyedSend("a", "sent"))).last?["result"]
    #expect(repeated?["duplicate"]?.boolValue == true)
    harness.upstream.channel.accept()
    #expect(harness.upstream.channel.written == ["a []"])
  }
}
