import Testing

@testable import GatewayCore

@Suite struct FleetLinkTests {
  private let scene = FleetScene()
  private let owner = FleetOwner()

  private func link(_ change: (inout FleetSettings) -> Void = { _ in }, instance: String = "one") -> FleetLink {
    var settings = scene.settings
    change(&settings)
    var details = FleetHostDetails()
    (details.instance, details.agreement) = (instance, settings.agreement)
    return FleetLink(settings, engine: scene.engine, timers: scene.timers, details: details)
  }

  private func joined(_ host: String) -> FleetHostRow? {
    scene.store.hostRow(scene.place.key(.hosts), host)
  }

  /// Another host holds, whose fleet has agreed upon something.
  private func hold(_ version: UInt64 = 1, _ agreement: String = "") {
    let own = scene.take("b")
    scene.open(own)
    scene.run(
      FleetBeat(place: scene.place, own: own, version: version, agreement: FleetAgreement(agreement)))
  }

  @Test func aSecondYieldIsNotForgottenWithTheFirst() {
    let link = link()
    link.lives.beReluctant(for: .seconds(60))
    scene.turn(by: .seconds(40))
    link.lives.beReluctant(for: .seconds(60))
    scene.turn(by: .seconds(30))
    #expect(link.lives.details.isReluctant)
    scene.turn(by: .seconds(31))
    #expect(!link.lives.details.isReluctant)
  }

  @Test func aHostWhoseUserMayNotTakeTheLeaseIsForAWhileNoneThatMayHold() {
    let link = link()
    let holder = FleetHolder(
      scene.settings, FleetSink(), engine: scene.engine, timers: scene.timers, random: FakeRandom()
    ) { FleetTops() }
    holder.onForbidden = { link.lives.beForbidden(for: .seconds(60)) }
    scene.engine.refused = [.take]
    scene.turn(by: .seconds(10))
    #expect(!link.lives.details.mayHold && !holder.holds)
    scene.engine.refused = []
    scene.turn(by: .seconds(61))
    #expect(link.lives.details.mayHold && holder.holds)
  }

  @Test func aHostWithOtherSettingsTakesNoPartUntilItHasTheFleets() {
    hold(1, "url=1")
    let link = link { $0.agreement = FleetAgreement("url=2") }
    owner.channel = link.dial(owner: owner)
    scene.turn(by: .seconds(1))
    #expect(owner.takeAll() == ["ended: fleet, \(link.objection?.detail ?? "")"])
    #expect(link.objection?.detail.hasPrefix("a and the fleet disagree about upstream.u.url; ") == true)
    // The next attempt ends at once.
    owner.channel = link.dial(owner: owner)
    scene.settle()
    #expect(owner.takeAll().count == 1)
    link.adopt(FleetAgreement("url=1"))
    owner.channel = link.dial(owner: owner)
    scene.turn(by: .seconds(1))
    #expect(owner.takeAll() == ["opened"])
  }

  @Test func aHostWithAShorterLeaseThanTheHolderTakesNoPart() {
    let url = UpstreamURL(scheme: "http", host: "chat.example")
    let specification = UpstreamSpecification(
      name: "u", url: url, namespace: "/", settings: UpstreamSettings(), owner: nil)
    func agreement(_ lease: Duration) -> FleetAgreement {
      FleetAgreement(specification, kind: "socketio", lease: lease, adopt: .seconds(30))
    }
    hold(1, agreement(.seconds(10)).text)
    let link = link { $0.agreement = agreement(.seconds(1)) }
    owner.channel = link.dial(owner: owner)
    scene.turn(by: .seconds(1))
    #expect(link.objection?.detail.hasPrefix("a and the fleet disagree about fleet.lease; ") == true)
  }

  @Test func aConversationEndsWhenTheFleetAgreesUponSomethingElse() {
    hold(1, "url=1")
    let link = link { $0.agreement = FleetAgreement("url=1") }
    owner.channel = link.dial(owner: owner)
    scene.turn(by: .seconds(1))
    #expect(owner.takeAll() == ["opened"])
    let own = FleetOwn(term: 1, host: "b")
    scene.run(FleetBeat(place: scene.place, own: own, agreement: FleetAgreement("url=3")))
    scene.turn(by: .seconds(2))
    #expect(owner.takeAll().first?.hasPrefix("ended: fleet, a and the fleet disagree") == true)
  }

