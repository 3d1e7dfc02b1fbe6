import Testing

@testable import GatewayCore

/// A `subscribe` behind a place that was reached elsewhere, and not here yet.
@Suite struct ToldPastTests {
  private let harness = GatewayHarness()

  init() { harness.upstream.pastLimit = .seconds(10) }

  private var channel: FakeChannel { harness.upstream.channel }

  private func subscribe(_ client: HarnessClient, _ epoch: String, _ sequence: Int, call: Int = 1) -> [String] {
    let since = #"{"epoch":"\#(epoch)","seq":\#(sequence)}"#
    let params = #"{"upstream":"chat","subscription":"s","since":\#(since)}"#
    return told(client.call("subscribe", params, id: call))
  }

  private func emit(_ epoch: String, _ sequences: ClosedRange<UInt64>) {
    for sequence in sequences {
      channel.place(EventPlace(epoch: epoch, sequence: sequence, time: 7))
      channel.emit("e")
    }
  }

  /// What was asked for before a client had its answer, and once more what was asked for behind it.
  private func tellPast() {
    channel.toldPast()
    channel.toldPast()
    channel.isRecovered = true
  }

  /// What a client was told, in few words.
  private func told(_ lines: [String]) -> [String] {
    HarnessClient.values(lines).map { line in
      if line["result"] != nil { return "answer" }
      if line["error"] != nil { return "error" }
      if line["method"] == .string("gap") { return "gap" }
      return "\(line["params"]?["seq"]?.integerValue ?? 0)"
    }
  }

  @Test func whoIsAheadOfAHostThatHasJustStartedIsToldNothingTwice() {
    let client = harness.client()
    #expect(subscribe(client, "e1", 2) == [])
    #expect(channel.pastRequests == 1)
    emit("e1", 1...3)
    channel.accept()
    #expect(told(client.read()) == [])
    channel.toldPast()
    #expect(told(client.read()) == ["answer", "3"])
    emit("e1", 4...4)
    #expect(told(client.read()) == ["4"])
  }

  @Test func theFirstProgramOfAHostIsToldTheEpochByTheAnswerAndHearsOfNoGap() {
    let client = harness.client()
    #expect(told(client.call("subscribe", #"{"upstream":"chat"}"#)) == [])
    emit("e0", 3...4)
    emit("e1", 5...6)
    channel.accept()
    channel.toldPast()
    emit("e1", 7...8)
    let lines = client.read()
    #expect(told(lines) == ["answer", "7", "8"])
    #expect(lines.first?.contains(#""epoch":"e1","seq":6,"recovered":true"#) == true, "\(lines)")
  }

  /// It hears why it is told of another epoch.
  @Test func aProgramOfAHostThatReadsTooLateIsNotToldTheWholePastAsNew() {
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    harness.pass(.seconds(2))
    #expect(told(client.read()) == ["answer"])
    emit("e0", 3...4)
    emit("e1", 5...6)
    tellPast()
    channel.accept()
    #expect(told(client.read()) == [])
    emit("e1", 7...8)
    let lines = client.read()
    #expect(told(lines) == ["gap", "7", "8"])
    #expect(lines.first?.contains(#""epoch":"e1""#) == true && lines.first?.contains(#""seq":6"#) == true, "\(lines)")
    #expect(lines.first?.contains("this host has just begun to read what its fleet has") == true, "\(lines)")
    // From now on it has a place.
    channel.fail(.fleet)
    harness.pass(.seconds(2))
    channel.isRecovered = true
    emit("e1", 9...10)
    #expect(told(client.read()) == ["9", "10"])
  }

  @Test func whatIsMissingBehindThePastIsToldToAProgramOfAHostThatHasJustStarted() {
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    harness.pass(.seconds(2))
    client.read()
    emit("e1", 5...6)
    emit("e1", 9...9)
    tellPast()
    channel.accept()
    emit("e1", 12...12)
    #expect(told(client.read()) == ["gap", "gap", "12"])
  }

