import Testing

@testable import GatewayCore

@Suite struct FleetChannelTests {
  private let rig = FleetChannelRig()
  private var scene: FleetScene { rig.scene }
  private var owner: FleetOwner { rig.owner }
  private var link: FleetLink { rig.link }

  @Test func aChannelOpensWhenEverythingUpToNowIsRead() {
    let own = scene.take("b")
    let conversation = scene.open(own)
    scene.say(FleetPosition(conversation, 1), "1")
    _ = rig.dial()
    #expect(owner.takeAll() == ["e1/1 1", "opened"])
    scene.say(FleetPosition(conversation, 2), "2")
    scene.settle()
    #expect(owner.takeAll() == ["e1/2 2"])
  }

  private func refuseReading(_ isRefused: Bool) {
    scene.engine.refusals[scene.place] = isRefused ? UpstreamFailure(.refused, "r:1 refuses XREAD") : nil
    scene.engine.unreadableStreams = isRefused ? [scene.place.key(.events)] : []
    scene.settle()
  }

  @Test func aHostThatMayNotReadEventsIsNotConnectedForGood() {
    let conversation = scene.open(scene.take("b"))
    let channel = rig.dial()
    refuseReading(true)
    scene.turn(by: .seconds(9))
    #expect(owner.takeAll() == ["opened"] && channel.state == .away(conversation))
    scene.turn(by: .seconds(2))
    #expect(owner.takeAll() == ["ended: fleet, r:1 refuses XREAD"])
  }

  @Test func aHostThatMayReadEventsAgainInTimeGoesOn() {
    let conversation = scene.open(scene.take("b"))
    let channel = rig.dial()
    refuseReading(true)
    channel.write(rig.message("one"), ack: nil)
    scene.say(FleetPosition(conversation, 1), "1")
    scene.turn(by: .seconds(5))
    #expect(owner.takeAll() == ["opened"])
    refuseReading(false)
    scene.turn(by: .seconds(1))
    #expect(owner.takeAll() == ["e1/1 1"] && channel.state == .open(conversation))
    #expect(rig.said == ["\(conversation)/1 one"])
  }

  @Test func aWrongPasswordBehindARefusedConnectionIsTheReasonThatIsTold() {
    scene.take("b")
    scene.engine.way.isOpen = false
    scene.engine.cut()
    scene.engine.miss(UpstreamFailure(.unreachable, "connection refused"))
    _ = rig.dial()
    #expect(owner.takeAll() == ["waits: fleet, connection refused"])
    scene.engine.miss(UpstreamFailure(.unreachable, "connection refused"))
    scene.engine.miss(UpstreamFailure(.refused, "WRONGPASS"))
    #expect(owner.takeAll() == ["waits: fleet, WRONGPASS"])
  }

  @Test func aChannelWaitsForAConversation() {
    _ = scene.take("b")
    let channel = rig.dial()
    #expect(channel.state == .waiting)
    scene.open(FleetOwn(term: 1, host: "b"))
    scene.settle()
    #expect(owner.takeAll() == ["opened"])
  }

  @Test func whatAnEarlierHolderSaidOfItsLinkDoesNotCountForTheNext() {
    let own = scene.take("b")
    let trouble = FleetTrouble(UpstreamFailure(.refused, "no such room"), of: own)
    scene.run(FleetBeat(place: scene.place, own: own, trouble: trouble))
    _ = rig.dial()
    scene.turn(by: .seconds(1))
    let sentence = "waits: refused, b, which has the fleet's link, is not connected: no such room"
    #expect(owner.takeAll() == [sentence])
    // A holder of an earlier version leaves what the lease has of the one before.
    scene.take("c")
    scene.turn(by: .seconds(3))
    #expect(owner.takeAll() == [])
    #expect(link.roster.record?.trouble == nil && scene.store.text(scene.place.key(.lease), "why")?.isEmpty == false)
  }

  @Test func whatIsSaidOfALinkIsBounded() {
    let own = FleetOwn(term: 1, host: "b")
    let trouble = FleetTrouble(UpstreamFailure(.closed, String(repeating: "x", count: 3_000)), of: own)
    #expect(trouble.bytes.count < 1_200 && FleetTrouble(trouble.bytes) == trouble)
    #expect(FleetTrouble(trouble.bytes + Array(repeating: 0x61, count: 4_096)) == nil)
  }

