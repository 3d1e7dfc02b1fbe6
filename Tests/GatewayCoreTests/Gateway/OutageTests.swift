import Testing

@testable import GatewayCore

/// What a program is told of an upstream that is down.
@Suite struct OutageTests {
  private func result(_ lines: [String]) -> JSONValue? { HarnessClient.values(lines).first?["result"] }

  private func down() -> (GatewayHarness, HarnessClient) {
    let harness = GatewayHarness()
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    harness.upstream.channel.fail(.unreachable)
    client.read()
    return (harness, client)
  }

  @Test(arguments: [
    ("subscribe", #"{"upstream":"chat","subscription":"two"}"#),
    ("send", #"{"upstream":"chat","event":"say","args":[]}"#),
  ])
  func anAnswerSaysThatTheUpstreamIsDownAndWhy(_ method: String, _ params: String) {
    let (harness, client) = down()
    harness.pass(.milliseconds(1_500))
    harness.upstream.channel.fail(.unreachable)
    client.read()
    let upstream = result(client.call(method, params))?["upstream"]
    #expect(upstream?["reason"] == .string("unreachable"))
    #expect(upstream?["detail"]?.stringValue?.isEmpty == false)
    #expect(["disconnected", "reconnecting"].contains(upstream?["state"]?.stringValue ?? ""))
  }

  @Test(arguments: ["accepted", "sent"])
  func anAnswerSaysThatTheUpstreamIsUp(_ delivery: String) {
    let harness = GatewayHarness()
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    harness.upstream.channel.accept()
    client.read()
    let sent = result(client.call("send", #"{"upstream":"chat","event":"say","delivery":"\#(delivery)"}"#))
    #expect(
      sent?["upstream"]
        == .object([.init("state", .string("connected")), .init("reason", .null), .init("detail", .null)]))
  }

  @Test func stateNotificationsCarryTheReasonUntilTheConnectionIsUp() {
    let harness = GatewayHarness()
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat","state":true}"#)
    harness.upstream.channel.fail(.unreachable)
    harness.pass(.seconds(2))
    harness.upstream.channel.accept()
    let states = client.readValues().filter { $0["method"] == .string("state") }.map { value in
      "\(value["params"]?["state"]?.stringValue ?? "") \(value["params"]?["reason"]?.stringValue ?? "-")"
    }
    #expect(states == ["disconnected unreachable", "reconnecting unreachable", "connected -"])
  }

  @Test func callsThatGiveUpAtOneMomentEndAPortionAtATime() {
    let harness = GatewayHarness {
      $0.limits.inflight = 10_000
      $0.limits.sendQueue = 10_000
    }
    let client = harness.client()
    for number in 1...2_500 {
      client.say(
        #"{"jsonrpc":"2.0","id":\#(number),"method":"request","params":{"upstream":"chat","event":"e","timeout":5000}}"#
      )
    }
    harness.time.advance(by: .seconds(5))
    var ended: [Int] = []
    for _ in 0..<3 {
      harness.timers.fire()
      ended.append(client.read().count)
    }
    #expect(ended == [1_000, 1_000, 500])
    #expect(harness.gateway.upstreams.pool.all[0].delivery.commands.isIdle)
  }

  @Test func aConnectionIsDownFromTheBeginningOfItsFirstAttemptOn() {
    let harness = GatewayHarness()
    let client = harness.client()
    let start = harness.time.wallMilliseconds
    client.call("subscribe", #"{"upstream":"chat"}"#)
    func downSince() -> Int? {
      result(client.call("status"))?["connections"]?.elements?.first?["down_since"]?.integerValue
    }
    harness.time.advance(by: .seconds(3))
    #expect(downSince() == Int(start))
    harness.upstream.channel.fail(.unreachable)
    client.read()
    #expect(downSince() == Int(start))
  }

  @Test func whatNothingNeededIsNotSaidToHaveBeenDownForAllThatTime() {
    let harness = GatewayHarness()
    let client = harness.client()
    func connection() -> JSONValue? {
      client.read()
      return result(client.call("status"))?["connections"]?.elements?.first
    }
    client.call("subscribe", #"{"upstream":"chat","subscription":"s"}"#)
    harness.upstream.channel.accept()
    client.call("unsubscribe", #"{"subscription":"s"}"#)
    for _ in 0..<600 where connection()?["state"]?.stringValue == "connected" { harness.pass(.seconds(1)) }
    #expect(connection()?["reason"]?.stringValue == "idle")
    harness.pass(.seconds(20))
    let needed = harness.time.wallMilliseconds
    client.call("subscribe", #"{"upstream":"chat"}"#)
    #expect(connection()?["down_since"]?.integerValue == Int(needed))
    for _ in 0..<3 {
      harness.pass(.seconds(40))
      harness.upstream.channel.fail(.unreachable)
      #expect(connection()?["down_since"]?.integerValue == Int(needed))
    }
  }

  /// Its link was lost while it lingered, or it was closed because nothing used it.
  @Test(arguments: [true, false])
  func whatNothingUsedIsDownSinceItWasDisconnectedByOrderAndNotForAllThatTime(_ isLost: Bool) {
    let harness = GatewayHarness()
    let (client, root) = (harness.client(), harness.client(uid: 0))
    func connection() -> JSONValue? { result(root.call("status"))?["connections"]?.elements?.first }
    client.call("subscribe", #"{"upstream":"chat","subscription":"s"}"#)
    harness.upstream.channel.accept()
    client.call("unsubscribe", #"{"subscription":"s"}"#)
    if isLost { harness.upstream.channel.fail(.closed) }
    for _ in 0..<600 where connection()?["state"]?.stringValue == "connected" { harness.pass(.seconds(1)) }
    #expect(connection()?["reason"]?.stringValue == (isLost ? "closed" : "idle"))
    harness.pass(.seconds(25))
    let ordered = harness.time.wallMilliseconds
    for _ in 0..<2 {
      root.call("disconnect", #"{"upstream":"chat"}"#)
      #expect(connection()?["reason"]?.stringValue == "requested")
      #expect(connection()?["down_since"]?.integerValue == Int(ordered))
      harness.pass(.seconds(1))
    }
  }

  @Test func whatWasLostWhileNothingUsedItIsDownSinceItIsUsedAgain() {
    let harness = GatewayHarness()
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat","subscription":"s"}"#)
    harness.upstream.channel.accept()
    client.call("unsubscribe", #"{"subscription":"s"}"#)
    harness.upstream.channel.fail(.closed)
    harness.pass(.seconds(20))
    client.call("subscribe", #"{"upstream":"chat"}"#)
    client.read()
    let connection = result(client.call("status"))?["connections"]?.elements?.first
    #expect(connection?["down_since"]?.integerValue == Int(harness.time.wallMilliseconds))
  }

  @Test func downSinceIsNotMovedByAttempts() {
    let (harness, client) = down()
    let start = harness.time.wallMilliseconds
    var seen: Set<Int> = []
    for _ in 0..<5 {
      harness.pass(.seconds(40))
      harness.upstream.channel.fail(.unreachable)
      let connection = result(client.call("status"))?["connections"]?.elements?.first
      seen.insert(connection?["down_since"]?.integerValue ?? -1)
      #expect(connection?["last_connected"] == .null)
      client.read()
    }
    #expect(seen == [Int(start)])
    harness.pass(.seconds(40))
    harness.upstream.channel.accept()
    let up = harness.time.wallMilliseconds
    let connection = result(client.call("status"))?["connections"]?.elements?.first
    #expect(connection?["down_since"] == .null)
    #expect(connection?["last_connected"]?.integerValue == Int(up))
  }
}
