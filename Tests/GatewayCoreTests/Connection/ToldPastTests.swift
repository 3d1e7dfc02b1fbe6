import Testing

@testable import GatewayCore

/// A `subscribe` behind a place that was reached elsewhere, and not here yet.
@Suite struct ToldPastTests {
  private let rig = ToldPastRig()
  private var harness: GatewayHarness { rig.harness }
  private var channel: FakeChannel { rig.channel }

  @Test func whoIsAheadOfAHostThatHasJustStartedIsToldNothingTwice() {
    let client = harness.client()
    #expect(rig.subscribe(client, "e1", 2) == [])
    #expect(channel.pastRequests == 1)
    rig.emit("e1", 1...3)
    channel.accept()
    #expect(rig.told(client.read()) == [])
    channel.toldPast()
    #expect(rig.told(client.read()) == ["answer", "3"])
    rig.emit("e1", 4...4)
    #expect(rig.told(client.read()) == ["4"])
  }

  @Test func theFirstProgramOfAHostIsToldTheEpochByTheAnswerAndHearsOfNoGap() {
    let client = harness.client()
    #expect(rig.told(client.call("subscribe", #"{"upstream":"chat"}"#)) == [])
    rig.emit("e0", 3...4)
    rig.emit("e1", 5...6)
    channel.accept()
    channel.toldPast()
    rig.emit("e1", 7...8)
    let lines = client.read()
    #expect(rig.told(lines) == ["answer", "7", "8"])
    #expect(lines.first?.contains(#""epoch":"e1","seq":6,"recovered":true"#) == true, "\(lines)")
  }

  /// It hears why it is told of another epoch.
  @Test func aProgramOfAHostThatReadsTooLateIsNotToldTheWholePastAsNew() {
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    harness.pass(.seconds(2))
    #expect(rig.told(client.read()) == ["answer"])
    rig.emit("e0", 3...4)
    rig.emit("e1", 5...6)
    rig.tellPast()
    channel.accept()
    #expect(rig.told(client.read()) == [])
    rig.emit("e1", 7...8)
    let lines = client.read()
    #expect(rig.told(lines) == ["gap", "7", "8"])
    #expect(lines.first?.contains(#""epoch":"e1""#) == true && lines.first?.contains(#""seq":6"#) == true, "\(lines)")
    #expect(lines.first?.contains("this host has just begun to read what its fleet has") == true, "\(lines)")
    // From now on it has a place.
    channel.fail(.fleet)
    harness.pass(.seconds(2))
    channel.isRecovered = true
    rig.emit("e1", 9...10)
    #expect(rig.told(client.read()) == ["9", "10"])
  }

  @Test func whatIsMissingBehindThePastIsToldToAProgramOfAHostThatHasJustStarted() {
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    harness.pass(.seconds(2))
    client.read()
    rig.emit("e1", 5...6)
    rig.emit("e1", 9...9)
    rig.tellPast()
    channel.accept()
    rig.emit("e1", 12...12)
    #expect(rig.told(client.read()) == ["gap", "gap", "12"])
  }

  /// A host whose link is elsewhere told what came while nobody used it.
  @Test func aNewProgramIsNotToldAsNewWhatCameWhileNobodyUsedTheHost() {
    rig.closeByIdleness()
    let client = harness.client()
    #expect(rig.told(client.call("subscribe", #"{"upstream":"chat"}"#)) == [])
    rig.emit("e1", 4...6)
    channel.accept()
    channel.toldPast()
    rig.emit("e1", 7...7)
    let lines = client.read()
    #expect(rig.told(lines) == ["answer", "7"])
    #expect(lines.first?.contains(#""epoch":"e1","seq":6"#) == true, "\(lines)")
  }

  @Test func aNewProgramOfAHostThatWasNotUsedHearsOfNoGapWhereTheEpochGoesOn() {
    rig.closeByIdleness()
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    harness.pass(.seconds(2))
    #expect(rig.told(client.read()) == ["answer"])
    rig.emit("e1", 4...6)
    channel.accept()
    rig.tellPast()
    rig.emit("e1", 7...7)
    #expect(rig.told(client.read()) == ["7"])
  }

  @Test func theLastEventsOfAHostThatWasNotUsedAreThoseOfNow() {
    rig.closeByIdleness()
    let client = harness.client()
    #expect(rig.told(client.call("subscribe", #"{"upstream":"chat","last":1}"#)) == [])
    rig.emit("e1", 4...6)
    channel.toldPast()
    #expect(rig.told(client.read()) == ["answer", "6"])
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
    #expect(rig.told(client.read()) == ["1", "2", "3", "4", "5"])
    reload(pastLimit: .seconds(10))
    #expect(channel.pastRequests == 1)
    rig.emit("e1", 1...3)
    channel.accept()
    channel.toldPast()
    #expect(rig.told(client.read()) == [])
    rig.emit("e1", 4...5)
    let lines = client.read()
    #expect(rig.told(lines) == ["gap", "4", "5"])
    #expect(lines.first?.contains(#""epoch":"e1""#) == true && lines.first?.contains(#""seq":3"#) == true, "\(lines)")
  }

  @Test func aProgramThatIsToldNothingOfThePastHearsWhatComesWhereItsUpstreamLeavesTheFleet() {
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    harness.pass(.seconds(2))
    #expect(rig.told(client.read()) == ["answer"])
    reload(pastLimit: nil)
    channel.accept()
    channel.emit("e")
    #expect(rig.told(client.read()) == ["gap", "1"])
  }

