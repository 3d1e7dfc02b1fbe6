import Testing

@testable import GatewayCore

/// One connection, however its URL is spelled, is one target of the outbox and has one URL everywhere.
@Suite struct OutboxSpellingTests {
  private let store = FakeOutboxStore()
  private let harness: GatewayHarness
  private let client: HarnessClient

  init() {
    harness = GatewayHarness(outbox: .open(store, []))
    client = harness.client()
  }

  private func send(_ url: String, namespace: String? = nil) {
    let more = namespace.map { #","namespace":"\#($0)""# } ?? ""
    client.call("send", #"{"url":"\#(url)"\#(more),"event":"e","delivery":"durable"}"#)
    store.settle()
    client.read()
  }

  private func urls(_ method: String, _ list: String) -> [String?] {
    let result = HarnessClient.values(client.call(method, "{}", id: 9)).last?["result"]
    return (result?[list]?.elements ?? []).map { $0["url"]?.stringValue }
  }

  @Test(
    arguments: [
      (["http://h.example", "http://h.example/", "ws://H.example:80/"], "http://h.example"),
      (["https://h.example/", "wss://h.example:443"], "https://h.example"),
      (["http://h.example:8080/", "http://h.example:8080"], "http://h.example:8080"),
      (["http://h.example?v=1", "http://h.example/?v=1"], nil),
    ] as [([String], String?)])
  func aFinalSlashAndTheUsualPortMakeNoOtherTarget(_ spellings: [String], _ shown: String?) {
    for url in spellings { send(url) }
    #expect(Set(store.stored.map(\.target)).count == 1)
    // A query is hidden, and how that is written is another matter.
    guard let shown else { return }
    #expect(urls("outbox.list", "entries") == spellings.map { _ in shown })
    #expect(urls("status", "connections") == [shown])
  }

  @Test func aNamespaceIsTheSameInThePathAndBesideIt() {
    send("http://h.example/admin")
    send("http://h.example/", namespace: "/admin")
    #expect(Set(store.stored.map(\.target)).count == 1)
    let listed = HarnessClient.values(
      client.call("outbox.list", #"{"url":"http://h.example/admin"}"#, id: 9)
    ).last?["result"]?["entries"]?.elements
    #expect(listed?.count == 2)
  }
}
