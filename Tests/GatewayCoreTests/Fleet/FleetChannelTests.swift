import Testing

@testable import GatewayCore

@Suite struct FleetChannelTests {
  private let scene = FleetScene()
  private let owner = FleetOwner()
  private let link: FleetLink

  init() {
    link = FleetLink(scene.settings, engine: scene.engine, timers: scene.timers)
    scene.settle()
  }

  private func dial() -> FleetChannel {
    let channel = link.dial(owner: owner)
    owner.channel = channel
    scene.settle()
    return channel
  }

  private func message(_ text: String) -> PreparedMessage { PreparedMessage(event: "m", body: Array(text.utf8)) }

  /// What this host has said: conversation, number and body.
  private var said: [String] {
    scene.store.records(of: scene.place.key(.up), after: .start).compactMap { FleetUpEntry($0.fields) }.map { entry in
      guard case .write(let message, _, _) = entry.call else { return "\(entry.conversation)/\(entry.number)" }
      return "\(entry.conversation)/\(entry.number) \(String(decoding: message.body, as: UTF8.self))"
    }
  }

  @Test func aChannelOpensWhenEverythingUpToNowIsRead() {
    let own = scene.take("b")
    let conversation = scene.open(own)
    scene.say(FleetPosition(conversation, 1), "1")
    _ = dial()
    #expect(owner.takeAll() == ["e1/1 1", "opened"])
    scene.say(FleetPosition(conversation, 2), "2")
    scene.settle()
    #expect(owner.takeAll() == ["e1/2 2"])
  }

  @Test func whatTheHolderRefusesIsTheCallThatWasSaidUnderThatNumber() {
    let own = scene.take("b")
    let conversation = scene.open(own)
    let channel = dial()
    channel.write(message("1"), ack: 3)
    channel.write(message("2"), ack: 2)
    channel.write(message("3"), ack: nil)
    channel.answer(9, message("4"))
    _ = owner.takeAll()
    let problem = MessageProblem.tooLarge(limit: 100, size: 101)
    for (place, number) in zip(1..., [2, 3, 4, 5] as [UInt64]) {
      let reply = FleetReplyEntry(.refused(number: number, problem), life: 1)
      let record = FleetRecord(position: FleetPosition(conversation, UInt64(place)), fields: reply.fields)
      scene.run(FleetDone(place: scene.place, own: own, host: "a", reply: record))
    }
    scene.settle()
    let end = "it has 101 bytes, and the server takes at most 100"
    #expect(owner.takeAll() == ["refused awaiting(ack: 2): \(end)", "refused handedOver(number: 3): \(end)"])
  }

  @Test func whatIsEnteredAndLeftIsSaidAsSuchAndMayBeRefused() {
    let own = scene.take("b")
    let conversation = scene.open(own)
    let channel = dial()
    let leave = PreparedLeave(message: message("quit"), wantsAck: true)
    channel.enter(message("join"), ack: 3, leave: leave)
    channel.leave(leave, of: message("join"))
    _ = owner.takeAll()
    scene.settle()
    #expect(channel.sharesEntered && channel.unsentBytes == 20)
    let entries = scene.store.records(of: scene.place.key(.up), after: .start).compactMap { FleetUpEntry($0.fields) }
    #expect(entries.map(\.call) == [.enter(message("join"), ack: 3, leave: leave), .leave(leave, of: message("join"))])
    for number in 1...2 as ClosedRange<UInt64> {
      let reply = FleetReplyEntry(.refused(number: number, .invalid("no")), life: 1)
      let record = FleetRecord(position: FleetPosition(conversation, number), fields: reply.fields)
      scene.run(FleetDone(place: scene.place, own: own, host: "a", reply: record))
    }
    scene.settle()
    let told = owner.takeAll()
    #expect(told.count == 1 && told.first?.hasPrefix("refused awaiting(ack: 3)") == true)
  }

  /// What this host has said of what it wants.
  private var saidInterests: [FleetUpEntry.Call] {
    scene.store.records(of: scene.place.key(.up), after: .start).compactMap { FleetUpEntry($0.fields)?.call }
  }

