import Testing

@testable import GatewayCore

/// A client that does not read: what it misses is announced, and no other client notices.
@Suite struct SlowClientTests {
  /// Every event is larger than a client's direct room, so that the second one queues.
  private static let big = "\"" + String(repeating: "x", count: ClientOutput.directLimit) + "\""

  private func harness(policy: String, queue: Int = 2) -> (GatewayHarness, HarnessClient) {
    let harness = GatewayHarness()
    let client = harness.client()
    client.call(
      "subscribe", #"{"upstream":"chat","events":["e"],"queue":\#(queue),"on_slow":"\#(policy)"}"#)
    harness.upstream.channel.accept()
    return (harness, client)
  }

  private func digest(_ lines: [String]) -> [String] {
    HarnessClient.values(lines).map { value in
      let params = value["params"]
      switch value["method"]?.stringValue {
      case "event": return "event \(params?["seq"]?.integerValue ?? -1)"
      case "gap":
        return "gap \(params?["from"]?.integerValue ?? -1)-\(params?["to"]?.integerValue ?? -1)"
          + " x\(params?["count"]?.integerValue ?? -1) \(params?["reason"]?.stringValue ?? "")"
      case let other: return other ?? "reply"
      }
    }
  }

  @Test func droppingTheOldestPutsAGapInTheirPlace() {
    let (harness, client) = harness(policy: "drop_oldest")
    for _ in 1...6 { harness.upstream.channel.emit("e", Self.big) }
    #expect(digest(client.read()) == ["event 1", "gap 2-4 x3 slow_consumer", "event 5", "event 6"])
    harness.upstream.channel.emit("e")
    #expect(digest(client.read()) == ["event 7"])
  }

  @Test func aReloadChangesHowManyEventsMayWaitInASubscription() {
    let harness = GatewayHarness { $0.limits.subscriptionQueue = 2 }
    let (client, modest) = (harness.client(), harness.client())
    client.call("subscribe", #"{"upstream":"chat","events":["e"]}"#)
    modest.call("subscribe", #"{"upstream":"chat","events":["e"],"queue":2}"#)
    harness.upstream.channel.accept()
    client.read()
    modest.read()
    harness.reload { $0.limits.subscriptionQueue = 4 }
    for _ in 1...6 { harness.upstream.channel.emit("e", Self.big) }
    #expect(digest(client.read()) == ["event 1", "gap 2-2 x1 slow_consumer"] + (3...6).map { "event \($0)" })
    #expect(digest(modest.read()) == ["event 1", "gap 2-4 x3 slow_consumer", "event 5", "event 6"])
    harness.reload { $0.limits.subscriptionQueue = 1 }
    for _ in 7...9 { harness.upstream.channel.emit("e", Self.big) }
    #expect(digest(client.read()) == ["event 7", "gap 8-8 x1 slow_consumer", "event 9"])
    #expect(digest(modest.read()) == ["event 7", "gap 8-8 x1 slow_consumer", "event 9"])
  }

  @Test func aReloadChangesHowManyBytesMayWaitInASubscription() {
    let (harness, client) = harness(policy: "drop_oldest", queue: 10)
    client.read()
    harness.reload { $0.limits.subscriptionQueueBytes = 2 * Self.big.utf8.count }
    for _ in 1...4 { harness.upstream.channel.emit("e", Self.big) }
    #expect(digest(client.read()) == ["event 1", "gap 2-3 x2 slow_consumer", "event 4"])
  }

  @Test func aLongQueueMovesUpAPortionAtATime() throws {
    let (harness, client) = harness(policy: "drop_oldest", queue: 100_000)
    for _ in 1...10_000 { harness.upstream.channel.emit("e") }
    let session = try #require(client.session)
    let queued = session.subscriptions.queuedBytes
    #expect(queued > ClientOutput.directLimit)
    harness.gateway.outputs.consume(session.output.pointee.count, of: session.output)
    session.outputDrained()
    #expect(session.output.pointee.count < ClientOutput.directLimit / 2)
    #expect(session.subscriptions.queuedBytes < queued)
    #expect(digest(client.read()).filter { $0.hasPrefix("event ") }.last == "event 10000")
  }

  @Test func aGapNamesTheEpochOfWhatWasDropped() {
    let (harness, client) = harness(policy: "drop_oldest")
    for _ in 1...3 { harness.upstream.channel.emit("e", Self.big) }
    let first = harness.gateway.upstreams.pool.all[0].stream.epoch
    harness.upstream.channel.fail(.closed)
    harness.pass(.seconds(5))
    harness.upstream.channel.accept()
    for _ in 4...6 { harness.upstream.channel.emit("e", Self.big) }
    let second = harness.gateway.upstreams.pool.all[0].stream.epoch
    let gaps = client.readValues().filter { $0["method"]?.stringValue == "gap" }.map { $0["params"] }
    #expect(gaps.map { $0?["reason"]?.stringValue } == ["slow_consumer", "upstream", "slow_consumer"])
    #expect(gaps.map { $0?["epoch"]?.stringValue } == [first, second, second])
    #expect(gaps.map { $0?["to"]?.integerValue } == [3, nil, 4])
  }

  @Test func pausingKeepsTheOldestAndNamesWhatCameLater() {
    let (harness, client) = harness(policy: "pause")
    for _ in 1...6 { harness.upstream.channel.emit("e", Self.big) }
    #expect(digest(client.read()) == ["event 1", "event 2", "event 3", "gap 4-6 x3 slow_consumer"])
    harness.upstream.channel.emit("e")
    #expect(digest(client.read()) == ["event 7"])
  }

  @Test func theDisconnectPolicyEndsTheClientWithAGoodbye() {
    let (harness, client) = harness(policy: "disconnect")
    for _ in 1...6 { harness.upstream.channel.emit("e", Self.big) }
    let told = client.readValues()
    #expect(told.last?["method"]?.stringValue == "goodbye")
    #expect(told.last?["params"]?["reason"]?.stringValue == "slow_consumer")
    #expect(!client.isConnected)
  }

  @Test func aClientThatNeverReadsIsClosedAfterAWhile() {
    let (harness, client) = harness(policy: "disconnect")
    for _ in 1...6 { harness.upstream.channel.emit("e", Self.big) }
    harness.pass(.seconds(2))
    #expect(!client.isConnected)
  }

  @Test func theCountOfAGapIsThatOfTheMatchingEvents() {
    let (harness, client) = harness(policy: "drop_oldest")
    for _ in 1...4 {
      harness.upstream.channel.emit("e", Self.big)
      harness.upstream.channel.emit("unwanted")
    }
    #expect(digest(client.read()) == ["event 1", "gap 3-3 x1 slow_consumer", "event 5", "event 7"])
  }

  @Test func creditDeliversSoManyEventsAndNoMore() {
    let harness = GatewayHarness()
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat","credit":1}"#)
    harness.upstream.channel.accept()
    for _ in 1...4 { harness.upstream.channel.emit("e") }
    #expect(digest(client.read()) == ["event 1"])
    #expect(digest(client.call("credit", #"{"subscription":"s1","n":2}"#)) == ["reply", "event 2", "event 3"])
    #expect(digest(client.call("credit", #"{"subscription":"s1","n":5}"#)) == ["reply", "event 4"])
    harness.upstream.channel.emit("e")
    #expect(digest(client.read()) == ["event 5"])
  }

  @Test func anEventOverTheLineLimitIsAGapOfOneAndTheLinkLives() {
    let harness = GatewayHarness { $0.limits.line = 4_096 }
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    harness.upstream.channel.accept()
    harness.upstream.channel.emit("e", "\"" + String(repeating: "x", count: 5_000) + "\"")
    harness.upstream.channel.emit("e")
    #expect(digest(client.read()) == ["gap 1-1 x1 too_large", "event 2"])
  }

  @Test func aStateTransitionWaitsBehindQueuedEventsAndIsNeverDropped() {
    let harness = GatewayHarness()
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat","queue":1,"state":true}"#)
    harness.upstream.channel.accept()
    client.read()
    for _ in 1...3 { harness.upstream.channel.emit("e", Self.big) }
    harness.upstream.channel.fail(.closed)
    #expect(digest(client.read()) == ["event 1", "gap 2-2 x1 slow_consumer", "event 3", "state"])
  }

  @Test func oneSlowClientDoesNotDelayAnother() {
    let (harness, slow) = harness(policy: "drop_oldest")
    let fast = harness.client()
    fast.call("subscribe", #"{"upstream":"chat"}"#)
    for number in 1...20 {
      harness.upstream.channel.emit("e", Self.big)
      #expect(digest(fast.read()) == ["event \(number)"])
    }
    #expect(slow.isConnected)
  }
}