  /// What waits for the fleet waits no longer than programs do for an answer.
  @Test func aNewProgramDoesNotWaitWhereAnAttemptHasFailed() {
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    channel.fail(.fleet)
    #expect(rig.told(client.read()) == ["answer"])
    #expect(rig.told(harness.client().call("subscribe", #"{"upstream":"chat"}"#)) == ["answer"])
  }

  @Test func theLastEventsAreToldWhenTheHostHasReadThem() {
    let client = harness.client()
    #expect(rig.told(client.call("subscribe", #"{"upstream":"chat","last":2}"#)) == [])
    rig.emit("e1", 1...3)
    channel.toldPast()
    #expect(rig.told(client.read()) == ["answer", "2", "3"])
    let other = harness.client()
    #expect(rig.told(other.call("subscribe", #"{"upstream":"chat","last":1}"#)) == [])
    harness.pass(.seconds(11))
    #expect(rig.told(other.read()) == ["answer"])
    rig.emit("e1", 4...4)
    rig.tellPast()
    rig.emit("e1", 5...5)
    #expect(rig.told(other.read()) == ["gap", "5"])
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
    rig.emit("e1", 1...3)
    rig.tellPast()
    channel.accept()
    #expect(rig.told(client.read()) == [])
    // Who asks for nothing of the past may be strict.
    #expect(rig.told(harness.client().call("subscribe", #"{"upstream":"chat","strict":true}"#)) == ["answer"])
  }

  @Test func whoIsAheadOfAHostThatIsBehindByAMomentIsToldNothingTwice() {
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    rig.emit("e1", 1...1)
    channel.accept()
    let other = harness.client()
    #expect(rig.subscribe(other, "e1", 2) == [])
    rig.emit("e1", 2...3)
    rig.tellPast()
    #expect(rig.told(other.read()) == ["answer", "3"])
  }

  @Test func aPlaceThatThereNeverWasIsAGapWhenThePastIsTold() {
    let client = harness.client()
    #expect(rig.subscribe(client, "e9", 2) == [])
    rig.emit("e1", 1...1)
    channel.toldPast()
    #expect(rig.told(client.read()) == ["answer", "gap", "1"])
  }

  @Test func aPlaceThatIsKnownWaitsForNothing() {
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    rig.emit("e1", 1...2)
    rig.tellPast()
    let requests = channel.pastRequests
    #expect(rig.subscribe(harness.client(), "e1", 1) == ["answer", "2"])
    #expect(channel.pastRequests == requests)
  }

  @Test func anAttemptThatFailsEndsTheWaiting() {
    let client = harness.client()
    #expect(rig.subscribe(client, "e1", 2) == [])
    channel.fail(.fleet)
    #expect(rig.told(client.read()) == ["answer"])
  }

  @Test func noCallWaitsForLongerThanItsLimit() {
    let client = harness.client()
    #expect(rig.subscribe(client, "e1", 2) == [])
    harness.pass(.seconds(9))
    #expect(rig.told(client.read()) == [])
    harness.pass(.seconds(2))
    #expect(rig.told(client.read()) == ["answer"])
  }

  @Test func aConversationThatEndsLeavesTheWaitingToTheNextOne() {
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    rig.emit("e1", 1...1)
    channel.accept()
    let other = harness.client()
    #expect(rig.subscribe(other, "e2", 2) == [])
    channel.fail(.fleet)
    harness.pass(.seconds(2))
    #expect(channel.pastRequests == 1)
    rig.emit("e2", 2...3)
    channel.toldPast()
    #expect(rig.told(other.read()) == ["answer", "3"])
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
    let client = arrival == .unreached ? rig.subscribeUnreached(epoch, sequence) : harness.client()
    var early: [String] = []
    if arrival == .early { early = rig.subscribe(client, epoch, sequence) }
    for index in places.indices {
      let place = places[index]
      if index >= first { rig.emit(place.epoch, place.number...place.number) }
      if index == present {
        // The opening says so where nothing is kept.
        channel.place(EventPlace(epoch: place.epoch, sequence: place.number + 1, time: 0))
        rig.tellPast()
        channel.accept()
      }
    }
    if arrival == .late {
      early = rig.subscribe(client, epoch, sequence)
      rig.tellPast()
    }
    harness.pass(.milliseconds(10))
    let lines = (early + rig.told(client.read())).filter { $0 != "answer" }
    let wanted = places[max(first, seen + 1)...].map { "\($0.number)" }
    #expect(lines.filter { $0 != "gap" } == Array(wanted))
    let isWhole = first <= seen + 1 && !places[(seen + 1)...].contains { $0.isFirst }
    #expect(lines.contains("gap") != isWhole || wanted.isEmpty)
  }

  @Test func thoseThatComeWhileOthersWaitAreAskedForTogetherBehindThem() {
    let clients = (0..<3).map { _ in harness.client() }
    for client in clients { #expect(rig.subscribe(client, "e1", 2) == []) }
    #expect(channel.pastRequests == 1)
    rig.emit("e1", 1...2)
    channel.toldPast()
    harness.pass(.milliseconds(10))
    #expect(clients.map { rig.told($0.read()) } == [["answer"], [], []])
    #expect(channel.pastRequests == 2)
    channel.toldPast()
    harness.pass(.milliseconds(10))
    #expect(clients.map { rig.told($0.read()) } == [[], ["answer"], ["answer"]])
    #expect(channel.pastRequests == 2)
  }

  @Test func aCallThatIsCancelledOrReplacedWaitsNoLonger() {
    let client = harness.client()
    #expect(rig.subscribe(client, "e1", 2) == [])
    #expect(rig.subscribe(client, "e1", 3, call: 2) == ["error"])
    rig.emit("e1", 1...4)
    channel.toldPast()
    channel.toldPast()
    #expect(rig.told(client.read()) == ["answer", "4"])
  }
}
