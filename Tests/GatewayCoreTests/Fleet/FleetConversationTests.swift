import Testing

@testable import GatewayCore

/// Which conversation a host takes part in, and what it hears of the others.
@Suite struct FleetConversationTests {
  private let rig = FleetChannelRig()
  private var scene: FleetScene { rig.scene }
  private var owner: FleetOwner { rig.owner }
  private var link: FleetLink { rig.link }

  @Test func markersThatAreReadInBulkEndTheConversation() {
    let own = scene.take("b")
    let first = scene.open(own)
    let channel = rig.dial()
    #expect(channel.state == .open(first))
    scene.engine.cut()
    let second = scene.open(scene.take("c"), epoch: "e2", sequence: 4)
    scene.say(FleetPosition(second, 5), "5")
    scene.turn(by: .seconds(1))
    #expect(owner.takeAll() == ["opened", "ended: fleet, another host of the fleet took the link over"])
    let next = rig.dial()
    #expect(next.state == .open(second))
    #expect(owner.takeAll() == ["e2/5 5", "opened"])
  }

  /// Another host took the lease at a master that had been replaced already.
  @Test func aMarkerThatIsOnNoOtherServerIsForgottenWithIt() {
    let own = scene.take("b")
    let conversation = scene.open(own)
    scene.say(FleetPosition(conversation, 1), "1")
    _ = rig.dial()
    scene.store.copyToReplica()
    _ = scene.take("c")
    scene.settle()
    #expect(
      owner.takeAll() == ["e1/1 1", "opened", "ended: fleet, another host of the fleet took the link over"])
    scene.store.failOver()
    let channel = rig.dial()
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
    let channel = rig.dial()
    #expect(channel.state == .open(lost))
    channel.write(rig.message("lost"), ack: nil)
    scene.store.failOver()
    let present = scene.open(scene.take("d"), epoch: "e3")
    #expect(present == lost)
    scene.turn(by: .seconds(1))
    #expect(owner.takeAll().last == "ended: fleet, the link of the fleet was opened anew")
    let next = rig.dial()
    #expect(next.state == .open(present))
    next.write(rig.message("new"), ack: nil)
    scene.settle()
    #expect(rig.said == ["\(present)/1 new"])
  }

  @Test func numbersThatWereToldOfALostConversationAreToldOfTheOneInItsPlace() {
    scene.open(scene.take("b"))
    scene.store.copyToReplica()
    let lost = scene.open(scene.take("c"), epoch: "e2")
    _ = rig.dial()
    for number in 1...3 as ClosedRange<UInt64> { scene.say(FleetPosition(lost, number), "lost", epoch: "e2") }
    scene.settle()
    #expect(owner.takeAll() == ["opened", "e2/1 lost", "e2/2 lost", "e2/3 lost"])
    scene.store.failOver()
    let present = scene.open(scene.take("d"), epoch: "e3")
    scene.turn(by: .seconds(1))
    _ = rig.dial()
    scene.say(FleetPosition(present, 1), "new", epoch: "e3")
    scene.settle()
    #expect(owner.takeAll().suffix(2) == ["opened", "e3/1 new"])
  }

  @Test func numbersThatNoHostGivesEndNothing() {
    let conversation = scene.open(scene.take("b"))
    _ = rig.dial()
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
    #expect(rig.dial().state == .open(conversation))
    #expect(owner.takeAll() == ["e1/2 2", "e1/3 3", "opened"])
  }

  @Test func aHostThatWaitsHearsOfAConversationWhoseOpeningIsForgotten() {
    let own = scene.take("b")
    let channel = rig.dial()
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
    _ = rig.dial()
    scene.engine.cut()
    let second = scene.open(scene.take("c"), epoch: "e2", sequence: 4)
    for number in 5...6 as ClosedRange<UInt64> { scene.say(FleetPosition(second, number), "\(number)", epoch: "e2") }
    scene.store.trim(scene.place.key(.events), before: FleetPosition(second, 6))
    scene.turn(by: .seconds(1))
    #expect(owner.takeAll() == ["opened", "ended: fleet, the link of the fleet was opened anew"])
    #expect(rig.dial().state == .open(second))
    #expect(owner.takeAll() == ["e2/6 6", "opened"])
  }

  @Test func anOpeningThatEndsAConversationIsForTheNextChannel() {
    let own = scene.take("b")
    scene.open(own)
    _ = rig.dial()
    let second = scene.open(own)
    scene.say(FleetPosition(second, 1), "1")
    scene.settle()
    #expect(owner.takeAll() == ["opened", "ended: fleet, the link of the fleet was opened anew"])
    let next = rig.dial()
    #expect(next.state == .open(second))
    #expect(owner.takeAll() == ["e1/1 1", "opened"])
  }

  @Test func anAnswerOfAnEarlierConversationCountsForNothing() {
    let own = scene.take("b")
    let conversation = scene.open(own)
    _ = rig.dial()
    _ = scene.store.append(
      FleetReplyEntry(.acknowledged(1, RemoteAnswer([]))).fields, to: scene.place.key(.replies(host: "a")),
      at: FleetPosition(conversation - 1, 1))
    _ = scene.store.append(
      FleetReplyEntry(.acknowledged(2, RemoteAnswer([]))).fields, to: scene.place.key(.replies(host: "a")),
      at: FleetPosition(conversation, 1))
    scene.settle()
    #expect(owner.takeAll() == ["opened", "acknowledged 2"])
  }
}