  @Test func theLongestRefusalIsReadByHostsOfBefore() {
    let own = FleetOwn(term: .max, host: String(repeating: "h", count: FleetUpEntry.hostLimit))
    let long = String(repeating: "x", count: 3_000)
    let data = Array(("\"" + String(repeating: "x", count: FleetServerWords.dataLimit - 2) + "\"").utf8)
    let failure = UpstreamFailure(.refused, long, status: 1_013, serverMessage: long, serverData: data)
    let trouble = FleetTrouble(failure, of: own)
    #expect(trouble.words.data == data && trouble.failure.serverMessage == failure.serverMessage)
    #expect(trouble.bytes.count <= 4_096 && FleetTrouble(trouble.bytes) == trouble)
  }

  @Test func dataOfARefusalThatIsTooLongForTheLeaseIsLeftOut() {
    let data = Array(("\"" + String(repeating: "x", count: FleetServerWords.dataLimit) + "\"").utf8)
    let failure = UpstreamFailure(.refused, "no", serverMessage: "no", serverData: data)
    let trouble = FleetTrouble(failure, of: FleetOwn(term: 1, host: "b"))
    #expect(trouble.words.message == "no" && trouble.words.data == nil)
  }

  @Test func wordsInWhichTheCredentialsStandAreNotToldToOtherHosts() {
    var failure = UpstreamFailure(.refused, "no s3cret", serverMessage: "no s3cret", serverData: Array("1".utf8))
    failure.repeatsCredentials = true
    let trouble = FleetTrouble(failure, of: FleetOwn(term: 1, host: "b"))
    #expect(trouble.words == FleetServerWords() && !trouble.detail.contains("s3cret"))
    #expect(trouble.reason == .refused)
  }

  @Test func aProgramThatComesLaterIsToldOfTheRefusalAsWell() {
    let trouble = FleetTrouble(UpstreamFailure(.refused, "no"), of: scene.take("b"))
    scene.run(FleetBeat(place: scene.place, own: trouble.own, trouble: trouble))
    let channel = rig.dial()
    scene.turn(by: .seconds(1))
    let sentence = "waits: refused, b, which has the fleet's link, is not connected: no"
    #expect(owner.takeAll() == [sentence])
    var hurries = 0
    link.onHurry = { hurries += 1 }
    channel.hurry()
    channel.hurry()
    #expect(owner.takeAll() == [])
    scene.settle()
    #expect(owner.takeAll() == [sentence] && hurries == 1)
  }

  @Test func aChannelThatWaitsInVainSaysWhatTheEngineRefuses() {
    let channel = rig.dial()
    let failure = UpstreamFailure(.refused, "r:1 refuses TAKE")
    link.engineRefused(failure, of: FleetPlace(fleet: "f", upstream: "another"))
    #expect(owner.takeAll() == [])
    link.engineRefused(failure, of: scene.place)
    #expect(owner.takeAll() == ["waits: fleet, r:1 refuses TAKE"] && channel.state == .waiting)
  }

  @Test func whatIsRefusedInTurnIsNotToldEachTime() {
    let channel = rig.dial()
    for round in 1...3 {
      for call in ["ALIVE", "BEAT", "PUT"] {
        // The engine has what it refuses in an order of its own.
        scene.engine.refusals[scene.place] = UpstreamFailure(.refused, "r:1 refuses ALIVE")
        link.engineRefused(UpstreamFailure(.refused, "r:1 refuses \(call)"), of: scene.place)
        link.roster.onLook()
      }
      #expect(owner.takeAll() == (round == 1 ? ["waits: fleet, r:1 refuses ALIVE"] : []))
    }
    // It is over: no other attempt is needed.
    scene.engine.refusals = [:]
    scene.open(scene.take("b"))
    scene.settle()
    #expect(owner.takeAll() == ["opened"] && channel.isOpen)
  }

  @Test func aChannelThatReachesNothingSaysWhy() {
    scene.engine.way.isOpen = false
    scene.engine.cut()
    scene.settle()
    scene.engine.failure = UpstreamFailure(.unreachable, "r:1: connection refused")
    _ = rig.dial()
    scene.turn(by: scene.settings.handshake)
    #expect(owner.takeAll() == ["waits: fleet, r:1: connection refused", "ended: fleet, r:1: connection refused"])
  }

  @Test func theHoldersReasonIsToldWhereItsLinkEnds() {
    let own = scene.take("b")
    scene.open(own)
    let channel = rig.dial()
    scene.run(
      FleetDown(place: scene.place, own: own, epoch: "e1", sequence: 0, reason: "kicked", detail: "the server said no"))
    scene.settle()
    #expect(owner.takeAll() == ["opened", "ended: kicked, the server said no"])
    #expect(channel.state == .ended)
  }