  @Test func thousandsOfInterestsAreSaidAndTakenBackInPortions() {
    scene.open(scene.take("b"))
    let channel = link.dial(owner: owner)
    owner.channel = channel
    let interests = (1...1_300).map { Interest(.name(ExactText("\($0)"))) }
    for interest in interests { channel.want(interest) }
    // The first one before it is said at all.
    channel.drop(interests[0])
    let most = scene.settleCountingCalls()
    #expect(most >= FleetChannel.interestPortion && most <= FleetChannel.interestPortion + 8)
    #expect(saidInterests == interests.dropFirst().map { FleetUpEntry.Call.want($0) })
    let before = scene.engine.appends
    for interest in interests { channel.drop(interest) }
    #expect(scene.engine.appends - before <= FleetChannel.interestPortion)
    scene.settle()
    #expect(Array(saidInterests.dropFirst(1_299)) == interests.dropFirst().map { FleetUpEntry.Call.drop($0) })
  }

  @Test func thousandsOfCallsAreSaidAgainInPortionsAndWhatIsNewBehindThem() {
    scene.open(scene.take("b"))
    let channel = dial()
    scene.engine.way.isOpen = false
    scene.engine.cut()
    for number in 1...2_500 { channel.write(message("\(number)"), ack: nil) }
    scene.engine.way.isOpen = true
    var most = 0
    while !channel.isOpen, let next = scene.timers.nextDeadline {
      if next > scene.time.now { scene.time.advance(by: next - scene.time.now) }
      let before = scene.engine.asked
      scene.timers.fire()
      most = max(most, scene.engine.asked - before)
    }
    channel.write(message("new"), ack: nil)
    #expect(max(most, scene.settleCountingCalls()) <= FleetTurn.limit.count + 8)
    let again = (1...2_500).map { "2/\($0) \($0)" }
    #expect(said == again + ["2/2501 new"])
  }

  @Test func anInterestThatWasRefusedIsSaidAgainForWhoeverWantsItNext() {
    scene.open(scene.take("b"))
    let channel = dial()
    let interest = Interest(.name(ExactText("news")))
    channel.want(interest)
    channel.want(interest)
    channel.drop(interest)
    scene.settle()
    #expect(saidInterests == [.want(interest), .want(interest), .drop(interest)])
  }

  @Test func aChannelWaitsForAConversation() {
    _ = scene.take("b")
    let channel = dial()
    #expect(channel.state == .waiting)
    scene.open(FleetOwn(term: 1, host: "b"))
    scene.settle()
    #expect(owner.takeAll() == ["opened"])
  }

