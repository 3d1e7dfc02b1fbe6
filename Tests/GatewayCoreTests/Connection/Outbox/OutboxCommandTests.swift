import Testing

@testable import GatewayCore

/// `outbox.cancel`, `outbox.retry` and `outbox.purge`.
@Suite final class OutboxCommandTests: DurableScene {
  @Test func aSendThatIsCancelledAfterItsWritesSaysHowOftenItWasWritten() throws {
    connect()
    send("a", #","retries":20"#)
    store.settle()
    client.read()
    harness.pass(.seconds(31))
    func attempts() -> Int? {
      let result = HarnessClient.values(client.call("outbox.list", "{}", id: 99)).last?["result"]
      return result?["entries"]?.elements?.first?["attempts"]?.integerValue
    }
    #expect(attempts() == 11)
    client.call("outbox.cancel", #"{"upstream":"chat"}"#)
    store.settle()
    client.read()
    #expect(attempts() == 11)
    #expect(store.stored.map(\.attempts) == [11])
    harness.pass(.seconds(31))
    #expect(written.count == 12)
  }

  @Test(arguments: ["outbox.cancel", "outbox.purge"])
  func whatWasWrittenIsNotTakenBackWhileTheKernelTakesIt(_ method: String) {
    connect()
    harness.upstream.channel.unsentBytes = 100
    for id in 1...3 { send("e", id: id) }
    store.settle()
    client.read()
    #expect(written.count == 4)
    func count() -> Int? {
      HarnessClient.values(client.call(method, #"{"upstream":"chat","states":["queued"]}"#)).last?["result"]?["count"]?
        .integerValue
    }
    // What was said to be taken back must not arrive.
    #expect(count() == 0)
    harness.pass(.seconds(1))
    #expect(count() == 0)
    harness.upstream.channel.unsentBytes = 0
    harness.pass(.seconds(1))
    store.settle()
    #expect(states() == ["e sent", "e sent", "e sent"])
    #expect(written.count == 4)
  }

  @Test func whatIsCancelledWhileTheDiskIsFullIsSaidToBeCancelledAndNotOnDisk() throws {
    for id in 1...3 { send("e", id: id) }
    store.settle()
    client.read()
    store.problem = StorageProblem(.full, "the disk is full")
    client.call("outbox.cancel", #"{"upstream":"chat"}"#)
    store.settle()
    let answer = try #require(HarnessClient.values(client.read()).first?["result"])
    #expect(answer["count"]?.integerValue == 3)
    #expect(answer["saved"]?.boolValue == false)
    #expect(answer["reason"]?.stringValue == "full")
    #expect(answer["detail"]?.stringValue == "the disk is full")
    #expect(states() == ["e cancelled", "e cancelled", "e cancelled"])
  }

  @Test func whatCouldNotBeSentAgainIsToldApartFromWhatWas() throws {
    for id in 1...2 { send("e", id: id) }
    store.settle()
    client.read()
    client.call("outbox.cancel", #"{"upstream":"chat"}"#)
    store.settle()
    client.read()
    client.call("outbox.retry", #"{"upstream":"chat"}"#)
    store.settle(1)
    store.problem = StorageProblem(.full, "the disk is full")
    store.settle()
    let error = try #require(HarnessClient.values(client.read()).first?["error"])
    #expect(error["data"]?["count"]?.integerValue == 1)
    #expect(error["data"]?["reason"]?.stringValue == "full")
    #expect(error["message"]?.stringValue?.contains("1 of 2 sends") == true)
    #expect(states() == ["e cancelled", "e queued"])
  }

  @Test func whatIsPurgedIsAnsweredWhenTheDiskKnows() {
    send("a")
    store.settle()
    client.read()
    client.call("outbox.cancel", #"{"upstream":"chat"}"#)
    store.settle()
    client.read()
    client.call("outbox.purge", #"{"upstream":"chat"}"#)
    #expect(client.read().isEmpty)
    store.settle()
    #expect(HarnessClient.values(client.read()).first?["result"]?["count"]?.integerValue == 1)
    #expect(store.stored.isEmpty)
  }

  @Test func sendingAgainKeepsTheLimits() {
    let tight = OutboxCommandTests {
      $0.outbox.entries = 2
      $0.outbox.whenFull = .dropOldest
    }
    for number in 1...5 { tight.send("e\(number)", id: number) }
    tight.store.settle()
    tight.client.read()
    #expect(tight.states() == ["e1 dropped", "e2 dropped", "e3 dropped", "e4 queued", "e5 queued"])
    #expect(Self.error(tight.client.call("outbox.retry", #"{"upstream":"chat","states":["dropped"]}"#)) == "QueueFull")
    tight.client.call("outbox.cancel", #"{"ids":["\#(tight.store.stored[4].id)"]}"#)
    tight.store.settle()
    tight.client.read()
    tight.client.call("outbox.retry", #"{"upstream":"chat","states":["dropped"]}"#)
    tight.store.settle()
    #expect(HarnessClient.values(tight.client.read()).first?["result"]?["count"]?.integerValue == 1)
    #expect(tight.states() == ["e2 dropped", "e3 dropped", "e4 queued", "e5 cancelled", "e1 queued"])
  }

  /// Many may be under way at a time.
  private static func roomy() -> OutboxCommandTests { OutboxCommandTests { $0.limits.inflight = 10_000 } }

  @Test func manyAreCancelledAPortionAtATime() {
    let tests = Self.roomy()
    let count = OutboxWork.portion + 10
    for number in 1...count { tests.send("e", id: number) }
    tests.store.settle()
    tests.client.read()
    tests.client.call("outbox.cancel", #"{"upstream":"chat"}"#)
    tests.store.settle()
    #expect(tests.client.read().isEmpty)
    #expect(tests.harness.gateway.relay.outbox.usage.total.count == 10)
    tests.send("late", id: 2)
    tests.harness.pass(.milliseconds(1))
    tests.store.settle()
    let answers = HarnessClient.values(tests.client.read()).compactMap { $0["result"]?["count"]?.integerValue }
    #expect(answers == [count])
    #expect(tests.harness.gateway.relay.outbox.unfinished.map(\.entry.message.event) == ["late"])
  }

  @Test func whatHasItsOutcomeBeforeItsTurnIsNotCounted() {
    let tests = Self.roomy()
    for number in 1...OutboxWork.portion + 10 { tests.send("e", id: number) }
    tests.store.settle()
    tests.client.read()
    tests.client.call("outbox.cancel", #"{"upstream":"chat"}"#, id: 1)
    tests.client.call("outbox.cancel", #"{"upstream":"chat"}"#, id: 2)
    tests.harness.pass(.milliseconds(1))
    tests.store.settle()
    let answers = HarnessClient.values(tests.client.read())
    #expect(answers.compactMap { $0["id"]?.integerValue }.sorted() == [1, 2])
    #expect(answers.compactMap { $0["result"]?["count"]?.integerValue }.sorted() == [10, OutboxWork.portion])
    #expect(tests.harness.gateway.relay.outbox.usage.total.count == 0)
  }
}
