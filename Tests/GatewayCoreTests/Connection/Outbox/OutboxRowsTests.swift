import Testing

@testable import GatewayCore

/// Which rows stand on the disk, whatever happened to the writes.
@Suite final class OutboxRowsTests: OutboxScene {
  private func send(_ event: String, _ more: String = "") {
    client.call("send", #"{"upstream":"chat","event":"\#(event)","delivery":"durable"\#(more)}"#)
    store.settle()
    client.read()
  }

  @Test func aFinishedRowThatIsNotShownLeavesTheDiskAlsoAfterItsLastWriteFailed() {
    let tests = OutboxRowsTests { $0.outbox.keepEntries = 0 }
    tests.send("a")
    tests.client.call("outbox.cancel", #"{"upstream":"chat"}"#)
    // What follows waits for the disk behind it.
    tests.client.call("send", #"{"upstream":"chat","event":"b","delivery":"durable"}"#, id: 2)
    tests.store.problem = StorageProblem(.full, "full")
    tests.store.settle(1)
    tests.store.problem = nil
    tests.store.settle()
    #expect(tests.store.stored.map(\.message.event) == ["b"])
  }

  @Test func theAnswerOfASendThatIsNotShownAnyMoreLeavesTheDisk() {
    let tests = OutboxRowsTests { $0.outbox.keepEntries = 0 }
    tests.connect()
    tests.send("a", #","retries":1,"key":"k""#)
    tests.harness.upstream.channel.acknowledge(0, #""secret""#)
    tests.harness.pass(.seconds(31))
    tests.store.settle()
    #expect(tests.store.stored.map(\.state) == [.acked])
    #expect(tests.store.stored.map(\.result) == [nil])
  }

  @Test func aSendThatIsSentAgainIsOneChange() {
    send("a", #","ttl":1000"#)
    harness.pass(.seconds(2))
    let before = store.written
    client.call("outbox.retry", #"{"upstream":"chat"}"#)
    store.settle()
    #expect(store.written == before + 1)
    #expect(store.stored.map(\.state) == [.queued])
  }

  @Test func aSendThatIsListedAgainHasItsRow() {
    send("a")
    client.call("outbox.cancel", #"{"upstream":"chat"}"#, id: 1)
    client.call("outbox.retry", #"{"upstream":"chat","states":["cancelled"]}"#, id: 2)
    // What follows waits for the disk behind both.
    client.call("send", #"{"upstream":"chat","event":"b","delivery":"durable"}"#, id: 3)
    store.problem = StorageProblem(.full, "full")
    store.settle(2)
    store.problem = nil
    store.settle()
    #expect(store.stored.map { "\($0.message.event) \($0.state)" } == ["a cancelled", "b queued"])
  }

  @Test func aSendThatIsTakenBackWhileItIsSentAgainHasNoRow() {
    send("a", #","ttl":1000"#)
    harness.pass(.seconds(2))
    client.call("outbox.retry", #"{"upstream":"chat","states":["expired"]}"#)
    harness.pass(.seconds(2))
    store.problem = StorageProblem(.full, "full")
    store.settle(1)
    store.problem = nil
    store.settle()
    #expect(store.stored.filter { $0.state == .queued }.isEmpty)
  }

  @Test(arguments: [[0, 1], [1, 0]])
  func ofTwoRowsOfOneSendTheNewerCounts(_ order: [Int]) {
    var old = OutboxEntry(
      number: 3, id: "twice", owner: 1_000, target: OutboxTarget(name: .upstream("chat"), namespace: "/"),
      message: PreparedMessage(event: "e", body: Array("[]".utf8)), delivery: .durable, fingerprint: 0,
      created: 1_795_000_000_000, expires: nil)
    var new = old
    new.number = 8
    (old.state, old.ended) = (.expired, 1_795_000_000_000)
    let rows = [old, new]
    store.commit(.add(.init(old))) { _ in }
    store.commit(.add(.init(new))) { _ in }
    store.settle()
    let next = GatewayHarness(outbox: .open(store, order.map { rows[$0] }))
    #expect(store.stored.map(\.number) == [8])
    let listed = HarnessClient.values(next.client().call("outbox.list", "{}")).last?["result"]?["entries"]?.elements
    #expect(listed?.map { $0["state"]?.stringValue } == ["queued"])
    next.upstream.channel.accept()
    #expect(next.upstream.channel.written == ["e []"])
  }
}