  @Test func aHostThatCannotSpeakTheFleetsVersionIsDownAsIncompatible() {
    hold(2)
    let link = link()
    owner.channel = link.dial(owner: owner)
    scene.turn(by: .seconds(1))
    #expect(owner.takeAll().first?.hasPrefix("ended: incompatible, the fleet speaks version 2") == true)
  }

  @Test func theOlderOfTwoDaemonsWithOneNameIsToldAsSoonAsTheYoungerHasJoined() {
    let link = link()
    var namesakes = 0
    link.lives.onNamesake = { namesakes += 1 }
    scene.turn(by: .seconds(1))
    #expect(link.life == 1)
    var other = FleetHostDetails()
    other.instance = "two"
    scene.run(FleetJoin(place: scene.place, host: "a", life: 0, details: other))
    scene.turn(by: .seconds(20))
    #expect(namesakes > 0)
    #expect(joined("a")?.life == 2)
    link.rename("a-7")
    scene.turn(by: .seconds(1))
    #expect(link.life == 2)
    #expect(joined("a-7")?.details.instance == "one")
    #expect(joined("a")?.details.instance == "two")
  }

  @Test func aHostThatMayNotHaveAnotherNameSaysThatAnotherDaemonHasItsOwn() {
    let link = link()
    scene.turn(by: .seconds(1))
    scene.engine.refused = [.join]
    link.rename("a-7", insteadOf: "a")
    scene.turn(by: .seconds(1))
    owner.channel = link.dial(owner: owner)
    scene.turn(by: .seconds(1))
    #expect(
      owner.takeAll().first?.hasPrefix(
        "ended: fleet, another daemon of the fleet is called a as well, so that this one is called a-7: ") == true)
    link.rename("a")
    #expect(link.objection == nil)
    scene.engine.refused = []
    scene.turn(by: .seconds(15))
    #expect(link.life != nil && link.objection == nil)
  }

  @Test func aChannelThatIsDialledInTheMomentOfAnotherNameHearsTheRepliesToThatNameAndToNoOther() {
    let own = scene.take("b")
    let conversation = scene.open(own)
    let link = link()
    owner.onEnd = { [unowned owner] in owner.channel = link.dial(owner: owner) }
    owner.channel = link.dial(owner: owner)
    scene.turn(by: .seconds(1))
    #expect(owner.takeAll() == ["opened"])
    for name in ["a-7", "a-8", "a"] {
      link.rename(name, insteadOf: name == "a" ? nil : "a")
      scene.turn(by: .seconds(1))
      #expect(owner.takeAll().last == "opened")
      owner.channel?.write(PreparedMessage(event: "m", body: Array("1".utf8)), ack: 3)
      let reply = FleetReplyEntry(.refused(number: 1, .invalid("no")), life: link.life)
      let record = FleetRecord(position: FleetPosition(conversation, 1), fields: reply.fields)
      scene.run(FleetDone(place: scene.place, own: own, host: name, reply: record))
      scene.settle()
      #expect(owner.takeAll().last?.hasPrefix("refused awaiting(ack: 3)") == true)
      let keys = [scene.place.key(.replies(host: name)), scene.place.key(.events)]
      #expect(scene.engine.reads == keys.map(\.text))
    }
  }

  @Test func whatWasConfirmedIsKnownToTheOwnerOfAChannelThatEndsByAnotherName() {
    let own = scene.take("b")
    let conversation = scene.open(own)
    let link = link()
    var confirmed: UInt64?
    owner.onEnd = { [unowned owner] in confirmed = owner.channel?.confirmations?.confirmed }
    owner.channel = link.dial(owner: owner)
    scene.turn(by: .seconds(1))
    owner.channel?.write(PreparedMessage(event: "m", body: Array("1".utf8)), ack: nil)
    let reply = FleetReplyEntry(.written(upTo: 1), life: link.life)
    let record = FleetRecord(position: FleetPosition(conversation, 1), fields: reply.fields)
    scene.run(FleetDone(place: scene.place, own: own, host: "a", reply: record))
    scene.settle()
    link.rename("a-7", insteadOf: "a")
    #expect(confirmed == 1)
  }

  @Test func aHostThatWasTakenForDeadKeepsItsName() {
    let link = link()
    var namesakes = 0
    link.lives.onNamesake = { namesakes += 1 }
    scene.turn(by: .seconds(1))
    let own = scene.take("b")
    scene.run(FleetAdopt(place: scene.place, own: own, host: "a", life: 1, beat: 0))
    scene.turn(by: .seconds(20))
    #expect(namesakes == 0)
    #expect(link.life == 3)
  }

  @Test func aHostThatWasTakenForDeadWhileItCouldNotReadItsRowComesBackWhenItCan() {
    let link = link()
    scene.turn(by: .seconds(1))
    scene.run(FleetAdopt(place: scene.place, own: scene.take("b"), host: "a", life: 1, beat: 0))
    scene.engine.unreadable = [scene.place.key(.hosts)]
    scene.turn(by: .seconds(20))
    #expect(link.life == 1)
    scene.engine.unreadable = []
    scene.turn(by: .seconds(5))
    #expect(link.life == 3)
  }

  /// Another host takes the link at a master that was replaced, and nobody else knows of it.
  private func followATakeOverAtAReplacedMaster(_ link: FleetLink) {
    scene.store.beReplaced()
    scene.open(scene.take("c"), epoch: "e2")
    scene.turn(by: .seconds(1))
    owner.channel = link.dial(owner: owner)
    scene.turn(by: .seconds(1))
  }

  @Test func aHostThatComesBackToAConversationWhoseNumbersAreKnownBeginsAnotherLife() {
    let own = scene.take("b")
    let conversation = scene.open(own)
    let link = link()
    let message = PreparedMessage(event: "m", body: [])
    owner.channel = link.dial(owner: owner)
    scene.turn(by: .seconds(1))
    owner.channel?.write(message, ack: nil)
    scene.turn(by: .seconds(1))
    followATakeOverAtAReplacedMaster(link)
    #expect(link.speech.part.conversation > conversation && link.life == 1)
    scene.store.failOver()
    scene.turn(by: .seconds(1))
    owner.channel = link.dial(owner: owner)
    scene.turn(by: .seconds(1))
    owner.channel?.write(message, ack: nil)
    scene.turn(by: .seconds(1))
    #expect(link.speech.part.conversation == conversation && link.life == 2)
    let said = scene.store.records(of: scene.place.key(.up), after: .start).compactMap { FleetUpEntry($0.fields) }
    #expect(said.map { [$0.life, $0.conversation, $0.number] } == [[1, conversation, 1], [2, conversation, 1]])
  }

  @Test func whatASecondChannelSaysInAConversationIsSaidInAnotherLife() {
    let conversation = scene.open(scene.take("b"))
    let link = link()
    for body in ["one", "two"] {
      owner.channel = link.dial(owner: owner)
      scene.turn(by: .seconds(1))
      owner.channel?.write(PreparedMessage(event: "m", body: Array(body.utf8)), ack: nil)
      scene.turn(by: .seconds(1))
      owner.channel?.close()
    }
    let said = scene.store.records(of: scene.place.key(.up), after: .start).compactMap { FleetUpEntry($0.fields) }
    #expect(said.map { [$0.life, $0.conversation, $0.number] } == [[1, conversation, 1], [2, conversation, 1]])
  }

  @Test func aHostLeavesAConversationThatWasUndoneWhileItWasAwayFromAMasterThatIsOneOnceMore() {
    let conversation = scene.open(scene.take("b"))
    let link = link()
    owner.channel = link.dial(owner: owner)
    scene.turn(by: .seconds(1))
    followATakeOverAtAReplacedMaster(link)
    let (run, undone) = (scene.store.run, link.speech.part.conversation)
    scene.engine.way.isOpen = false
    scene.store.failOver()
    scene.store.beReplaced()
    scene.store.failOver()
    scene.engine.way.isOpen = true
    scene.turn(by: .seconds(1))
    owner.channel = link.dial(owner: owner)
    scene.turn(by: .seconds(1))
    #expect(scene.store.run == run && undone > conversation && link.speech.part.conversation == conversation)
  }

  @Test func whatAFullServerRefusesIsNotSaidMoreAndMoreOften() {
    scene.open(scene.take("b"))
    let link = link()
    owner.channel = link.dial(owner: owner)
    scene.turn(by: .seconds(1))
    scene.store.isFull = true
    for number in 1...50 { owner.channel?.write(PreparedMessage(event: "m", body: Array("\(number)".utf8)), ack: nil) }
    scene.turn(by: .milliseconds(500))
    let before = scene.engine.appends
    scene.turn(by: .seconds(10))
    #expect(scene.engine.appends - before <= 10)
    scene.store.isFull = false
    scene.turn(by: .seconds(2))
    let said = scene.store.records(of: scene.place.key(.up), after: .start).compactMap { FleetUpEntry($0.fields) }
    // The first is said once more with the others.
    #expect(said.map(\.number) == [1] + Array(1...50))
  }

  @Test func whatAFullServerRefusedIsNotSaidAgainWhenItsChannelHasEnded() {
    scene.open(scene.take("b"))
    let link = link()
    owner.channel = link.dial(owner: owner)
    scene.turn(by: .seconds(1))
    scene.engine.way.delay = 10...10
    scene.store.isFull = true
    for body in ["one", "two"] { owner.channel?.write(PreparedMessage(event: "m", body: Array(body.utf8)), ack: nil) }
    // The server is asked whether it takes the first now, and its answer is on its way.
    scene.turn(by: .milliseconds(1_025))
    scene.store.isFull = false
    scene.turn(by: .milliseconds(10))
    owner.channel?.close()
    scene.turn(by: .seconds(2))
    let said = scene.store.records(of: scene.place.key(.up), after: .start).compactMap { FleetUpEntry($0.fields) }
    #expect(said.map(\.number) == [1])
  }

  @Test func whatAHostHasNotReadIsBehind() {
    let own = scene.take("b")
    let conversation = scene.open(own)
    let link = link()
    #expect(link.behind == nil)
    owner.channel = link.dial(owner: owner)
    for number in 1...3 as ClosedRange<UInt64> { scene.say(FleetPosition(conversation, number), "[\(number)]") }
    scene.turn(by: .seconds(1))
    #expect(link.behind == 0)
    // The holder has said more than was read.
    scene.run(FleetBeat(place: scene.place, own: own, sequence: 10))
    scene.turn(by: .seconds(1))
    #expect(link.behind == 7)
  }

  @Test func numbersThatATakeOverLeavesOutAreNotBehind() {
    let own = scene.take("b")
    let conversation = scene.open(own)
    let link = link()
    owner.channel = link.dial(owner: owner)
    for number in 1...3 as ClosedRange<UInt64> { scene.say(FleetPosition(conversation, number), "[\(number)]") }
    scene.turn(by: .seconds(1))
    // The next holder has not reached the server yet.
    let next = scene.take("c")
    scene.run(FleetBeat(place: scene.place, own: next, sequence: 3 + FleetPublisher.skip))
    scene.turn(by: .seconds(1))
    owner.channel = link.dial(owner: owner)
    scene.turn(by: .seconds(2))
    #expect(link.behind == 0)
    scene.open(next, epoch: "e2", sequence: 3 + FleetPublisher.skip)
    scene.turn(by: .seconds(2))
    #expect(link.behind == 0 && link.hearing.sequence == 3 + FleetPublisher.skip)
    // Two that were not read.
    scene.run(FleetBeat(place: scene.place, own: next, sequence: 5 + FleetPublisher.skip))
    scene.turn(by: .seconds(2))
    #expect(link.behind == 2)
  }
}
