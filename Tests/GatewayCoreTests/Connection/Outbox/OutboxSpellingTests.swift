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

  @Test(arguments: [#""url":"http://h.example/admin""#, #""url":"http://h.example","namespace":"/admin""#])
  func entriesAreFoundWhereverTheirNamespaceWasWritten(_ target: String) {
    send("http://h.example/admin")
    send("http://h.example/", namespace: "/admin")
    send("http://h.example/", namespace: "/other")
    send("http://h.example/")
    let listed = HarnessClient.values(client.call("outbox.list", "{\(target)}", id: 9)).last?["result"]?["entries"]
    #expect(listed?.elements?.count == 2)
  }

  @Test func aPathIsNeverTakenForTheNamespaceOfAConfiguredUpstream() {
    send("http://chat.example/admin")
    let old = store.stored
    #expect(old.map(\.target.namespace) == ["/admin"])
    let next = GatewayHarness(outbox: .open(store, old))
    let connections = HarnessClient.values(next.client().call("status", "{}")).last?["result"]?["connections"]?.elements
    #expect(connections?.map { $0["upstream"] } == [.null])
    #expect(connections?.map { $0["url"]?.stringValue } == ["http://chat.example/admin"])
  }
}
