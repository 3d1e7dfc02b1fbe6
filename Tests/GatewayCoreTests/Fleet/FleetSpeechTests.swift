import Testing

@testable import GatewayCore

@Suite struct FleetSpeechTests {
  private let rig = FleetChannelRig()
  private var scene: FleetScene { rig.scene }
  private var owner: FleetOwner { rig.owner }
  private var link: FleetLink { rig.link }

  @Test func whatTheHolderRefusesIsTheCallThatWasSaidUnderThatNumber() {
    let own = scene.take("b")
    let conversation = scene.open(own)
    let channel = rig.dial()
    channel.write(rig.message("1"), ack: 3)
    channel.write(rig.message("2"), ack: 2)
    channel.write(rig.message("3"), ack: nil)
    channel.answer(9, rig.message("4"))
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
    let channel = rig.dial()
    let leave = PreparedLeave(message: rig.message("quit"), wantsAck: true)
    channel.enter(rig.message("join"), ack: 3, leave: leave)
    channel.leave(leave, of: rig.message("join"))
    _ = owner.takeAll()
    scene.settle()
    #expect(channel.sharesEntered && channel.unsentBytes == 20)
    let entries = scene.store.records(of: scene.place.key(.up), after: .start).compactMap { FleetUpEntry($0.fields) }
    #expect(
      entries.map(\.call) == [
        .enter(rig.message("join"), ack: 3, leave: leave), .leave(leave, of: rig.message("join")),
      ])
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
    let channel = rig.dial()
    scene.engine.way.isOpen = false
    scene.engine.cut()
    for number in 1...2_500 { channel.write(rig.message("\(number)"), ack: nil) }
    scene.engine.way.isOpen = true
    var most = 0
    while !channel.isOpen, let next = scene.timers.nextDeadline {
      if next > scene.time.now { scene.time.advance(by: next - scene.time.now) }
      let before = scene.engine.asked
      scene.timers.fire()
      most = max(most, scene.engine.asked - before)
    }
    channel.write(rig.message("new"), ack: nil)
    #expect(max(most, scene.settleCountingCalls()) <= FleetTurn.limit.count + 8)
    let again = (1...2_500).map { "2/\($0) \($0)" }
    #expect(rig.said == again + ["2/2501 new"])
  }

  @Test func anInterestThatWasRefusedIsSaidAgainForWhoeverWantsItNext() {
    scene.open(scene.take("b"))
    let channel = rig.dial()
    let interest = Interest(.name(ExactText("news")))
    channel.want(interest)
    channel.want(interest)
    channel.drop(interest)
    scene.settle()
    #expect(saidInterests == [.want(interest), .want(interest), .drop(interest)])
  }

  /// The host was taken for dead meanwhile, and came back.
  @Test func whatIsConfirmedOfAnEarlierLifeIsOfOtherCalls() {
    let conversation = scene.open(scene.take("b"))
    let channel = rig.dial()
    channel.write(rig.message("one"), ack: nil)
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

  @Test func whatIsNotConfirmedIsSaidAgainBeforeAnythingNew() {
    let own = scene.take("b")
    let conversation = scene.open(own)
    let channel = rig.dial()
    channel.write(rig.message("one"), ack: nil)
    scene.settle()
    scene.store.copyToReplica()
    scene.engine.cut()
    channel.write(rig.message("two"), ack: nil)
    scene.settle()
    channel.write(rig.message("three"), ack: nil)
    scene.settle()
    let c = conversation
    #expect(rig.said == ["\(c)/1 one", "\(c)/1 one", "\(c)/2 two", "\(c)/3 three"])
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
    let channel = rig.dial()
    for text in ["1", "2", "3"] { channel.write(rig.message(text), ack: nil) }
    scene.settle()
    let missing = FleetReplyEntry(.missing(from: 2), life: 1)
    let reply = FleetRecord(position: FleetPosition(conversation, 1), fields: missing.fields)
    scene.run(FleetDone(place: scene.place, own: own, host: "a", reply: reply))
    scene.settle()
    #expect(rig.said.suffix(2) == ["\(conversation)/2 2", "\(conversation)/3 3"] && rig.said.count == 5)
  }

  @Test func whatTheHolderDoesNotConfirmForLongIsSaidOnceMore() {
    let own = scene.take("b")
    let conversation = scene.open(own)
    let channel = rig.dial()
    channel.write(rig.message("1"), ack: nil)
    channel.write(rig.message("2"), ack: nil)
    scene.turn(by: .seconds(4))
    #expect(rig.said.count == 2)
    scene.turn(by: .seconds(1))
    #expect(rig.said.suffix(1) == ["\(conversation)/2 2"] && rig.said.count == 3)
    scene.turn(by: .seconds(9))
    #expect(rig.said.count == 3)
    scene.turn(by: .seconds(1))
    #expect(rig.said.suffix(1) == ["\(conversation)/2 2"] && rig.said.count == 4)
    // Where it goes on confirming nothing is said twice.
    let reply = FleetRecord(
      position: FleetPosition(conversation, 1), fields: FleetReplyEntry(.written(upTo: 2), life: 1).fields)
    scene.run(FleetDone(place: scene.place, own: own, host: "a", reply: reply))
    scene.turn(by: .seconds(30))
    #expect(rig.said.count == 4)
  }
}
