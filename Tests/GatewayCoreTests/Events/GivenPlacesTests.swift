import Testing

@testable import GatewayCore

/// Events whose epoch, number and time the link gives.
@Suite struct GivenPlacesTests {
  private let harness = GatewayHarness()
  private let client: HarnessClient

  init() {
    client = harness.client()
    client.call("subscribe", #"{"upstream":"chat","subscription":"s"}"#)
    harness.upstream.channel.accept()
    client.read()
  }

  private func emit(_ epoch: String, _ sequence: UInt64, time: UInt64 = 7) {
    harness.upstream.channel.place(EventPlace(epoch: epoch, sequence: sequence, time: time))
    harness.upstream.channel.emit("e")
  }

  /// What the client was told, in few words.
  private func told() -> [String] {
    client.readValues().compactMap { line in
      guard let params = line["params"] else { return nil }
      let epoch = params["epoch"]?.stringValue ?? ""
      guard line["method"]?.stringValue == "gap" else {
        return "\(params["seq"]?.integerValue ?? 0) at \(params["time"]?.integerValue ?? 0)"
      }
      guard let from = params["from"]?.integerValue, let to = params["to"]?.integerValue else { return "gap \(epoch)" }
      return "gap \(epoch)/\(from)-\(to)"
    }
  }

  @Test func aSubscriberIsToldTheLinksOwnNumbers() {
    emit("e1", 41)
    emit("e1", 42, time: 8)
    #expect(told() == ["gap e1", "41 at 7", "42 at 8"])
  }

  @Test func theFirstEpochThatAHostReadsIsNotCalledAnInterruption() {
    emit("e1", 41)
    emit("e2", 50)
    let gaps = client.readValues().filter { $0["method"]?.stringValue == "gap" }.map {
      $0["params"]?["detail"]?.stringValue
    }
    #expect(
      gaps == ["this host has just begun to read what its fleet has, and tells what comes from now on", nil])
  }

