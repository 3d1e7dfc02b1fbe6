import Testing

@testable import GatewayCore

/// What a user may have in the outbox, and what gives way beyond that.
@Suite final class OutboxShareTests: OutboxScene {
  /// The type of the error, if there was one.
  @discardableResult
  private func send(_ event: String, _ more: String = "") -> String? {
    let answer = client.call("send", #"{"upstream":"chat","event":"\#(event)","delivery":"durable"\#(more)}"#)
    store.settle()
    return Self.error(answer + client.read())
  }

  private static func dropping(_ more: (inout Configuration) -> Void = { _ in }) -> OutboxShareTests {
    OutboxShareTests {
      $0.outbox.entries = 2
      $0.outbox.whenFull = .dropOldest
      more(&$0)
    }
  }

  @Test func whatIsHandedToTheUpstreamDoesNotGiveWay() {
    let tests = Self.dropping()
    tests.connect()
    tests.harness.upstream.channel.unsentBytes = 10
    for event in ["a", "b"] { tests.send(event) }
    #expect(tests.written == ["hi []", "a []", "b []"])
    #expect(tests.send("c") == "QueueFull")
    tests.harness.upstream.channel.unsentBytes = 0
    tests.harness.pass(.seconds(1))
    #expect(tests.states() == ["a sent", "b sent"])
  }

  @Test func aClientThatIsQuickerThanTheDiskHasNoMoreOnItsWayThanAnOutboxHolds() {
    let tests = Self.dropping { $0.limits.inflight = 10_000 }
    let long = String(repeating: "x", count: 900_000)
    func error(_ id: Int) -> String? {
      Self.error(
        tests.client.call(
          "send", #"{"upstream":"chat","event":"e","delivery":"durable","args":["\#(long)"]}"#, id: id))
    }
    let errors = (0..<200).map(error)
    #expect(errors.first == .some(nil) && errors.last == "QueueFull")
    #expect(tests.harness.gateway.relay.outbox.usage.total.bytes <= 2 * (64 << 20))
    tests.store.settle()
    tests.client.read()
    #expect(tests.harness.gateway.relay.outbox.usage.total.count == 2)
    #expect(error(1_000) == nil)
  }

  @Test func aLongURLCountsInTheOutbox() {
    let tests = OutboxShareTests { $0.outbox.totalBytes = 8_192 }
    func send(to path: String) -> String? {
      let answer = tests.client.call("send", #"{"url":"http://a.example/\#(path)","event":"e","delivery":"durable"}"#)
      tests.store.settle()
      return Self.error(answer + tests.client.read())
    }
    #expect(send(to: "short") == nil)
    #expect(send(to: String(repeating: "x", count: 1_700)) == "QueueFull")
  }

  /// What the last send that the client made was refused with.
  private static func refusal(_ answer: [String]) -> [String?] {
    let error = HarnessClient.values(answer).last?["error"]
    let message = error?["message"]?.stringValue
    let setting = message?.split(separator: "`").dropFirst().first.map(String.init)
    return [
      error?["data"]?["type"]?.stringValue, setting, error?["data"]?["retry"] == .bool(false) ? "never" : "again",
    ]
  }

  @Test func aDurableSendThatCanNeverFitIsNotToldToTryAgain() {
    let send =
      #"{"upstream":"chat","event":"e","delivery":"durable","args":["\#(String(repeating: "x", count: 4_096))"]}"#
    for whenFull in [OutboxFullPolicy.reject, .dropOldest] {
      let here = OutboxShareTests { ($0.outbox.bytes, $0.outbox.whenFull) = (4_096, whenFull) }
      #expect(Self.refusal(here.client.call("send", send)) == ["PayloadTooLarge", "outbox.bytes", "never"])
      let all = OutboxShareTests { ($0.outbox.totalBytes, $0.outbox.whenFull) = (8_192, whenFull) }
      #expect(Self.refusal(all.client.call("send", send)) == ["PayloadTooLarge", "outbox.total_bytes", "never"])
    }
  }

  @Test func aTryUnderWayDoesNotGiveWay() {
    let tests = Self.dropping()
    tests.connect()
    for event in ["a", "b", "c"] { tests.send(event, #","retries":2"#) }
    #expect(tests.written == ["hi []", "a []#0"])
    #expect(tests.states().sorted() == ["a queued", "b dropped", "c queued"])
  }

  @Test func oneUsersDurableSendsLeaveAnotherRoomForTheSameUpstream() {
    let tests = OutboxShareTests { $0.outbox.entries = 2 }
    #expect(tests.send("a") == nil && tests.send("b") == nil)
    #expect(tests.send("c") == "QueueFull")
    let other = tests.harness.client(uid: 5)
    func send(_ event: String) -> String? {
      let answer = other.call("send", #"{"upstream":"chat","event":"\#(event)","delivery":"durable"}"#)
      tests.store.settle()
      return Self.error(answer + other.read())
    }
    #expect(send("d") == nil && send("e") == nil)
    #expect(send("f") == "QueueFull")
  }

  @Test func aUsersShareIsCountedOverAllTargetsAlsoAfterThatOfOneWasEmpty() {
    let tests = OutboxShareTests { $0.outbox.totalEntries = 4 }
    func send(to url: String, _ id: Int) {
      tests.client.call("send", #"{"url":"\#(url)","event":"e","delivery":"durable"}"#, id: id)
      tests.store.settle()
    }
    send(to: "http://one.example", 1)
    send(to: "http://two.example", 2)
    for entry in tests.store.stored.reversed() {
      tests.client.call("outbox.cancel", #"{"ids":["\#(entry.id)"]}"#, id: 3)
      tests.store.settle()
    }
    send(to: "http://two.example", 4)
    send(to: "http://two.example", 5)
    tests.client.read()
    let refused = tests.client.call("send", #"{"url":"http://one.example","event":"e","delivery":"durable"}"#, id: 6)
    #expect(Self.error(refused) == "QuotaExceeded" || Self.error(refused) == "QueueFull", "\(refused)")
  }

  @Test func oneUsersSuccessesDoNotTakeAwayAnotherUsersFailedSendNorItsOwn() {
    let tests = OutboxShareTests { $0.outbox.keepEntries = 10 }
    #expect(tests.send("failed", #","ttl":1000"#) == nil)
    tests.harness.pass(.seconds(2))
    let other = tests.harness.client(uid: 5)
    other.call("send", #"{"upstream":"chat","event":"theirs","delivery":"durable","ttl":1000}"#)
    tests.store.settle()
    tests.harness.pass(.seconds(2))
    tests.connect()
    for number in 0..<30 {
      other.call("send", #"{"upstream":"chat","event":"e\#(number)","delivery":"durable"}"#)
      tests.store.settle()
      tests.harness.pass(.seconds(1))
    }
    #expect(tests.harness.gateway.relay.outbox.archive.count == 10)
    let left = Set(tests.harness.gateway.relay.outbox.archive.records.map(\.entry.message.event))
    #expect(left.isSuperset(of: ["failed", "theirs"]))
  }

  @Test func aKeyFollowsItsSendThroughRetryAndGoesWithAPurge() {
    let tests = OutboxShareTests()
    func send() -> [String] {
      let answer = tests.client.call(
        "send", #"{"upstream":"chat","event":"a","delivery":"durable","ttl":1000,"key":"k"}"#)
      tests.store.settle()
      return answer + tests.client.read()
    }
    #expect(send()[0].contains(#""state":"durable""#))
    tests.harness.pass(.seconds(2))
    #expect(send()[0].contains(#""state":"expired","duplicate":true"#))
    tests.client.call("outbox.retry", #"{"upstream":"chat"}"#)
    tests.store.settle()
    tests.client.read()
    #expect(send()[0].contains(#""state":"durable","duplicate":true"#))
    tests.client.call("outbox.purge", "{}")
    tests.store.settle()
    tests.client.read()
    #expect(!send()[0].contains("duplicate"))
  }

  @Test func whatGaveWayToANewerValueIsNotSentAgain() {
    let tests = OutboxShareTests()
    for number in 1...3 { tests.send("t\(number)", #","coalesce":"temperature""#) }
    #expect(tests.states().sorted() == ["t1 dropped", "t2 dropped", "t3 queued"])
    let answer = tests.client.call("outbox.retry", #"{"upstream":"chat"}"#)
    tests.store.settle()
    #expect((answer + tests.client.read()).contains { $0.contains(#""count":1"#) })
    #expect(tests.states().sorted() == ["t1 dropped", "t2 dropped", "t3 queued"])
    tests.connect()
    tests.harness.pass(.seconds(1))
    #expect(tests.states().sorted() == ["t1 dropped", "t2 dropped", "t3 sent"])
  }
}
