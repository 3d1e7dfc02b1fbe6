import Testing

@testable import GatewayCore

/// `[quota]`: what one user may have, told by name and with when to try again.
@Suite struct UserQuotasTests {
  private let store = FakeOutboxStore()
  private let harness: GatewayHarness

  init() { harness = GatewayHarness(outbox: .open(store, [])) }

  private func reload(_ change: (inout Quotas) -> Void) { harness.reload { change(&$0.quotas) } }

  private func send(_ client: HarnessClient, _ more: String = "") -> JSONValue? {
    let lines = client.call("send", #"{"upstream":"chat","event":"e"\#(more)}"#)
    store.settle()
    return HarnessClient.values(lines + client.read()).last?["error"]?["data"]
  }

  private func exceeds(_ data: JSONValue?, _ quota: String, _ limit: Int, after: Int? = nil) {
    #expect(data?["type"]?.stringValue == "QuotaExceeded")
    #expect(data?["quota"]?.stringValue == quota)
    #expect(data?["limit"]?.text == "\(limit)")
    if let after { #expect(data?["retry_after"]?.text == "\(after)") }
    #expect(data?["retry_after"] != nil)
  }

  @Test func aSecondsSendsAreABurstAndThenEvenlySpaced() {
    reload { $0.user.sends = 10 }
    let (client, second) = (harness.client(), harness.client())
    for number in 0..<10 { #expect(send(number % 2 == 0 ? client : second) == nil) }
    exceeds(send(client), "sends", 10, after: 100)
    exceeds(send(second), "sends", 10, after: 100)
    #expect(send(harness.client(uid: 1_001)) == nil)
    harness.pass(.milliseconds(100))
    #expect(send(second) == nil)
    exceeds(send(client), "sends", 10, after: 100)
    harness.pass(.seconds(60))
    for _ in 0..<10 { #expect(send(client) == nil) }
    exceeds(send(client), "sends", 10, after: 100)
    let request = HarnessClient.values(client.call("request", #"{"upstream":"chat","event":"e"}"#)).last
    exceeds(request?["error"]?["data"], "sends", 10)
  }

  @Test func bytesAreARateOfTheirOwnAndALargeSendGoesAfterAQuietSecond() {
    reload { $0.user.bytes = 1_024 }
    let client = harness.client()
    let large = #","args":["\#(String(repeating: "x", count: 2_044))"]"#
    #expect(send(client, large) == nil)
    let data = send(client)
    exceeds(data, "bytes", 1_024)
    #expect((Int(data?["retry_after"]?.text ?? "") ?? 0) > 1_000)
    harness.pass(.seconds(3))
    #expect(send(client) == nil)
    exceeds(send(client, large), "bytes", 1_024)
  }

  @Test func aSubscribeThatEntersMoreThanASecondsSendsGoesAfterAQuietSecondAndCostsNothingBefore() {
    reload { $0.user.sends = 10 }
    let client = harness.client()
    let rooms = (1...12).map { #"{"event":"join","args":[\#($0)]}"# }.joined(separator: ",")
    func subscribe() -> JSONValue? {
      let answer = HarnessClient.values(client.call("subscribe", #"{"upstream":"chat","enter":[\#(rooms)]}"#)).last
      return answer?["error"]?["data"]
    }
    #expect(send(client) == nil)
    exceeds(subscribe(), "sends", 10, after: 100)
    for _ in 1...9 { #expect(send(client) == nil) }
    harness.pass(.milliseconds(900))
    exceeds(subscribe(), "sends", 10, after: 100)
    harness.pass(.milliseconds(100))
    #expect(subscribe() == nil)
    exceeds(send(client), "sends", 10, after: 300)
  }

  @Test func whatIsOwedIsNotForgottenWhileAUserIsQuietNorByAnotherGroupsRate() {
    reload {
      $0.user.bytes = 1_024
      $0.groups[77] = Quota()
      $0.groups[77]?.bytes = 1 << 30
    }
    let client = harness.client()
    #expect(send(client, #","args":["\#(String(repeating: "x", count: 200_000))"]"#) == nil)
    harness.pass(.seconds(100))
    exceeds(send(client), "bytes", 1_024)
    harness.pass(.seconds(100))
    #expect(send(client) == nil)
  }

  @Test func aReloadChangesARateAtOnceInBothDirections() {
    let client = harness.client()
    reload { $0.user.sends = 1 }
    #expect(send(client) == nil)
    exceeds(send(client), "sends", 1, after: 1_000)
    reload { $0.user.sends = nil }
    for _ in 0..<50 { #expect(send(client) == nil) }
    reload { $0.user.sends = 2 }
    for _ in 0..<2 { #expect(send(client) == nil) }
    exceeds(send(client), "sends", 2, after: 500)
  }

  @Test func aMemberOfAGroupHasTheLargestOfItsGroupsAndAnAdministratorNoQuota() {
    reload {
      $0.user.sends = 1
      $0.groups[1_000] = Quota()
      $0.groups[1_000]?.sends = 3
      $0.groups[1_001] = Quota()
    }
    let member = harness.client(uid: 1_000)
    for _ in 0..<3 { #expect(send(member) == nil) }
    exceeds(send(member), "sends", 3)
    let other = harness.client(uid: 1_001)
    #expect(send(other) == nil)
    exceeds(send(other), "sends", 1)
    let root = harness.client(uid: 0)
    for _ in 0..<20 { #expect(send(root) == nil) }
  }

  @Test func aSendThatIsRefusedOrARepeatedKeyCostsNothing() {
    reload { $0.user.sends = 2 }
    let client = harness.client()
    #expect(send(client, #","key":"k""#) == nil)
    for _ in 0..<5 { #expect(send(client, #","key":"k""#) == nil) }
    #expect(send(client) == nil)
    exceeds(send(client), "sends", 2)
  }

  @Test func aSendThatFailsAtOnceCostsNothing() {
    reload { ($0.user.sends, $0.user.bytes) = (2, 1_024) }
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    harness.upstream.channel.fail(.unreachable)
    for _ in 0..<5 { #expect(send(client, #","no_queue":true"#)?["type"]?.stringValue == "UpstreamDown") }
    for _ in 0..<2 { #expect(send(client) == nil) }
    exceeds(send(client), "sends", 2)
  }

  @Test func aSendThatExceedsBothRatesIsToldWhenItFitsBoth() {
    reload { ($0.user.sends, $0.user.bytes) = (1, 1_000) }
    let client = harness.client()
    let large = #","args":["\#(String(repeating: "x", count: 1_000))"]"#
    #expect(send(client, large) == nil)
    for _ in 0..<2 {
      guard let after = send(client, large)?["retry_after"]?.integerValue else { break }
      #expect(after > 1_000)
      harness.pass(.milliseconds(Int64(after) - 1))
      #expect(send(client, large) != nil)
      harness.pass(.milliseconds(1))
      #expect(send(client, large) == nil)
    }
  }

  @Test func whatAQuotaRefusesIsToldForTheLog() {
    reload { ($0.user.sends, $0.user.bytes, $0.user.subscriptions, $0.user.connections) = (1, 500, 0, 0) }
    let client = harness.client()
    #expect(send(client) == nil)
    exceeds(send(client), "sends", 1)
    harness.pass(.seconds(10))
    #expect(send(client, #","args":["\#(String(repeating: "x", count: 1_000))"]"#) == nil)
    harness.pass(.seconds(1))
    exceeds(send(client), "bytes", 500)
    client.call("subscribe", #"{"upstream":"chat"}"#)
    client.call("send", #"{"url":"http://a.example","event":"e"}"#)
    let told = harness.facts.compactMap { fact -> String? in
      if case .quotaExceeded(1_000, let quota) = fact { quota } else { nil }
    }
    #expect(told == ["sends", "bytes", "subscriptions", "connections"])
  }

  @Test func clientsSubscriptionsConnectionsAndOutboxHaveAQuota() {
    reload {
      ($0.user.clients, $0.user.subscriptions, $0.user.connections, $0.user.outbox) = (2, 3, 1, 2)
    }
    let (one, two) = (harness.client(), harness.client())
    exceeds(harness.client().readValues().last?["error"]?["data"], "clients", 2)
    #expect(harness.client(uid: 7).isConnected)
    func subscribe(_ client: HarnessClient, _ id: String) -> JSONValue? {
      HarnessClient.values(client.call("subscribe", #"{"upstream":"chat","subscription":"\#(id)"}"#)).last?["error"]?[
        "data"]
    }
    for (client, id) in [(one, "a"), (one, "b"), (two, "a")] { #expect(subscribe(client, id) == nil) }
    exceeds(subscribe(two, "b"), "subscriptions", 3)
    #expect(subscribe(two, "a") == nil)
    one.call("unsubscribe", #"{"subscription":"a"}"#)
    #expect(subscribe(two, "b") == nil)
    one.disconnect()
    #expect(subscribe(two, "c") == nil)
    func connect(_ url: String) -> JSONValue? {
      HarnessClient.values(two.call("send", #"{"url":"\#(url)","event":"e"}"#)).last?["error"]?["data"]
    }
    #expect(connect("http://a.example") == nil)
    exceeds(connect("http://b.example"), "connections", 1)
    let durable = #","delivery":"durable""#
    for _ in 0..<2 { #expect(send(two, durable) == nil) }
    exceeds(send(two, durable), "outbox", 2)
    #expect(send(two) == nil)
    reload { $0 = Quotas() }
    #expect(send(two, durable) == nil)
    #expect(connect("http://b.example") == nil)
  }
}
