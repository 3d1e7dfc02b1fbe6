import Testing

@testable import GatewayCore

/// What keeps attempts to connect within bounds, seen from the gateway's door.
@Suite struct GovernorTests {
  private func harness(_ configure: @escaping (inout UpstreamSettings) -> Void) -> GatewayHarness {
    GatewayHarness {
      var settings = UpstreamSettings()
      configure(&settings)
      $0.upstreams["chat"]?.settings = settings
    }
  }

  private func connection(_ client: HarnessClient) throws -> JSONValue {
    try #require(client.statusConnections().first)
  }

  @Test func attemptsBeyondTheMachinesBudgetWaitForTheirTurnAndSaySo() throws {
    let harness = GatewayHarness {
      $0.limits.attempts = 10
      $0.limits.attemptsBurst = 2
    }
    let client = harness.client()
    for room in 0..<5 { client.call("subscribe", #"{"url":"http://h/\#(room)"}"#) }
    #expect(harness.upstream.channels.map(\.specification.namespace) == ["/0", "/1"])
    let waiting = client.statusConnections().filter { $0["next"]?.integerValue != nil }
    #expect(waiting.count == 3)
    #expect(
      waiting.allSatisfy {
        $0["why"]?.stringValue
          == "An attempt is due and waits for its turn: too many start at once on this machine."
      })
    harness.pass(.milliseconds(250))
    #expect(harness.upstream.channels.map(\.specification.namespace) == ["/0", "/1", "/2", "/3"])
    harness.pass(.milliseconds(100))
    #expect(harness.upstream.channels.count == 5)
  }

  @Test func sendsToADeadPortDoNotDelayAnotherUsersFirstConnect() throws {
    let harness = GatewayHarness {
      $0.limits.attempts = 10
      $0.limits.attemptsBurst = 2
    }
    let (many, other) = (harness.client(uid: 1), harness.client(uid: 2))
    for room in 0..<200 { many.call("send", #"{"url":"http://dead/\#(room)","event":"e"}"#) }
    other.call("subscribe", #"{"url":"http://alive/"}"#)
    harness.pass(.milliseconds(250))
    #expect(harness.upstream.channels.map(\.specification.url.host) == ["dead", "dead", "dead", "alive"])
    // The configuration's are no user's.
    other.call("subscribe", #"{"upstream":"chat"}"#)
    harness.pass(.milliseconds(200))
    #expect(harness.upstream.channels.map(\.specification.url.host).contains("chat.example"))
  }

  @Test func anAdministratorsReconnectDoesNotWaitForTheBudgetButCounts() throws {
    let harness = GatewayHarness {
      $0.limits.attempts = 1
      $0.limits.attemptsBurst = 1
    }
    let client = harness.client(uid: 0)
    client.call("subscribe", #"{"upstream":"chat"}"#)
    harness.upstream.channel.fail(.unreachable)
    client.call("reconnect", #"{"upstream":"chat"}"#)
    #expect(harness.upstream.channels.count == 2)
    client.call("subscribe", #"{"url":"http://h/"}"#)
    harness.pass(.milliseconds(1_900))
    #expect(harness.upstream.channels.count == 2)
    harness.pass(.milliseconds(200))
    #expect(harness.upstream.channels.count == 3)
  }

  @Test func aServersRetryAfterHoldsForNewProgramsAndNotForAnAdministrator() throws {
    let harness = harness { _ in }
    let client = harness.client(uid: 0)
    client.call("subscribe", #"{"upstream":"chat"}"#)
    harness.upstream.channel.fail(
      UpstreamFailure(.http, "the server answered 503", status: 503, retryAfter: .seconds(120)))
    harness.pass(.seconds(60))
    harness.client().call("subscribe", #"{"upstream":"chat"}"#)
    harness.client().call("request", #"{"upstream":"chat","event":"x","timeout":1000}"#)
    #expect(harness.upstream.channels.count == 1)
    let status = try connection(client)
    #expect(status["next"]?.integerValue == 60_000)
    #expect(
      status["why"]?.stringValue == "Not connected (http); attempt 2 waits for as long as the server asked.")
    harness.pass(.seconds(60))
    #expect(harness.upstream.channels.count == 2)
    harness.upstream.channel.fail(UpstreamFailure(.http, "the server answered 503", retryAfter: .seconds(120)))
    client.call("reconnect", #"{"upstream":"chat"}"#)
    #expect(harness.upstream.channels.count == 3)
  }

  @Test(arguments: [UInt32(0), 1_000])
  func aRetryOfWhatWaitsComesBeforeAServersRetryAfterForAnAdministratorAlone(_ uid: UInt32) {
    let store = FakeOutboxStore()
    let harness = GatewayHarness(outbox: .open(store, []))
    let client = harness.client(uid: uid)
    client.say(
      #"{"jsonrpc":"2.0","id":1,"method":"send","params":{"upstream":"chat","event":"e","delivery":"durable"}}"#)
    store.settle()
    harness.upstream.channel.fail(
      UpstreamFailure(.http, "the server answered 503", status: 503, retryAfter: .seconds(120)))
    client.call("outbox.retry", #"{"upstream":"chat"}"#)
    harness.pass(.seconds(10))
    #expect(harness.upstream.channels.count == (uid == 0 ? 2 : 1))
  }

  @Test func retriesOfWhatWaitsDoNotDelayAnotherUsersFirstConnect() {
    let store = FakeOutboxStore()
    let harness = GatewayHarness(outbox: .open(store, [])) {
      $0.limits.attempts = 10
      $0.limits.attemptsBurst = 2
    }
    let (many, other) = (harness.client(uid: 1), harness.client(uid: 2))
    for room in 0..<200 { many.say(Self.durable(to: "http://dead/\(room)")) }
    store.settle()
    for room in 0..<200 { many.call("outbox.retry", #"{"url":"http://dead/\#(room)"}"#) }
    other.call("subscribe", #"{"url":"http://alive/"}"#)
    harness.pass(.milliseconds(250))
    #expect(harness.upstream.channels.map(\.specification.url.host).contains("alive"))
  }

  private static func durable(to url: String) -> String {
    #"{"jsonrpc":"2.0","id":1,"method":"send","params":{"url":"\#(url)","event":"e","delivery":"durable"}}"#
  }

  @Test func aRetryAfterOfYearsCountsAsTheLongestWaitThatIsConfigured() throws {
    let harness = harness { _ in }
    harness.client().call("subscribe", #"{"upstream":"chat"}"#)
    harness.upstream.channel.fail(UpstreamFailure(.http, "busy", retryAfter: .seconds(1_000_000_000)))
    harness.pass(.seconds(599))
    #expect(harness.upstream.channels.count == 1)
    harness.pass(.seconds(2))
    #expect(harness.upstream.channels.count == 2)
  }

  @Test func aSeriesOfAttemptsIsFollowedByARestAndTheNextSeries() throws {
    let harness = harness {
      $0.reconnect.attempts = 3
      $0.reconnect.rest = .seconds(100)
    }
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    func failEverything(for duration: Duration) {
      let end = harness.time.now + duration
      while harness.time.now < end {
        if !harness.upstream.channel.isFailed { harness.upstream.channel.fail(.unreachable) }
        harness.pass(.milliseconds(500))
      }
    }
    failEverything(for: .seconds(90))
    #expect(harness.upstream.channels.count == 3)
    #expect(
      try connection(client)["why"]?.stringValue
        == "Not connected (unreachable); attempt 4 waits for the end of the rest after a series of attempts.")
    failEverything(for: .seconds(90))
    #expect(harness.upstream.channels.count == 6)
  }

  @Test func withReconnectionOffALostConnectionStaysDownUntilAnAdministratorsReconnect() throws {
    let harness = harness { $0.reconnect.enabled = false }
    let client = harness.client(uid: 0)
    client.call("subscribe", #"{"upstream":"chat"}"#)
    harness.upstream.channel.accept()
    harness.upstream.channel.fail(.closed)
    harness.client().call("subscribe", #"{"upstream":"chat"}"#)
    harness.pass(.seconds(3_600))
    #expect(harness.upstream.channels.count == 1)
    let status = try connection(client)
    #expect(status["why"]?.stringValue == "Not connected (closed); it stays down until 'reconnect'.")
    #expect(status["generation"]?.integerValue == 1)
    client.call("reconnect", #"{"upstream":"chat"}"#)
    #expect(harness.upstream.channels.count == 2)
    #expect(try connection(client)["generation"]?.integerValue == 2)
  }

  @Test func withReconnectionOffAnUnusedConnectionStillComesBackWhenItIsUsedAgain() throws {
    let harness = harness { $0.reconnect.enabled = false }
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    harness.upstream.channel.accept()
    client.disconnect()
    harness.pass(.seconds(31))
    #expect(harness.upstream.channel.isClosed)
    harness.client().call("subscribe", #"{"upstream":"chat"}"#)
    #expect(harness.upstream.channels.count == 2)
  }

  @Test func aSendThatFindsTheHeartbeatOverdueIsDeliveredAfterTheReconnectAndNotLost() {
    let harness = harness { _ in }
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    harness.upstream.channel.accept()
    client.call("send", #"{"upstream":"chat","event":"before"}"#)
    let old = harness.upstream.channel
    old.isOverdue = true
    client.call("send", #"{"upstream":"chat","event":"late"}"#)
    client.call("send", #"{"upstream":"chat","event":"later"}"#)
    #expect(old.written == ["before []"])
    harness.pass(.seconds(2))
    #expect(harness.upstream.channels.count == 2)
    harness.upstream.channel.accept()
    #expect(harness.upstream.channel.written == ["late []", "later []"])
  }

  @Test func aVolatileSendThatFindsTheHeartbeatOverdueIsDropped() {
    let harness = harness { _ in }
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    harness.upstream.channel.accept()
    harness.upstream.channel.isOverdue = true
    let answer = client.call("send", #"{"upstream":"chat","event":"now","volatile":true}"#)
    #expect(answer.last?.contains(#""state":"dropped""#) == true)
  }

  @Test func anUpstreamThatConnectsAndDropsAgainIsTriedMoreAndMoreSeldom() {
    let harness = harness { _ in }
    harness.client().call("subscribe", #"{"upstream":"chat"}"#)
    var gaps: [Int64] = []
    for _ in 0..<7 {
      harness.upstream.channel.accept()
      let lost = harness.time.now
      let count = harness.upstream.channels.count
      harness.random.prescribe(fraction: 0.999_999)
      harness.upstream.channel.fail(.closed)
      while harness.upstream.channels.count == count { harness.pass(.milliseconds(100)) }
      gaps.append((harness.time.now - lost).milliseconds)
    }
    #expect(gaps == [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
  }
}

extension HarnessClient {
  /// What `status` says of connections, in the order of their age in the pool's listing.
  func statusConnections() -> [JSONValue] {
    let answer = HarnessClient.values(call("status", id: 99)).first { $0["id"]?.integerValue == 99 }
    return answer?["result"]?["connections"]?.elements ?? []
  }
}
