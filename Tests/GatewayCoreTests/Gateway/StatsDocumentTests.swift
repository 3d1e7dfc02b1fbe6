import Testing

@testable import GatewayCore

/// What `stats` counts.
@Suite struct StatsDocumentTests {
  private func stats(_ client: HarnessClient, _ params: String = "{}") -> JSONValue? {
    HarnessClient.values(client.call("stats", params)).last?["result"]
  }

  private func connected() -> (harness: GatewayHarness, client: HarnessClient) {
    let harness = GatewayHarness()
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat","subscription":"s"}"#)
    harness.pass(.milliseconds(300))
    harness.upstream.channel.accept()
    client.read()
    return (harness, client)
  }

  @Test func whatWentOverAConnectionIsCounted() throws {
    let (harness, client) = connected()
    client.call("subscribe", #"{"upstream":"chat","subscription":"t","events":["a"]}"#)
    for name in ["a", "b", "a"] { harness.upstream.channel.emit(name, "1") }
    client.call("send", #"{"upstream":"chat","event":"say","args":[1]}"#)
    client.call("request", #"{"upstream":"chat","event":"ask","args":[2]}"#, id: 7)
    harness.pass(.milliseconds(40))
    harness.upstream.channel.acknowledge(0, "3")
    client.read()
    let chat = try #require(stats(client)?["connections"]?.elements?.first)
    #expect(chat["in"]?["events"]?.integerValue == 3 && chat["out"]?["events"]?.integerValue == 2)
    #expect(chat["deliveries"]?.integerValue == 5)
    #expect(chat["attempts"]?.integerValue == 1 && chat["reconnects"]?.integerValue == 0)
    #expect(chat["down"] == .object([.init("now", .null), .init("total", .number("300"))]))
    let requests = chat["requests"]
    #expect(requests?["count"]?.integerValue == 1 && requests?["sum"]?.integerValue == 40_000)
    #expect(requests?["steps"]?.elements?.count == 17)
  }

  @Test func timeDownGrowsOverAttempts() throws {
    let (harness, client) = connected()
    harness.upstream.channel.fail(.unreachable)
    harness.pass(.seconds(100))
    let chat = try #require(stats(client)?["connections"]?.elements?.first)
    #expect(chat["down"]?["now"]?.integerValue == 100_000 && chat["down"]?["total"]?.integerValue == 100_300)
    #expect(chat["attempts"]?.integerValue == 2)
    #expect(chat["reason"]?.stringValue == "unreachable")
  }

  @Test func whatASubscriptionLostIsCountedWhenItIsOver() throws {
    let (harness, client) = connected()
    let slow = harness.client()
    slow.call("subscribe", #"{"upstream":"chat","subscription":"s","credit":1,"queue":2,"on_slow":"drop_oldest"}"#)
    for number in 0..<6 { harness.upstream.channel.emit("a", "\(number)") }
    slow.call("credit", #"{"subscription":"s","n":9}"#)
    slow.disconnect()
    harness.pass(.zero)
    let chat = try #require(stats(client)?["connections"]?.elements?.first)
    #expect(chat["dropped"]?.integerValue == 3 && chat["gaps"]?.integerValue == 1)
  }

  @Test func aDurableSendIsShownAtTheConnectionThatItGoesOverAlone() throws {
    let store = FakeOutboxStore()
    let harness = GatewayHarness(outbox: .open(store, []))
    let client = harness.client()
    client.call("send", #"{"url":"http://down.example","event":"e","delivery":"durable"}"#)
    store.settle()
    client.call("send", #"{"url":"http://down.example","auth":{"a":1},"event":"e"}"#)
    harness.client(uid: 2_000).call("send", #"{"url":"http://down.example","event":"e"}"#)
    let shown = try #require(stats(harness.client(uid: 0))?["connections"]?.elements)
    #expect(shown.map { $0["outbox"]?["count"]?.integerValue ?? -1 }.sorted() == [0, 0, 1])
  }

  @Test func anotherUserSeesItsOwnClientsAndSends() throws {
    let (harness, _) = connected()
    let other = harness.client(uid: 2_000)
    let daemon = try #require(stats(other)?["daemon"])
    #expect(daemon["clients"]?["count"]?.integerValue == 1)
    #expect(daemon["clients"]?["users"]?.elements?.first?["uid"]?.integerValue == 2_000)
    let root = harness.client(uid: 0)
    #expect(stats(root)?["daemon"]?["clients"]?["users"]?.elements?.count == 3)
  }

  @Test func oneUpstreamIsShownAlone() throws {
    let (_, client) = connected()
    client.call("send", #"{"url":"http://other.example","event":"e"}"#)
    #expect(stats(client)?["connections"]?.elements?.count == 2)
    let one = stats(client, #"{"url":"http://other.example"}"#)
    #expect(one?["connections"]?.elements?.map { $0["url"]?.stringValue } == ["http://other.example"])
    #expect(stats(client, #"{"url":"http://unused.example"}"#)?["connections"]?.elements?.isEmpty == true)
  }

  @Test func manyConnectionsAreWrittenInTurnsAndLeftOutWhereTheyDoNotFit() throws {
    let harness = GatewayHarness { $0.limits.line = 64 << 10 }
    let client = harness.client()
    for number in 0..<200 { client.call("send", #"{"url":"http://h\#(number).example","event":"e"}"#) }
    #expect(client.call("stats").isEmpty && client.session?.wantsInput == false)
    harness.pass(.zero)
    let text = try #require(client.read().last)
    let result = HarnessClient.values([text]).first?["result"]
    let shown = result?["connections"]?.elements?.count ?? 0
    #expect(text.utf8.count <= 64 << 10 && shown > 30)
    #expect(shown + (result?["left_out"]?.integerValue ?? 0) == 200)
  }
}