  /// The connection is closed because nobody uses it, and other hosts go on.
  private func closeByIdleness() {
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    emit("e1", 1...3)
    channel.accept()
    channel.toldPast()
    client.disconnect()
    harness.pass(.seconds(31))
    #expect(channel.isClosed)
  }

  /// A host whose link is elsewhere told what came while nobody used it.
  @Test func aNewProgramIsNotToldAsNewWhatCameWhileNobodyUsedTheHost() {
    closeByIdleness()
    let client = harness.client()
    #expect(told(client.call("subscribe", #"{"upstream":"chat"}"#)) == [])
    emit("e1", 4...6)
    channel.accept()
    channel.toldPast()
    emit("e1", 7...7)
    let lines = client.read()
    #expect(told(lines) == ["answer", "7"])
    #expect(lines.first?.contains(#""epoch":"e1","seq":6"#) == true, "\(lines)")
  }

  @Test func aNewProgramOfAHostThatWasNotUsedHearsOfNoGapWhereTheEpochGoesOn() {
    closeByIdleness()
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    harness.pass(.seconds(2))
    #expect(told(client.read()) == ["answer"])
    emit("e1", 4...6)
    channel.accept()
    tellPast()
    emit("e1", 7...7)
    #expect(told(client.read()) == ["7"])
  }

  @Test func theLastEventsOfAHostThatWasNotUsedAreThoseOfNow() {
    closeByIdleness()
    let client = harness.client()
    #expect(told(client.call("subscribe", #"{"upstream":"chat","last":1}"#)) == [])
    emit("e1", 4...6)
    channel.toldPast()
    #expect(told(client.read()) == ["answer", "6"])
  }

  /// Other settings come, with which the upstream is in a fleet or in none.
  private func reload(pastLimit: Duration?) {
    harness.upstream.pastLimit = pastLimit
    harness.reload { $0.upstreams["chat"]?.settings.handshake = .seconds(11) }
    harness.pass(.seconds(31))
  }

  @Test func anUpstreamThatJoinsAFleetTellsItsProgramsNothingOfWhatTheFleetHasKept() {
    harness.upstream.pastLimit = nil
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    channel.accept()
    for _ in 0..<5 { channel.emit("e") }
    #expect(told(client.read()) == ["1", "2", "3", "4", "5"])
    reload(pastLimit: .seconds(10))
    #expect(channel.pastRequests == 1)
    emit("e1", 1...3)
    channel.accept()
    channel.toldPast()
    #expect(told(client.read()) == [])
    emit("e1", 4...5)
    let lines = client.read()
    #expect(told(lines) == ["gap", "4", "5"])
    #expect(lines.first?.contains(#""epoch":"e1""#) == true && lines.first?.contains(#""seq":3"#) == true, "\(lines)")
  }

  @Test func aProgramThatIsToldNothingOfThePastHearsWhatComesWhereItsUpstreamLeavesTheFleet() {
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    harness.pass(.seconds(2))
    #expect(told(client.read()) == ["answer"])
    reload(pastLimit: nil)
    channel.accept()
    channel.emit("e")
    #expect(told(client.read()) == ["gap", "1"])
  }

  /// What waits for the fleet waits no longer than programs do for an answer.
  @Test func aNewProgramDoesNotWaitWhereAnAttemptHasFailed() {
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    channel.fail(.fleet)
    #expect(told(client.read()) == ["answer"])
    #expect(told(harness.client().call("subscribe", #"{"upstream":"chat"}"#)) == ["answer"])
  }

  @Test func theLastEventsAreToldWhenTheHostHasReadThem() {
    let client = harness.client()
    #expect(told(client.call("subscribe", #"{"upstream":"chat","last":2}"#)) == [])
    emit("e1", 1...3)
    channel.toldPast()
    #expect(told(client.read()) == ["answer", "2", "3"])
    let other = harness.client()
    #expect(told(other.call("subscribe", #"{"upstream":"chat","last":1}"#)) == [])
    harness.pass(.seconds(11))
    #expect(told(other.read()) == ["answer"])
    emit("e1", 4...4)
    tellPast()
    emit("e1", 5...5)
    #expect(told(other.read()) == ["gap", "5"])
  }

