import Testing

@testable import GatewayCore

/// One upstream connection for all local programs, from the first use to the release.
@Suite struct SharedConnectionTests {
  @Test func twoSubscribersShareOneConnectionAndGetEveryEvent() {
    let harness = GatewayHarness()
    let first = harness.client()
    let second = harness.client(uid: 1_001)
    first.call("subscribe", #"{"upstream":"chat","subscription":"mine"}"#)
    second.call("subscribe", #"{"upstream":"chat","events":["news"]}"#)
    #expect(harness.upstream.channels.count == 1)
    harness.upstream.channel.accept()
    harness.upstream.channel.emit("news", #""hi",{"a":1}"#)
    harness.upstream.channel.emit("other")
    let wall = harness.time.wallMilliseconds
    #expect(
      first.read() == [
        #"{"jsonrpc":"2.0","method":"event","params":{"subscription":"mine","seq":1,"time":\#(wall),"event":"news","args":["hi",{"a":1}]}}"#,
        #"{"jsonrpc":"2.0","method":"event","params":{"subscription":"mine","seq":2,"time":\#(wall),"event":"other","args":[]}}"#,
      ])
    #expect(
      second.read() == [
        #"{"jsonrpc":"2.0","method":"event","params":{"subscription":"s1","seq":1,"time":\#(wall),"event":"news","args":["hi",{"a":1}]}}"#
      ])
  }

  @Test func adHocConnectionsOfTwoUsersAreApart() {
    let harness = GatewayHarness()
    let target = #"{"url":"http://other.example/room"}"#
    for uid: UInt32 in [1_000, 1_000, 1_001] { harness.client(uid: uid).call("subscribe", target) }
    #expect(harness.upstream.channels.count == 2)
  }

  @Test func aURLOfAConfiguredUpstreamMeansThatUpstream() {
    let harness = GatewayHarness()
    harness.client().call("subscribe", #"{"upstream":"chat"}"#)
    harness.client(uid: 1_001).call("subscribe", #"{"url":"ws://chat.example:80/"}"#)
    #expect(harness.upstream.channels.count == 1)
  }

  @Test func theLastLeaseLeavingStartsLingerThenClosesThenReleases() {
    let harness = GatewayHarness()
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    harness.upstream.channel.accept()
    client.disconnect()
    harness.pass(.seconds(29))
    #expect(!harness.upstream.channel.isClosed)
    harness.pass(.seconds(2))
    #expect(harness.upstream.channel.isClosed)
    #expect(harness.gateway.upstreams.pool.count == 1)
    harness.pass(.seconds(60))
    #expect(harness.gateway.upstreams.pool.count == 0)
  }

  @Test func sendsAloneKeepAConnectionFromLingeringAway() {
    let harness = GatewayHarness()
    let client = harness.client()
    client.call("send", #"{"upstream":"chat","event":"e"}"#)
    harness.upstream.channel.accept()
    for _ in 0..<10 {
      harness.pass(.seconds(20))
      client.call("send", #"{"upstream":"chat","event":"e"}"#)
    }
    #expect(harness.upstream.channels.count == 1)
    #expect(!harness.upstream.channel.isClosed)
  }

  @Test func keepAlwaysConnectsWithoutAnyClientAndStays() {
    let harness = GatewayHarness { $0.upstreams["chat"]?.settings.keep = .always }
    #expect(harness.upstream.channels.count == 1)
    harness.upstream.channel.accept()
    harness.pass(.seconds(3_600))
    #expect(!harness.upstream.channel.isClosed)
    harness.upstream.channel.fail(.closed)
    harness.pass(.seconds(2))
    #expect(harness.upstream.channels.count == 2)
  }

  @Test func everyTransitionIsToldInOrderAndNoneIsMerged() {
    let harness = GatewayHarness()
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat","state":true,"events":["none"]}"#)
    harness.upstream.channel.accept()
    harness.upstream.channel.fail(UpstreamFailure(.closed, "the server went away", status: 1_001))
    harness.pass(.seconds(2))
    harness.upstream.channel.accept()
    let told = client.readValues().compactMap { value -> String? in
      guard value["method"]?.stringValue == "state" else { return value["method"]?.stringValue }
      return value["params"]?["state"]?.stringValue
    }
    #expect(told == ["connected", "disconnected", "reconnecting", "gap", "connected"])
  }

  @Test func aReconnectBeginsANewEpochAndTellsEverySubscriber() {
    let harness = GatewayHarness()
    let client = harness.client()
    let before = client.call("subscribe", #"{"upstream":"chat"}"#)
    let epoch = HarnessClient.values(before)[0]["result"]?["epoch"]?.stringValue
    harness.upstream.channel.accept()
    harness.upstream.channel.emit("one")
    harness.upstream.channel.fail(.closed)
    harness.pass(.seconds(2))
    harness.upstream.channel.accept()
    harness.upstream.channel.emit("two")
    let told = client.readValues()
    #expect(told.map { $0["method"]?.stringValue } == ["event", "gap", "event"])
    let gap = told[1]["params"]
    #expect(gap?["reason"]?.stringValue == "upstream")
    #expect(gap?["from"] == nil)
    #expect(gap?["epoch"]?.stringValue != epoch)
    #expect(told[2]["params"]?["seq"]?.integerValue == 2)
  }

  @Test func aNewLeaseStartsAWaitingAttemptAtOnceButAtMostOnceASecond() {
    let harness = GatewayHarness { $0.upstreams["chat"]?.settings.reconnect.base = .seconds(30) }
    harness.random.prescribe(fraction: 0.99)
    harness.client().call("subscribe", #"{"upstream":"chat"}"#)
    harness.random.prescribe(fraction: 0.99)
    harness.upstream.channel.fail(.unreachable)
    harness.client().call("subscribe", #"{"upstream":"chat"}"#)
    #expect(harness.upstream.channels.count == 1)
    harness.pass(.seconds(1))
    #expect(harness.upstream.channels.count == 2)
  }

  @Test func anAdministratorsDisconnectHoldsUntilReconnect() {
    let harness = GatewayHarness()
    let root = harness.client(uid: 0)
    root.call("subscribe", #"{"upstream":"chat"}"#)
    harness.upstream.channel.accept()
    #expect(
      root.call("disconnect", #"{"upstream":"chat"}"#) == [
        #"{"jsonrpc":"2.0","id":1,"result":{"state":"disconnected"}}"#
      ])
    #expect(harness.upstream.channel.isClosed)
    harness.pass(.seconds(3_600))
    #expect(harness.upstream.channels.count == 1)
    #expect(
      root.call("reconnect", #"{"upstream":"chat"}"#) == [
        #"{"jsonrpc":"2.0","id":1,"result":{"state":"reconnecting"}}"#
      ])
    #expect(harness.upstream.channels.count == 2)
  }

  @Test func aConnectionThatIsHeldByDisconnectGoesWhenItsUpstreamLeavesTheConfiguration() {
    let harness = GatewayHarness()
    let root = harness.client(uid: 0)
    root.call("subscribe", #"{"upstream":"chat"}"#)
    harness.upstream.channel.accept()
    root.call("disconnect", #"{"upstream":"chat"}"#)
    root.disconnect()
    harness.pass(.seconds(3_600))
    #expect(harness.gateway.upstreams.pool.count == 1)
    harness.reload { $0.upstreams["chat"] = nil }
    harness.pass(.seconds(3_600))
    #expect(harness.gateway.upstreams.pool.count == 0)
  }

  @Test func aDisconnectStillHoldsWhenTheUpstreamLeftTheConfigurationAndIsBack() throws {
    let harness = GatewayHarness()
    let root = harness.client(uid: 0)
    root.call("subscribe", #"{"upstream":"chat"}"#)
    harness.upstream.channel.accept()
    root.call("disconnect", #"{"upstream":"chat"}"#)
    let chat = try #require(harness.gateway.configuration.upstreams["chat"])
    harness.reload { $0.upstreams["chat"] = nil }
    harness.pass(.seconds(3_600))
    harness.reload { $0.upstreams["chat"] = chat }
    harness.pass(.seconds(3_600))
    #expect(harness.upstream.channels.count == 1)
    root.call("reconnect", #"{"upstream":"chat"}"#)
    #expect(harness.upstream.channels.count == 2)
  }

  @Test func releaseIsRefusedWhileSomebodyHoldsTheConnection() {
    let harness = GatewayHarness()
    let root = harness.client(uid: 0)
    root.call("subscribe", #"{"upstream":"chat"}"#)
    harness.upstream.channel.fail(.unreachable)
    let answer = HarnessClient.values(root.call("release", #"{"upstream":"chat"}"#))[0]
    #expect(answer["error"]?["data"]?["type"]?.stringValue == "IllegalState")
    #expect(answer["error"]?["data"]?["state"]?.stringValue == "disconnected")
    root.call("unsubscribe", #"{"subscription":"s1"}"#)
    #expect(
      root.call("release", #"{"upstream":"chat"}"#) == [#"{"jsonrpc":"2.0","id":1,"result":{"state":"released"}}"#])
    #expect(harness.gateway.upstreams.pool.count == 0)
  }
}