  @Test func whatAnEarlierHolderSaidOfItsLinkDoesNotCountForTheNext() {
    let own = scene.take("b")
    let trouble = FleetTrouble(UpstreamFailure(.refused, "no such room"), of: own)
    scene.run(FleetBeat(place: scene.place, own: own, trouble: trouble))
    _ = dial()
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

  @Test func aChannelThatWaitsInVainSaysWhatTheEngineRefuses() {
    let channel = dial()
    let failure = UpstreamFailure(.refused, "r:1 refuses TAKE")
    link.engineRefused(failure, of: FleetPlace(fleet: "f", upstream: "another"))
    #expect(owner.takeAll() == [])
    link.engineRefused(failure, of: scene.place)
    #expect(owner.takeAll() == ["waits: fleet, r:1 refuses TAKE"] && channel.state == .waiting)
  }

  @Test func whatIsRefusedInTurnIsNotToldEachTime() {
    let channel = dial()
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
    _ = dial()
    scene.turn(by: scene.settings.handshake)
    #expect(owner.takeAll() == ["ended: fleet, r:1: connection refused"])
  }

  @Test func theHoldersReasonIsToldWhereItsLinkEnds() {
    let own = scene.take("b")
    scene.open(own)
    let channel = dial()
    scene.run(
      FleetDown(place: scene.place, own: own, epoch: "e1", sequence: 0, reason: "kicked", detail: "the server said no"))
    scene.settle()
    #expect(owner.takeAll() == ["opened", "ended: kicked, the server said no"])
    #expect(channel.state == .ended)
  }

  @Test func markersThatAreReadInBulkEndTheConversation() {
    let own = scene.take("b")
    let first = scene.open(own)
    let channel = dial()
    #expect(channel.state == .open(first))
    scene.engine.cut()
    let second = scene.open(scene.take("c"), epoch: "e2", sequence: 4)
    scene.say(FleetPosition(second, 5), "5")
    scene.turn(by: .seconds(1))
    #expect(owner.takeAll() == ["opened", "ended: fleet, another host of the fleet took the link over"])
    let next = dial()
    #expect(next.state == .open(second))
    #expect(owner.takeAll() == ["e2/5 5", "opened"])
  }

  /// Another host took the lease at a master that had been replaced already.
  @Test func aMarkerThatIsOnNoOtherServerIsForgottenWithIt() {
    let own = scene.take("b")
    let conversation = scene.open(own)
    scene.say(FleetPosition(conversation, 1), "1")
    _ = dial()
    scene.store.copyToReplica()
    _ = scene.take("c")
    scene.settle()
    #expect(
      owner.takeAll() == ["e1/1 1", "opened", "ended: fleet, another host of the fleet took the link over"])
    scene.store.failOver()
    let channel = dial()
    scene.turn(by: .seconds(1))
    #expect(channel.state == .open(conversation))
    scene.say(FleetPosition(conversation, 2), "2")
    scene.settle()
    #expect(owner.takeAll() == ["opened", "e1/2 2"])
  }

  /// One host took over at a master that had been replaced already, and another one at the new master.
  @Test func aConversationOfTheSameNumberAtAnotherServerIsAnotherOne() {
    scene.open(scene.take("b"))
    scene.store.copyToReplica()
    let lost = scene.open(scene.take("c"), epoch: "e2")
    let channel = dial()
    #expect(channel.state == .open(lost))
    channel.write(message("lost"), ack: nil)
    scene.store.failOver()
    let present = scene.open(scene.take("d"), epoch: "e3")
    #expect(present == lost)
    scene.turn(by: .seconds(1))
    #expect(owner.takeAll().last == "ended: fleet, the link of the fleet was opened anew")
    let next = dial()
    #expect(next.state == .open(present))
    next.write(message("new"), ack: nil)
    scene.settle()
    #expect(said == ["\(present)/1 new"])
  }

  @Test func numbersThatWereToldOfALostConversationAreToldOfTheOneInItsPlace() {
    scene.open(scene.take("b"))
    scene.store.copyToReplica()
    let lost = scene.open(scene.take("c"), epoch: "e2")
    _ = dial()
    for number in 1...3 as ClosedRange<UInt64> { scene.say(FleetPosition(lost, number), "lost", epoch: "e2") }
    scene.settle()
    #expect(owner.takeAll() == ["opened", "e2/1 lost", "e2/2 lost", "e2/3 lost"])
    scene.store.failOver()
    let present = scene.open(scene.take("d"), epoch: "e3")
    scene.turn(by: .seconds(1))
    _ = dial()
    scene.say(FleetPosition(present, 1), "new", epoch: "e3")
    scene.settle()
    #expect(owner.takeAll().suffix(2) == ["opened", "e3/1 new"])
  }

  /// The host was taken for dead meanwhile, and came back.
  @Test func whatIsConfirmedOfAnEarlierLifeIsOfOtherCalls() {
    let conversation = scene.open(scene.take("b"))
    let channel = dial()
    channel.write(message("one"), ack: nil)
    scene.settle()
    let replies = scene.place.key(.replies(host: "a"))
    let earlier = FleetReplyEntry(.written(upTo: 1), life: (link.life ?? 0) - 1).fields
    _ = scene.store.append(earlier, to: replies, at: FleetPosition(conversation, 1))
    scene.settle()
    #expect(link.speech.confirmed == 0)
    _ = scene.store.append(
      FleetReplyEntry(.written(upTo: 1), life: link.life).fields, to: replies, at: FleetPosition(conversation, 2))
    scene.settle()
    #expect(link.speech.confirmed == 1)
  }

