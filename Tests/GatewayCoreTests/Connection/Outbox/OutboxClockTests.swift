import Testing

@testable import GatewayCore

/// What a clock that is set does to the outbox: nothing that a sender or a server could notice.
@Suite struct OutboxClockTests {
  private let store = FakeOutboxStore()
  private let harness: GatewayHarness
  private let client: HarnessClient
  private static let steps: [Int64] = [-86_400_000 * 365, -3_600_000, 3_600_000, 86_400_000 * 365]

  init() {
    harness = GatewayHarness(outbox: .open(store, []))
    client = harness.client()
  }

  private func send(_ event: String, _ more: String = "", id: Int = 1) {
    client.call(
      "send", #"{"upstream":"chat","event":"\#(event)","delivery":"durable","ttl":60000\#(more)}"#, id: id)
    store.settle()
  }

  private var wall: Int64 { harness.time.wallMilliseconds }

  private func entries(_ client: HarnessClient? = nil) -> [JSONValue] {
    let list = (client ?? self.client).call("outbox.list", "{}", id: 99)
    return HarnessClient.values(list).last?["result"]?["entries"]?.elements ?? []
  }

  private func instants(_ entry: JSONValue?) -> [Int64?] {
    ["created", "expires", "ended"].map { entry?[$0]?.integerValue.map { Int64($0) - wall } }
  }

  private func setClock(_ step: Int64) {
    harness.time.wallMilliseconds += step
    harness.gateway.clockWasSet()
    store.settle()
  }

  @Test(arguments: steps)
  func theTimeToLiveIsWhatItWasHereAndOnTheDisk(_ step: Int64) {
    send("a")
    harness.pass(.seconds(20))
    setClock(step)
    #expect(instants(entries().first) == [-20_000, 40_000, nil])
    #expect(store.stored.map { $0.expires.map { $0 - wall } } == [40_000])
    harness.pass(.milliseconds(39_999))
    #expect(entries().first?["state"]?.stringValue == "queued")
    harness.pass(.milliseconds(1))
    #expect(entries().first?["state"]?.stringValue == "expired")
  }

  @Test func aSetClockIsOneChangeHoweverManyEntriesThereAre() {
    for id in 1...5 { send("a", id: id) }
    let before = store.written
    setClock(3_600_000)
    #expect(store.written == before + 1)
    #expect(store.stored.map { $0.expires.map { $0 - wall } } == Array(repeating: 60_000, count: 5))
  }

  @Test func aFailedEntryThatIsSentAgainNeverHasTwoRows() {
    send("a")
    harness.pass(.seconds(60))
    let old = store.stored.map(\.number)
    let id = entries().first?["id"]?.stringValue ?? ""
    client.call("outbox.retry", #"{"ids":["\#(id)"]}"#, id: 5)
    #expect(store.stored.map(\.number) == old)
    store.settle(1)
    #expect(store.stored.map(\.state) == [.queued] && store.stored.map(\.number) != old)
    store.settle()
    #expect(store.stored.map(\.state) == [.queued])
  }

  @Test(arguments: steps)
  func theNextDaemonGoesOnWithTheSameTimeToLive(_ step: Int64) {
    send("a")
    harness.pass(.seconds(20))
    setClock(step)
    let again = restarted(at: wall)
    again.pass(.milliseconds(39_999))
    #expect(store.stored.map(\.state) == [.queued])
    again.pass(.milliseconds(1))
    #expect(store.stored.map(\.state) == [.expired])
  }

  /// Another daemon on what this one left, started when the wall clock shows this.
  private func restarted(at wall: Int64) -> GatewayHarness {
    GatewayHarness(outbox: .open(store, store.stored), wall: wall)
  }

  @Test(arguments: steps)
  func theOrderIsThatOfTheAcceptance(_ step: Int64) {
    send("a", id: 1)
    harness.pass(.seconds(1))
    setClock(step)
    send("b", id: 2)
    setClock(-step)
    send("c", id: 3)
    #expect(entries().compactMap { $0["event"]?.stringValue } == ["a", "b", "c"])
    harness.upstream.channel.accept()
    #expect(harness.upstream.channel.written == ["a []", "b []", "c []"])
  }

  @Test(arguments: steps)
  func theOrderSurvivesARestart(_ step: Int64) {
    send("a", id: 1)
    setClock(step)
    send("b", id: 2)
    let next = restarted(at: wall)
    next.client().call("send", #"{"upstream":"chat","event":"c"}"#)
    next.upstream.channel.accept()
    #expect(next.upstream.channel.written == ["a []", "b []", "c []"])
  }

  @Test(arguments: steps)
  func whatIsFinishedIsShownAsLongAsEver(_ step: Int64) {
    send("a")
    harness.upstream.channel.accept()
    harness.pass(.seconds(600))
    setClock(step)
    #expect(instants(entries().first) == [-600_000, -540_000, -600_000])
    harness.pass(.seconds(2_998))
    #expect(entries().count == 1)
    harness.pass(.seconds(61))
    #expect(entries().isEmpty && store.stored.isEmpty)
  }

  @Test func aStepThatTheKernelDidNotTellIsNoticedAtTheNextUse() {
    send("a")
    harness.time.wallMilliseconds += 3_600_000
    send("b", id: 2)
    #expect(store.stored.map { $0.expires.map { $0 - wall } } == [60_000, 60_000])
  }

  @Test func anEntryOnItsWayToTheDiskMovesWhenItIsThere() {
    client.call("send", #"{"upstream":"chat","event":"a","delivery":"durable","ttl":60000}"#)
    harness.time.wallMilliseconds -= 3_600_000
    harness.gateway.clockWasSet()
    #expect(store.stored.isEmpty)
    store.settle()
    #expect(store.stored.map { $0.expires.map { $0 - wall } } == [60_000])
  }

  @Test(arguments: [1, 86_400_000 * 20_000] as [Int64])
  func aClockThatStartsBeforeTheEntryGivesItItsWholeTimeToLiveAndNoMore(_ distance: Int64) {
    send("a")
    let next = restarted(at: wall - distance)
    next.pass(.milliseconds(59_999))
    #expect(store.stored.map(\.state) == [.queued])
    // The clock is put right meanwhile.
    next.time.wallMilliseconds += distance
    next.gateway.clockWasSet()
    next.pass(.milliseconds(1))
    #expect(store.stored.map(\.state) == [.expired])
  }

  @Test func aClockThatIsPutRightLeavesNoEntryInTheFutureOnTheDisk() {
    send("a")
    let next = restarted(at: wall - 3_600_000)
    next.time.wallMilliseconds += 3_600_000
    next.gateway.clockWasSet()
    store.settle()
    #expect(store.stored.map { $0.created - next.time.wallMilliseconds } == [0])
  }

  @Test func timeWithoutADaemonCountsAsTheClockSays() {
    send("a")
    let next = restarted(at: wall + 60_000)
    next.pass(.milliseconds(1))
    #expect(store.stored.map(\.state) == [.expired])
  }

  @Test func aFailedEntryThatIsSentAgainHasItsWholeTimeToLiveWhateverTheClockDid() {
    send("a")
    harness.pass(.seconds(60))
    harness.time.wallMilliseconds -= 86_400_000
    let id = entries().first?["id"]?.stringValue ?? ""
    client.call("outbox.retry", #"{"ids":["\#(id)"]}"#, id: 5)
    store.settle()
    #expect(instants(entries().first) == [0, 60_000, nil])
  }

  @Test(arguments: steps)
  func aKeyCountsForItsDayWhateverTheClockDoes(_ step: Int64) {
    send("a", #","key":"k""#, id: 1)
    harness.upstream.channel.accept()
    harness.pass(.seconds(7_200))
    setClock(step)
    #expect(entries().isEmpty && store.stored.count == 1)
    let next = restarted(at: wall)
    let late = next.client()
    let again = late.call(
      "send", #"{"upstream":"chat","event":"a","delivery":"durable","ttl":60000,"key":"k"}"#, id: 1)
    #expect(HarnessClient.values(again).first?["result"]?["duplicate"] == .bool(true))
  }
}