  @Test func whatIsLeftOutIsAGap() {
    emit("e1", 1)
    emit("e1", 4)
    emit("e1", 10_000)
    emit("e2", 10_001)
    #expect(
      told() == [
        "gap e1", "1 at 7", "gap e1/2-3", "4 at 7", "gap e1/5-9999", "10000 at 7", "gap e2", "10001 at 7",
      ])
  }

  @Test func whoAsksForThePastGetsTheSameNumbers() {
    emit("e1", 5)
    emit("e1", 8)
    let late = harness.client()
    let lines = late.call("subscribe", #"{"upstream":"chat","subscription":"t","since":{"epoch":"e1","seq":4}}"#)
    #expect(lines.contains { $0.contains(#""seq":5"#) } && lines.contains { $0.contains(#""seq":8"#) })
    for missing in 6...7 { #expect(lines.contains { $0.contains(#""from":\#(missing),"to":\#(missing)"#) }) }
  }

  @Test func whoComesFromAnEpochThatThisHostHasMissedIsToldNothingTwice() {
    emit("e1", 5)
    emit("e1", 6)
    emit("e3", 9)
    let late = harness.client()
    let lines = late.call("subscribe", #"{"upstream":"chat","subscription":"t","since":{"epoch":"e2","seq":7}}"#)
    let sequences = HarnessClient.values(lines).filter { $0["method"] == .string("event") }
      .map { $0["params"]?["seq"]?.integerValue ?? 0 }
    #expect(sequences == [9])
    #expect(lines.contains { $0.contains("the epoch 'e2' is not known") })
  }

  /// It was told of events that a failover has undone.
  @Test func whoHasHeardMoreOfAnEpochThanThereIsNowIsToldNothingTwice() {
    for number in 5...7 as ClosedRange<UInt64> { emit("e1", number) }
    let late = harness.client()
    var lines = late.call("subscribe", #"{"upstream":"chat","subscription":"t","since":{"epoch":"e1","seq":9}}"#)
    #expect(lines.contains { $0.contains("the epoch 'e1' has no event 9 any more: what was seen behind 7 was lost") })
    emit("e2", 8)
    lines += late.read()
    let sequences = HarnessClient.values(lines).filter { $0["method"] == .string("event") }
      .map { $0["params"]?["seq"]?.integerValue ?? 0 }
    #expect(sequences == [8])
  }

  /// A host read far on in an epoch that the fleet then gave up.
  private func emitWithAnEpochThatWasGivenUp() {
    for number in 99...100 as ClosedRange<UInt64> { emit("before", number) }
    for number in 1_000_001...1_000_002 as ClosedRange<UInt64> { emit("givenUp", number) }
    for number in 101...105 as ClosedRange<UInt64> { emit("valid", number) }
  }

  private func numbers(_ since: String) -> [Int] {
    let late = harness.client()
    let lines = late.call("subscribe", #"{"upstream":"chat","subscription":"t","since":\#(since)}"#)
    return HarnessClient.values(lines).filter { $0["method"] == .string("event") }
      .compactMap { $0["params"]?["seq"]?.integerValue }
  }

  @Test func whoComesFromAnUnknownEpochIsNotToldOfOneThatWasGivenUp() {
    emitWithAnEpochThatWasGivenUp()
    #expect(numbers(#"{"epoch":"unknown","seq":103}"#) == [104, 105])
  }

  @Test func whoHasHeardMoreThanThereIsNowIsNotToldOfAnEpochThatWasGivenUp() {
    emitWithAnEpochThatWasGivenUp()
    #expect(numbers(#"{"epoch":"valid","seq":109}"#) == [])
  }

  @Test func whoGoesOnBelowAnEpochGetsWhatCameBeforeItAndNotWhatCameAfterIt() {
    emitWithAnEpochThatWasGivenUp()
    emit("later", 50)
    #expect(numbers(#"{"epoch":"before","seq":99}"#) == [100, 1_000_001, 1_000_002, 101, 102, 103, 104, 105, 50])
    #expect(numbers(#"{"epoch":"valid","seq":99}"#) == [100, 1_000_001, 1_000_002, 101, 102, 103, 104, 105, 50])
  }

  @Test func whatCameBeforeTheFirstEventThatThisHostHasHeardOfAnEpochIsAGap() {
    emit("e1", 5)
    emit("e1", 6)
    let late = harness.client()
    let lines = late.call("subscribe", #"{"upstream":"chat","subscription":"t","since":{"epoch":"e1","seq":2}}"#)
    #expect(lines.first?.contains(#""recovered":false"#) == true)
    #expect(lines.dropFirst().first?.contains(#""from":3,"to":4,"count":2,"reason":"expired""#) == true, "\(lines)")
    #expect(HarnessClient.values(lines).compactMap { $0["params"]?["seq"]?.integerValue } == [5, 6])
  }

  @Test func aConversationIsRecoveredWhereNoPlaceIsMissing() {
    let watcher = harness.client()
    watcher.call("subscribe", #"{"upstream":"chat","state":true}"#)
    /// Whether it is told so of the next conversation, which begins with that place.
    func isRecovered(_ epoch: String, _ sequence: UInt64) -> Bool {
      harness.upstream.channel.fail(.fleet)
      harness.pass(.seconds(31))
      watcher.read()
      harness.upstream.channel.place(EventPlace(epoch: epoch, sequence: sequence, time: 0))
      harness.upstream.channel.accept()
      let states = watcher.readValues().filter { $0["method"]?.stringValue == "state" }
      #expect(states.map { $0["params"]?["state"]?.stringValue } == ["connected"])
      return states.contains { $0["params"]?["recovered"]?.boolValue == true }
    }
    #expect(!isRecovered("e1", 6))
    #expect(isRecovered("e1", 6))
    #expect(!isRecovered("e1", 9))
    #expect(!isRecovered("e2", 9))
    #expect(isRecovered("e2", 9))
  }

  @Test func eventsOfAnUpstreamThatHasLeftItsFleetHaveTheTimeOfThisHost() {
    emit("e1", 41)
    harness.reload { $0.upstreams["chat"]?.settings.handshake = .seconds(11) }
    harness.pass(.seconds(31))
    harness.upstream.channel.accept()
    harness.upstream.channel.emit("e")
    let told = told()
    #expect(told.count { $0.hasPrefix("gap ") } == 2)
    #expect(told.last?.hasPrefix("42 at ") == true && told.last != "42 at 7", "\(told)")
  }

  @Test func numbersThatAreLeftOutAreNotCountedAsEvents() {
    for number in 1...8 as ClosedRange<UInt64> { emit("e1", number) }
    emit("e1", 11)
    emit("e2", 1_048_584)
    // The fleet has gone back to an epoch with lower numbers.
    emit("e3", 20)
    let stream = harness.gateway.upstreams.pool.all[0].stream
    #expect(stream.sequence == 20 && stream.eventCount == 11)
    let status = HarnessClient.values(harness.client(uid: 0).call("status")).last?["result"]
    #expect(status?["connections"]?.elements?.first?["in"]?["events"]?.integerValue == 11)
  }

  @Test func aNewSubscriberBeginsNoEpochOfItsOwn() {
    emit("e1", 5)
    client.call("unsubscribe", #"{"subscription":"s"}"#)
    harness.upstream.channel.fail(.closed)
    let late = harness.client()
    late.call("subscribe", #"{"upstream":"chat","subscription":"t"}"#)
    #expect(harness.gateway.upstreams.pool.all[0].stream.epoch == "e1")
  }
}
