import Testing

@testable import GatewayCore

/// Which rows stand on the disk, whatever happened to the writes.
@Suite struct OutboxRowsTests {
  private let store = FakeOutboxStore()
  private let harness: GatewayHarness
  private let client: HarnessClient

  init() { self.init { _ in } }

  private init(_ configure: (inout Configuration) -> Void) {
    harness = GatewayHarness(outbox: .open(store, []), configure)
    client = harness.client()
  }

  private func send(_ event: String, _ more: String = "") {
    client.call("send", #"{"upstream":"chat","event":"\#(event)","delivery":"durable"\#(more)}"#)
    store.settle()
    client.read()
  }

  @Test func aFinishedRowThatIsNotShownLeavesTheDiskAlsoAfterItsLastWriteFailed() {
    let tests = OutboxRowsTests { $0.outbox.keepEntries = 0 }
    tests.send("a")
    tests.client.call("outbox.cancel", #"{"upstream":"chat"}"#)
    tests.store.problem = OutboxProblem(.full, "full")
    tests.store.settle(1)
    tests.store.problem = nil
    tests.store.settle()
    #expect(tests.store.stored.isEmpty)
  }
}