  @Test func numbersThatNoHostGivesEndNothing() {
    let conversation = scene.open(scene.take("b"))
    _ = dial()
    var marker = FleetFields()
    FleetMarker(.open(hosts: 1), term: 1, epoch: "e2", sequence: .max).add(to: &marker)
    let events = scene.place.key(.events)
    _ = scene.store.append(marker, to: events, at: FleetPosition(conversation + 1, 0))
    let event = FleetScene.event("x", epoch: "e2").fields
    _ = scene.store.append(event, to: events, at: FleetPosition(conversation + 2, 0))
    scene.settle()
    #expect(owner.takeAll() == ["opened"])
  }

  @Test func aHostThatComesWhenTheOpeningIsForgottenTakesPart() {
    let conversation = scene.open(scene.take("b"))
    for number in 1...3 as ClosedRange<UInt64> {
      scene.say(FleetPosition(conversation, number), "\(number)", epoch: "e1")
    }
    scene.store.trim(scene.place.key(.events), before: FleetPosition(conversation, 2))
    #expect(dial().state == .open(conversation))
    #expect(owner.takeAll() == ["e1/2 2", "e1/3 3", "opened"])
  }

  @Test func aHostThatWaitsHearsOfAConversationWhoseOpeningIsForgotten() {
    let own = scene.take("b")
    let channel = dial()
    scene.engine.cut()
    let conversation = scene.open(own)
    scene.say(FleetPosition(conversation, 1), "1", epoch: "e1")
    scene.store.trim(scene.place.key(.events), before: FleetPosition(conversation, 1))
    scene.turn(by: .seconds(1))
    #expect(channel.state == .open(conversation))
    #expect(owner.takeAll() == ["e1/1 1", "opened"])
  }

  @Test func anEventOfAnotherConversationEndsTheOneWhoseEndIsForgotten() {
    scene.open(scene.take("b"))
    _ = dial()
    scene.engine.cut()
    let second = scene.open(scene.take("c"), epoch: "e2", sequence: 4)
    for number in 5...6 as ClosedRange<UInt64> { scene.say(FleetPosition(second, number), "\(number)", epoch: "e2") }
    scene.store.trim(scene.place.key(.events), before: FleetPosition(second, 6))
    scene.turn(by: .seconds(1))
    #expect(owner.takeAll() == ["opened", "ended: fleet, the link of the fleet was opened anew"])
    #expect(dial().state == .open(second))
    #expect(owner.takeAll() == ["e2/6 6", "opened"])
  }

  @Test func anOpeningThatEndsAConversationIsForTheNextChannel() {
    let own = scene.take("b")
    scene.open(own)
    _ = dial()
    let second = scene.open(own)
    scene.say(FleetPosition(second, 1), "1")
    scene.settle()
    #expect(owner.takeAll() == ["opened", "ended: fleet, the link of the fleet was opened anew"])
    let next = dial()
    #expect(next.state == .open(second))
    #expect(owner.takeAll() == ["e1/1 1", "opened"])
  }

  @Test func whatIsNotConfirmedIsSaidAgainBeforeAnythingNew() {
    let own = scene.take("b")
    let conversation = scene.open(own)
    let channel = dial()
    channel.write(message("one"), ack: nil)
    scene.settle()
    scene.store.copyToReplica()
    scene.engine.cut()
    channel.write(message("two"), ack: nil)
    scene.settle()
    channel.write(message("three"), ack: nil)
    scene.settle()
    let c = conversation
    #expect(said == ["\(c)/1 one", "\(c)/1 one", "\(c)/2 two", "\(c)/3 three"])
    #expect(channel.unsentBytes == 14)
    let reply = FleetReplyEntry(.written(upTo: 2))
    _ = scene.store.append(
      reply.fields, to: scene.place.key(.replies(host: "a")), at: FleetPosition(conversation, 1))
    scene.settle()
    #expect(channel.unsentBytes == 6)
  }