  @Test func aChannelEndsWhenTheEngineStaysAwayForTheGrace() {
    let own = scene.take("b")
    scene.open(own)
    _ = rig.dial()
    scene.engine.way.isOpen = false
    scene.engine.cut()
    scene.turn(by: .seconds(9))
    #expect(owner.takeAll() == ["opened"])
    scene.turn(by: .seconds(2))
    #expect(owner.takeAll() == ["ended: fleet, the link to the store broke"])
  }

  @Test func aHostThatWasAwayTakesPartInTheConversationThatGoesOn() {
    let own = scene.take("b")
    let conversation = scene.open(own)
    let first = rig.dial()
    scene.engine.way.isOpen = false
    scene.engine.cut()
    scene.turn(by: .seconds(11))
    #expect(first.state == .ended)
    scene.engine.way.isOpen = true
    scene.turn(by: .seconds(1))
    #expect(rig.dial().state == .open(conversation))
  }

  private static let silence =
    "ended: fleet, the fleet's link was b's, of which nothing was heard for longer than it would keep it"

  @Test func aChannelEndsWhenNothingIsHeardOfTheHolderForLongerThanItKeepsItsLink() {
    scene.open(scene.take("b"))
    _ = rig.dial()
    scene.turn(by: .seconds(13))
    #expect(owner.takeAll() == ["opened"])
    scene.turn(by: .seconds(2))
    #expect(owner.takeAll() == [Self.silence])
    // Nobody takes anything there: another one waits for a holder.
    let next = rig.dial()
    scene.turn(by: .seconds(5))
    #expect(next.state == .waiting)
    let conversation = scene.open(scene.take("c"))
    scene.settle()
    #expect(next.state == .open(conversation))
  }

  @Test func aHostIsConnectedForAsLongAsTheHolderBeats() {
    let own = scene.take("b")
    let conversation = scene.open(own)
    let channel = rig.dial()
    for _ in 0..<20 {
      scene.turn(by: .seconds(2))
      scene.run(FleetBeat(place: scene.place, own: own))
    }
    #expect(channel.state == .open(conversation))
  }

  /// - Parameter beat: what the server shows that was away: it has lost some, or took one that this host has not seen.
  @Test(arguments: ["0", "1", "2"])
  func aHostThatReachesTheEngineBeforeTheHolderGivesNothingToALinkThatMayHaveBeenCut(_ beat: String) {
    let own = scene.take("b")
    let conversation = scene.open(own)
    _ = rig.dial()
    // The holder is seen twice.
    scene.run(FleetBeat(place: scene.place, own: own))
    scene.turn(by: .seconds(2))
    scene.engine.way.isOpen = false
    scene.engine.cut()
    scene.turn(by: .seconds(16))
    scene.store.set(scene.place.key(.lease), ["beat": beat])
    scene.engine.way.isOpen = true
    scene.turn(by: .seconds(1))
    let channel = rig.dial()
    scene.turn(by: .seconds(2))
    #expect(channel.state == .waiting)
    // It has, and its end is not said yet.
    let cut = UpstreamFailure(.fleet, "the holder closed its link")
    scene.run(FleetBeat(place: scene.place, own: own, trouble: FleetTrouble(cut, of: own)))
    scene.turn(by: .seconds(2))
    #expect(channel.state == .waiting)
    scene.run(FleetBeat(place: scene.place, own: own))
    scene.turn(by: .seconds(2))
    #expect(channel.state == .open(conversation))
  }

  @Test func aHostThatAloneWasAwayForLongIsConnectedAtOnce() {
    let own = scene.take("b")
    let conversation = scene.open(own)
    _ = rig.dial()
    scene.turn(by: .seconds(2))
    scene.engine.way.isOpen = false
    scene.engine.cut()
    for _ in 0..<20 {
      scene.turn(by: .seconds(1))
      scene.run(FleetBeat(place: scene.place, own: own))
    }
    scene.engine.way.isOpen = true
    scene.turn(by: .milliseconds(500))
    #expect(rig.dial().state == .open(conversation))
  }

  @Test func aHostThatStoodStillDoesNotTakeTheHolderForSilent() {
    let own = scene.take("b")
    let conversation = scene.open(own)
    let channel = rig.dial()
    // The answer to its last look is there already, and is read when the process goes on.
    scene.engine.way.delay = 100...100
    scene.turn(by: .milliseconds(1_150))
    scene.time.advance(by: .seconds(20))
    scene.run(FleetBeat(place: scene.place, own: own))
    scene.turn(by: .seconds(1))
    #expect(channel.state == .open(conversation))
  }