  @Test func nothingIsClaimedOfAPastThatWasWaitedForInVain() {
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat","last":2}"#)
    client.call("subscribe", #"{"upstream":"chat","last":2,"strict":true}"#, id: 2)
    client.call("history", #"{"upstream":"chat"}"#, id: 3)
    harness.pass(.seconds(11))
    let lines = client.read()
    #expect(lines.count == 3)
    #expect(lines.contains { $0.contains(#""id":1"#) && $0.contains(#""recovered":false"#) })
    #expect(lines.contains { $0.contains(#""id":2"#) && $0.contains("Unrecoverable") })
    #expect(lines.contains { $0.contains(#""id":3"#) && $0.contains(#""complete":false"#) })
    emit("e1", 1...3)
    tellPast()
    channel.accept()
    #expect(told(client.read()) == [])
    // Who asks for nothing of the past may be strict.
    #expect(told(harness.client().call("subscribe", #"{"upstream":"chat","strict":true}"#)) == ["answer"])
  }

  @Test func theHistoryIsAnsweredWhenTheHostHasReadIt() {
    harness.client().call("subscribe", #"{"upstream":"chat"}"#)
    let client = harness.client()
    #expect(client.call("history", #"{"upstream":"chat"}"#) == [])
    emit("e1", 1...3)
    tellPast()
    harness.pass(.milliseconds(10))
    #expect(client.read().first?.contains(#""epoch":"e1","seq":3,"complete":true"#) == true)
  }

  @Test func whoIsAheadOfAHostThatIsBehindByAMomentIsToldNothingTwice() {
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    emit("e1", 1...1)
    channel.accept()
    let other = harness.client()
    #expect(subscribe(other, "e1", 2) == [])
    emit("e1", 2...3)
    tellPast()
    #expect(told(other.read()) == ["answer", "3"])
  }

  @Test func aPlaceThatThereNeverWasIsAGapWhenThePastIsTold() {
    let client = harness.client()
    #expect(subscribe(client, "e9", 2) == [])
    emit("e1", 1...1)
    channel.toldPast()
    #expect(told(client.read()) == ["answer", "gap", "1"])
  }

  @Test func aPlaceThatIsKnownWaitsForNothing() {
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    emit("e1", 1...2)
    tellPast()
    let requests = channel.pastRequests
    #expect(subscribe(harness.client(), "e1", 1) == ["answer", "2"])
    #expect(channel.pastRequests == requests)
  }

  @Test func anAttemptThatFailsEndsTheWaiting() {
    let client = harness.client()
    #expect(subscribe(client, "e1", 2) == [])
    channel.fail(.fleet)
    #expect(told(client.read()) == ["answer"])
  }

  @Test func noCallWaitsForLongerThanItsLimit() {
    let client = harness.client()
    #expect(subscribe(client, "e1", 2) == [])
    harness.pass(.seconds(9))
    #expect(told(client.read()) == [])
    harness.pass(.seconds(2))
    #expect(told(client.read()) == ["answer"])
  }

  @Test func aConversationThatEndsLeavesTheWaitingToTheNextOne() {
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    emit("e1", 1...1)
    channel.accept()
    let other = harness.client()
    #expect(subscribe(other, "e2", 2) == [])
    channel.fail(.fleet)
    harness.pass(.seconds(2))
    #expect(channel.pastRequests == 1)
    emit("e2", 2...3)
    channel.toldPast()
    #expect(told(other.read()) == ["answer", "3"])
  }

  /// A subscription behind 3, made while nothing more than 1 has come and no attempt succeeds.
  private func subscribeAhead(_ sequence: Int = 3) -> HarnessClient {
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    emit("e1", 1...1)
    channel.accept()
    channel.fail(.fleet)
    let other = harness.client()
    #expect(subscribe(other, "e1", sequence) == [])
    while harness.upstream.channels.count < 2 { harness.pass(.seconds(1)) }
    channel.fail(.fleet)
    #expect(told(other.read()) == ["answer"])
    while harness.upstream.channels.count < 3 { harness.pass(.seconds(1)) }
    channel.isRecovered = true
    return other
  }

  @Test func whatWasToldElsewhereIsPassedOverWhenItComes() {
    let client = subscribeAhead()
    emit("e1", 2...3)
    channel.toldPast()
    channel.accept()
    emit("e1", 4...5)
    #expect(told(client.read()) == ["4", "5"])
  }

  @Test func ofAGapThatBeginsBeforeThePlaceTheRestIsTold() {
    let client = subscribeAhead()
    emit("e1", 6...6)
    let lines = client.read()
    #expect(told(lines) == ["gap", "6"])
    #expect(lines.first?.contains(#""from":4,"to":5,"count":2"#) == true)
  }

  @Test func anotherEpochEndsWhatIsPassedOver() {
    let client = subscribeAhead()
    emit("e2", 4...5)
    #expect(told(client.read()) == ["gap", "4", "5"])
  }

  @Test func aPlaceThatTurnsOutToBeNoneIsAGapAtTheNextEvent() {
    let client = subscribeAhead(9)
    emit("e1", 2...2)
    channel.toldPast()
    channel.accept()
    #expect(told(client.read()) == [])
    emit("e1", 3...4)
    #expect(told(client.read()) == ["gap", "3", "4"])
  }

  @Test func aReadingThatBeganBeforeRefutesNoPlace() {
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    emit("e1", 1...1)
    channel.accept()
    #expect(subscribe(harness.client(), "e1", 2) == [])
    harness.pass(.seconds(9))
    let other = harness.client()
    #expect(subscribe(other, "e1", 3) == [])
    harness.pass(.seconds(11))
    #expect(told(other.read()) == ["answer"])
    // It answers what the first of the two asked.
    channel.toldPast()
    #expect(channel.pastRequests == 2)
    emit("e1", 2...4)
    channel.toldPast()
    #expect(told(other.read()) == ["4"])
  }

  /// A subscription behind a place of an epoch that is not known, on a host that reached nothing within its limit.
  private func subscribeUnreached(_ epoch: String, _ sequence: Int) -> HarnessClient {
    let client = harness.client()
    #expect(subscribe(client, epoch, sequence) == [])
    harness.pass(.seconds(11))
    let lines = client.read()
    #expect(told(lines) == ["answer"])
    #expect(lines.first?.contains(#""epoch":"\#(epoch)","seq":\#(sequence)"#) == true)
    return client
  }

  @Test func aProgramOfAHostThatStartedWithoutRedisIsNotTold213After271() {
    let client = subscribeUnreached("e1", 271)
    emit("e0", 200...205)
    emit("e1", 213...275)
    channel.toldPast()
    channel.accept()
    emit("e1", 276...276)
    #expect(told(client.read()) == (272...276).map(String.init))
  }

  @Test func whereTheEpochOfThePlaceIsNotKeptHigherNumbersAreToldBehindAGap() {
    let client = subscribeUnreached("e2", 7)
    emit("e1", 5...6)
    emit("e3", 9...10)
    channel.toldPast()
    #expect(told(client.read()) == ["gap", "9", "10"])
  }

  @Test func whereRedisHasLostAllEventsAreToldAgainBehindAGap() {
    let client = subscribeUnreached("e1", 271)
    emit("e9", 1...2)
    tellPast()
    channel.accept()
    emit("e9", 3...4)
    #expect(told(client.read()) == ["gap", "3", "4"])
  }

  @Test func whoIsAtTheBeginningOfAnEpochIsToldOfNoGap() {
    let client = subscribeUnreached("e1", 0)
    emit("e1", 1...2)
    channel.toldPast()
    #expect(told(client.read()) == ["1", "2"])
  }

  @Test func whoIsStrictIsRefusedWhereThePastIsNotReached() {
    let client = harness.client()
    let since = #"{"epoch":"e1","seq":2}"#
    client.call("subscribe", #"{"upstream":"chat","subscription":"s","since":\#(since),"strict":true}"#)
    harness.pass(.seconds(11))
    #expect(told(client.read()) == ["error"])
  }

  private func history(_ client: HarnessClient, _ epoch: String, _ sequence: Int) -> [String] {
    client.call("history", #"{"upstream":"chat","since":{"epoch":"\#(epoch)","seq":\#(sequence)}}"#)
  }

  @Test func historyOfAHostThatIsBehindIsAnsweredWhenThePastIsTold() {
    let other = harness.client()
    other.call("subscribe", #"{"upstream":"chat"}"#)
    let client = harness.client()
    #expect(history(client, "e1", 2) == [])
    emit("e1", 1...3)
    channel.accept()
    tellPast()
    harness.pass(.milliseconds(10))
    let lines = client.read()
    #expect(lines.count == 1 && lines.first?.contains(#""seq":3,"complete":true"#) == true)
    #expect(lines.first?.contains(#"[{"seq":3,"#) == true)
  }

  @Test func theHistoryOfAHostThatNobodyUsesIsReadBeforeItIsAnswered() {
    let client = harness.client()
    #expect(client.call("history", #"{"upstream":"chat"}"#) == [])
    emit("e1", 1...3)
    channel.toldPast()
    harness.pass(.milliseconds(10))
    let lines = client.read()
    #expect(lines.first?.contains(#""epoch":"e1","seq":3,"complete":true"#) == true, "\(lines)")
  }

  @Test func historyBehindAPlaceOfAHostThatNobodyUsesIsReadBeforeItIsAnswered() {
    let client = harness.client()
    #expect(history(client, "e1", 2) == [])
    emit("e1", 1...3)
    channel.toldPast()
    harness.pass(.milliseconds(10))
    let lines = client.read()
    #expect(lines.first?.contains(#"[{"seq":3,"#) == true, "\(lines)")
    #expect(lines.first?.contains(#""epoch":"e1","seq":3,"complete":true"#) == true, "\(lines)")
  }

  @Test func historyOfAHostThatWasNotUsedHasWhatCameSince() {
    closeByIdleness()
    let client = harness.client()
    #expect(history(client, "e1", 2) == [])
    emit("e1", 4...5)
    channel.toldPast()
    harness.pass(.milliseconds(10))
    let lines = client.read()
    #expect(lines.first?.contains(#"[{"seq":3,"#) == true, "\(lines)")
    #expect(lines.first?.contains(#""seq":5,"complete":true"#) == true, "\(lines)")
  }

  @Test func historyThatWasNotReadOnIsNotCalledComplete() {
    closeByIdleness()
    let client = harness.client()
    #expect(history(client, "e1", 2) == [])
    harness.pass(.seconds(11))
    let lines = client.read()
    #expect(lines.first?.contains(#"[{"seq":3,"#) == true, "\(lines)")
    #expect(lines.first?.contains(#""epoch":"e1","seq":3,"complete":false,"missing":["upstream"]"#) == true, "\(lines)")
  }

  @Test func historyOfAHostThatIsNotToConnectClaimsNothing() {
    harness.client().call("subscribe", #"{"upstream":"chat"}"#)
    channel.accept()
    harness.client(uid: 0).call("disconnect", #"{"upstream":"chat"}"#)
    let lines = harness.client().call("history", #"{"upstream":"chat"}"#)
    #expect(lines.first?.contains(#""complete":false,"missing":["upstream"]"#) == true, "\(lines)")
  }

  @Test func historyThatWaitsInVainLeavesItsCallerAtTheSamePlace() {
    let other = harness.client()
    other.call("subscribe", #"{"upstream":"chat"}"#)
    let client = harness.client()
    #expect(history(client, "e1", 2) == [])
    harness.pass(.seconds(11))
    let lines = client.read()
    let answer = #""events":[],"epoch":"e1","seq":2,"complete":false,"missing":["upstream"],"more":false"#
    #expect(lines.count == 1 && lines.first?.contains(answer) == true)
  }

  @Test func historyThatIsCancelledWaitsNoLonger() {
    let other = harness.client()
    other.call("subscribe", #"{"upstream":"chat"}"#)
    let client = harness.client()
    client.call("history", #"{"upstream":"chat","since":{"epoch":"e1","seq":2}}"#, id: 7)
    #expect(told(client.call("rpc.cancel", #"{"id":7}"#, id: 8)).sorted() == ["answer", "error"])
    channel.toldPast()
    #expect(client.read() == [])
  }

  /// When the program comes to the host.
  enum Arrival: CaseIterable {
    /// While it reaches nothing, and then for longer than a call waits; or before it has read anything; or afterwards.
    case unreached, early, late
  }

  /// Whatever a host has missed, and wherever its program was before.
  @Test(arguments: 0..<300, Arrival.allCases)
  func whatIsToldIsAllThatCameLaterAndNothingTwice(_ seed: UInt64, _ arrival: Arrival) {
    let random = FakeRandom(seed: seed)
    func below(_ count: UInt64) -> Int { Int(random.bits() % count) }
    var places: [(epoch: String, number: UInt64, isFirst: Bool)] = []
    var number: UInt64 = 10
    for epoch in 0..<below(4) + 1 {
      for event in 0..<below(5) + 1 {
        number += event == 0 && below(3) == 0 ? 1_000 : 1
        places.append(("e\(epoch)", number, event == 0))
      }
    }
    // Everything up to there was told elsewhere; this host reads from `first` on, and the last few come live.
    let seen = below(UInt64(places.count))
    let first = below(UInt64(places.count))
    let present = max(seen, places.count - 1 - below(3))
    let (epoch, sequence) = (places[seen].epoch, Int(places[seen].number))
    harness.client().call("subscribe", #"{"upstream":"chat"}"#)
    let client = arrival == .unreached ? subscribeUnreached(epoch, sequence) : harness.client()
    var early: [String] = []
    if arrival == .early { early = subscribe(client, epoch, sequence) }
    for index in places.indices {
      let place = places[index]
      if index >= first { emit(place.epoch, place.number...place.number) }
      if index == present {
        // The opening says so where nothing is kept.
        channel.place(EventPlace(epoch: place.epoch, sequence: place.number + 1, time: 0))
        tellPast()
        channel.accept()
      }
    }
    if arrival == .late {
      early = subscribe(client, epoch, sequence)
      tellPast()
    }
    harness.pass(.milliseconds(10))
    let lines = (early + told(client.read())).filter { $0 != "answer" }
    let wanted = places[max(first, seen + 1)...].map { "\($0.number)" }
    #expect(lines.filter { $0 != "gap" } == Array(wanted))
    let isWhole = first <= seen + 1 && !places[(seen + 1)...].contains { $0.isFirst }
    #expect(lines.contains("gap") != isWhole || wanted.isEmpty)
  }

  @Test func thoseThatComeWhileOthersWaitAreAskedForTogetherBehindThem() {
    let clients = (0..<3).map { _ in harness.client() }
    for client in clients { #expect(subscribe(client, "e1", 2) == []) }
    #expect(channel.pastRequests == 1)
    emit("e1", 1...2)
    channel.toldPast()
    harness.pass(.milliseconds(10))
    #expect(clients.map { told($0.read()) } == [["answer"], [], []])
    #expect(channel.pastRequests == 2)
    channel.toldPast()
    harness.pass(.milliseconds(10))
    #expect(clients.map { told($0.read()) } == [[], ["answer"], ["answer"]])
    #expect(channel.pastRequests == 2)
  }

  @Test func aCallThatIsCancelledOrReplacedWaitsNoLonger() {
    let client = harness.client()
    #expect(subscribe(client, "e1", 2) == [])
    #expect(subscribe(client, "e1", 3, call: 2) == ["error"])
    emit("e1", 1...4)
    channel.toldPast()
    channel.toldPast()
    #expect(told(client.read()) == ["answer", "4"])
  }
}