  @Test func whatTheEngineHasLostOnItsWayToTheHolderIsSaidAgainWhenTheHolderMissesIt() {
    let own = scene.take("b")
    let conversation = scene.open(own)
    let channel = dial()
    for text in ["1", "2", "3"] { channel.write(message(text), ack: nil) }
    scene.settle()
    let missing = FleetReplyEntry(.missing(from: 2), life: 1)
    let reply = FleetRecord(position: FleetPosition(conversation, 1), fields: missing.fields)
    scene.run(FleetDone(place: scene.place, own: own, host: "a", reply: reply))
    scene.settle()
    #expect(said.suffix(2) == ["\(conversation)/2 2", "\(conversation)/3 3"] && said.count == 5)
  }

  @Test func whatTheHolderDoesNotConfirmForLongIsSaidOnceMore() {
    let own = scene.take("b")
    let conversation = scene.open(own)
    let channel = dial()
    channel.write(message("1"), ack: nil)
    channel.write(message("2"), ack: nil)
    scene.turn(by: .seconds(4))
    #expect(said.count == 2)
    scene.turn(by: .seconds(1))
    #expect(said.suffix(1) == ["\(conversation)/2 2"] && said.count == 3)
    scene.turn(by: .seconds(9))
    #expect(said.count == 3)
    scene.turn(by: .seconds(1))
    #expect(said.suffix(1) == ["\(conversation)/2 2"] && said.count == 4)
    // Where it goes on confirming nothing is said twice.
    let reply = FleetRecord(
      position: FleetPosition(conversation, 1), fields: FleetReplyEntry(.written(upTo: 2), life: 1).fields)
    scene.run(FleetDone(place: scene.place, own: own, host: "a", reply: reply))
    scene.turn(by: .seconds(30))
    #expect(said.count == 4)
  }

  @Test func aChannelEndsWhenTheEngineStaysAwayForTheGrace() {
    let own = scene.take("b")
    scene.open(own)
    _ = dial()
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
    let first = dial()
    scene.engine.way.isOpen = false
    scene.engine.cut()
    scene.turn(by: .seconds(11))
    #expect(first.state == .ended)
    scene.engine.way.isOpen = true
    scene.turn(by: .seconds(1))
    #expect(dial().state == .open(conversation))
  }

  @Test func aChannelThatIsAskedReadsUpToNowOnceMore() {
    let conversation = scene.open(scene.take("b"))
    let channel = dial()
    scene.say(FleetPosition(conversation, 1), "1")
    channel.tellPast()
    #expect(owner.pasts == 0)
    scene.settle()
    #expect(owner.pasts == 1)
    #expect(owner.takeAll() == ["opened", "e1/1 1"])
  }

  @Test func whatAReplacedMasterHasIsNotAllThatThereIs() {
    scene.open(scene.take("b"))
    let channel = dial()
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
    let channel = dial()
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
    let channel = dial()
    scene.engine.way.isOpen = false
    scene.engine.cut()
    channel.tellPast()
    scene.turn(by: .seconds(1))
    #expect(owner.pasts == 0)
    scene.engine.way.isOpen = true
    scene.turn(by: .seconds(1))
    #expect(owner.pasts == 1)
  }

  @Test func anAnswerOfAnEarlierConversationCountsForNothing() {
    let own = scene.take("b")
    let conversation = scene.open(own)
    _ = dial()
    _ = scene.store.append(
      FleetReplyEntry(.acknowledged(1, RemoteAnswer([]))).fields, to: scene.place.key(.replies(host: "a")),
      at: FleetPosition(conversation - 1, 1))
    _ = scene.store.append(
      FleetReplyEntry(.acknowledged(2, RemoteAnswer([]))).fields, to: scene.place.key(.replies(host: "a")),
      at: FleetPosition(conversation, 1))
    scene.settle()
    #expect(owner.takeAll() == ["opened", "acknowledged 2"])
  }

  @Test func onlyTheHostThatIsAskedHearsAQuestion() {
    let own = scene.take("b")
    let conversation = scene.open(own)
    _ = dial()
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