  @Test func aHostStaysAwayFromAnEngineWithoutTheCopiesThatAreWanted() {
    let own = scene.take("b")
    scene.open(own)
    let channel = rig.dial()
    (scene.engine.copies, scene.engine.isCopied) = (1, false)
    for _ in 0..<10 where channel.state != .ended {
      // A master whose replicas stand still is reached again and again.
      scene.engine.cut()
      scene.turn(by: .seconds(1))
      scene.run(FleetBeat(place: scene.place, own: own))
    }
    #expect(channel.state == .ended)
    scene.engine.isCopied = true
    scene.turn(by: .seconds(5))
    if case .open = rig.dial().state {} else { Issue.record("it takes no part again") }
  }

  @Test func aHostWhoseSignOfLifeIsCopiedLateIsConnectedSoon() {
    let conversation = scene.open(scene.take("b"))
    let channel = rig.dial()
    (scene.engine.copies, scene.engine.uncopied) = (1, [.alive])
    scene.engine.cut()
    scene.turn(by: .milliseconds(500))
    #expect(channel.state == .away(conversation))
    scene.engine.uncopied = []
    scene.turn(by: .milliseconds(1_200))
    #expect(channel.state == .open(conversation))
  }

  @Test func whyThereWasNoLinkIsNotSaidOfOneThatIsOpen() {
    let own = scene.take("b")
    let trouble = FleetTrouble(UpstreamFailure(.refused, "no such room"), of: own)
    scene.run(FleetBeat(place: scene.place, own: own, trouble: trouble))
    let conversation = scene.open(own)
    let channel = rig.dial()
    scene.turn(by: .seconds(2))
    #expect(channel.state == .open(conversation) && link.roster.record?.trouble == nil)
  }

  @Test func aHostThatWasTakenForDeadBecauseAllIsLostWaitsForAHolder() {
    scene.open(scene.take("b"))
    _ = rig.dial()
    scene.store.flush()
    scene.turn(by: .seconds(12))
    let channel = rig.dial()
    scene.turn(by: .seconds(1))
    #expect(channel.state == .waiting)
  }

  @Test func aChannelThatIsAskedReadsUpToNowOnceMore() {
    let conversation = scene.open(scene.take("b"))
    let channel = rig.dial()
    scene.say(FleetPosition(conversation, 1), "1")
    channel.tellPast()
    #expect(owner.pasts == 0)
    scene.settle()
    #expect(owner.pasts == 1)
    #expect(owner.takeAll() == ["opened", "e1/1 1"])
  }

  @Test func whatAReplacedMasterHasIsNotAllThatThereIs() {
    scene.open(scene.take("b"))
    let channel = rig.dial()
    (scene.engine.copies, scene.engine.isCopied) = (1, false)
    channel.tellPast()
    scene.turn(by: .seconds(5))
    #expect(owner.pasts == 0)
    scene.engine.isCopied = true
    scene.turn(by: .seconds(1))
    #expect(owner.pasts == 1)
  }

  @Test func whatAHostReadsThatWasAwayIsNoNewsUntilItHasReadAll() {
    scene.open(scene.take("b"))
    let channel = rig.dial()
    #expect(channel.isCurrent)
    scene.engine.way.isOpen = false
    scene.engine.cut()
    scene.turn(by: .seconds(1))
    #expect(!channel.isCurrent)
    scene.engine.way.isOpen = true
    scene.turn(by: .seconds(1))
    #expect(channel.isCurrent)
  }

  @Test func aChannelThatIsAskedWhileTheEngineIsAwayReadsWhenItIsBack() {
    scene.open(scene.take("b"))
    let channel = rig.dial()
    scene.engine.way.isOpen = false
    scene.engine.cut()
    channel.tellPast()
    scene.turn(by: .seconds(1))
    #expect(owner.pasts == 0)
    scene.engine.way.isOpen = true
    scene.turn(by: .seconds(1))
    #expect(owner.pasts == 1)
  }

  @Test func onlyTheHostThatIsAskedHearsAQuestion() {
    let own = scene.take("b")
    let conversation = scene.open(own)
    _ = rig.dial()
    for (number, host) in [(1, "a"), (2, "b")] {
      let head = FleetEvent.Head(time: 1, question: .init(id: 7, host: host))
      let event = FleetEvent(head: head, name: Array("\"q\"".utf8), arguments: [], kwargs: nil)
      _ = scene.store.append(
        FleetEntry.event(event).fields, to: scene.place.key(.events), at: FleetPosition(conversation, UInt64(number)))
    }
    scene.settle()
    #expect(owner.takeAll() == ["opened", "e1/1  asks 7", "e1/2 "])
  }
}
