import Testing

@testable import GatewayCore

/// Answers that would be longer than a line may be.
@Suite struct StatusLimitTests {
  private static let line = 16 << 10

  private func harness(clients: Int) -> (harness: GatewayHarness, asking: HarnessClient, others: [HarnessClient]) {
    let harness = GatewayHarness { $0.limits.line = Self.line }
    let asking = harness.client()
    return (harness, asking, (0..<clients).map { _ in harness.client() })
  }

  private func listed(_ result: JSONValue?, _ key: String) -> Int { result?[key]?.elements?.count ?? 0 }

  @Test func clientsThatDoNotFitAreCounted() throws {
    let (_, client, others) = harness(clients: 300)
    for method in ["status", "clients.list"] {
      let text = try #require(client.call(method, "{}").first)
      #expect(text.utf8.count <= Self.line && text.utf8.count > Self.line / 2)
      let result = HarnessClient.values([text]).first?["result"]
      let left = (result?["left_out"]?["clients"] ?? result?["left_out"])?.integerValue ?? -1
      #expect(listed(result, "clients") > 20)
      #expect(listed(result, "clients") + left == 301)
    }
    #expect(others.count == 300)
  }

  @Test func connectionsThatDoNotFitAreCountedToo() throws {
    let (_, client, _) = harness(clients: 3)
    for number in 0..<60 { client.call("send", #"{"url":"http://h\#(number).example","event":"e"}"#) }
    let text = try #require(client.call("status", "{}").first)
    #expect(text.utf8.count <= Self.line)
    let result = HarnessClient.values([text]).first?["result"]
    let left = result?["left_out"]
    #expect(listed(result, "connections") + (left?["connections"]?.integerValue ?? 0) == 60)
    #expect(listed(result, "connections") > 5 && (left?["connections"]?.integerValue ?? 0) > 5)
  }

  @Test func nothingIsLeftOutWhereAllFits() {
    let (_, client, _) = harness(clients: 3)
    let result = HarnessClient.values(client.call("status", "{}")).first?["result"]
    #expect(result?["left_out"]?["connections"]?.integerValue == 0)
    #expect(result?["left_out"]?["clients"]?.integerValue == 0)
  }

  @Test func theOutboxListsWhatFitsAndSaysThatThereIsMore() throws {
    let store = FakeOutboxStore()
    let harness = GatewayHarness(outbox: .open(store, [])) { $0.limits.line = Self.line }
    let client = harness.client()
    for number in 1...100 {
      client.call("send", #"{"upstream":"chat","event":"e\#(number)","delivery":"durable"}"#)
      store.settle()
      client.read()
    }
    let text = try #require(client.call("outbox.list", "{}").first)
    #expect(text.utf8.count <= Self.line)
    let result = HarnessClient.values([text]).first?["result"]
    #expect(listed(result, "entries") > 20 && listed(result, "entries") < 100)
    #expect(result?["more"]?.boolValue == true)
  }
}
