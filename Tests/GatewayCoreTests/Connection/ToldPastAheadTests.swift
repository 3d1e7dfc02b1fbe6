import Testing

@testable import GatewayCore

/// A `subscribe` behind a place that this host cannot reach in time, and what it is told later.
@Suite struct ToldPastAheadTests {
  private let rig = ToldPastRig()
  private var harness: GatewayHarness { rig.harness }
  private var channel: FakeChannel { rig.channel }

  /// A subscription behind 3, made while nothing more than 1 has come and no attempt succeeds.
  private func subscribeAhead(_ sequence: Int = 3) -> HarnessClient {
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    rig.emit("e1", 1...1)
    channel.accept()
    channel.fail(.fleet)
    let other = harness.client()
    #expect(rig.subscribe(other, "e1", sequence) == [])
    while harness.upstream.channels.count < 2 { harness.pass(.seconds(1)) }
    channel.fail(.fleet)
    #expect(rig.told(other.read()) == ["answer"])
    while harness.upstream.channels.count < 3 { harness.pass(.seconds(1)) }
    channel.isRecovered = true
    return other
  }

  @Test func whatWasToldElsewhereIsPassedOverWhenItComes() {
    let client = subscribeAhead()
    rig.emit("e1", 2...3)
    channel.toldPast()
    channel.accept()
    rig.emit("e1", 4...5)
    #expect(rig.told(client.read()) == ["4", "5"])
  }

  @Test func ofAGapThatBeginsBeforeThePlaceTheRestIsTold() {
    let client = subscribeAhead()
    rig.emit("e1", 6...6)
    let lines = client.read()
    #expect(rig.told(lines) == ["gap", "6"])
    #expect(lines.first?.contains(#""from":4,"to":5,"count":2"#) == true)
  }

  @Test func anotherEpochEndsWhatIsPassedOver() {
    let client = subscribeAhead()
    rig.emit("e2", 4...5)
    #expect(rig.told(client.read()) == ["gap", "4", "5"])
  }

  @Test func aPlaceThatTurnsOutToBeNoneIsAGapAtTheNextEvent() {
    let client = subscribeAhead(9)
    rig.emit("e1", 2...2)
    channel.toldPast()
    channel.accept()
    #expect(rig.told(client.read()) == [])
    rig.emit("e1", 3...4)
    #expect(rig.told(client.read()) == ["gap", "3", "4"])
  }

  @Test func aReadingThatBeganBeforeRefutesNoPlace() {
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    rig.emit("e1", 1...1)
    channel.accept()
    #expect(rig.subscribe(harness.client(), "e1", 2) == [])
    harness.pass(.seconds(9))
    let other = harness.client()
    #expect(rig.subscribe(other, "e1", 3) == [])
    harness.pass(.seconds(11))
    #expect(rig.told(other.read()) == ["answer"])
    // It answers what the first of the two asked.
    channel.toldPast()
    #expect(channel.pastRequests == 2)
    rig.emit("e1", 2...4)
    channel.toldPast()
    #expect(rig.told(other.read()) == ["4"])
  }

  @Test func aProgramOfAHostThatStartedWithoutRedisIsNotTold213After271() {
    let client = rig.subscribeUnreached("e1", 271)
    rig.emit("e0", 200...205)
    rig.emit("e1", 213...275)
    channel.toldPast()
    channel.accept()
    rig.emit("e1", 276...276)
    #expect(rig.told(client.read()) == (272...276).map(String.init))
  }

  @Test func whereTheEpochOfThePlaceIsNotKeptHigherNumbersAreToldBehindAGap() {
    let client = rig.subscribeUnreached("e2", 7)
    rig.emit("e1", 5...6)
    rig.emit("e3", 9...10)
    channel.toldPast()
    #expect(rig.told(client.read()) == ["gap", "9", "10"])
  }

  @Test func whereRedisHasLostAllEventsAreToldAgainBehindAGap() {
    let client = rig.subscribeUnreached("e1", 271)
    rig.emit("e9", 1...2)
    rig.tellPast()
    channel.accept()
    rig.emit("e9", 3...4)
    #expect(rig.told(client.read()) == ["gap", "3", "4"])
  }

  @Test func whoIsAtTheBeginningOfAnEpochIsToldOfNoGap() {
    let client = rig.subscribeUnreached("e1", 0)
    rig.emit("e1", 1...2)
    channel.toldPast()
    #expect(rig.told(client.read()) == ["1", "2"])
  }

  @Test func whoIsStrictIsRefusedWhereThePastIsNotReached() {
    let client = harness.client()
    let since = #"{"epoch":"e1","seq":2}"#
    client.call("subscribe", #"{"upstream":"chat","subscription":"s","since":\#(since),"strict":true}"#)
    harness.pass(.seconds(11))
    #expect(rig.told(client.read()) == ["error"])
  }
}
