import Testing

@testable import GatewayCore

/// What becomes of calls that a holder has not written when it gives its link away.
@Suite struct FleetHandOverTests {
  /// A holder whose link is open, and what another host says to it.
  private final class Holding {
    let scene = FleetScene()
    let sink = FleetSink()
    let owner = FleetOwner()
    let holder: FleetHolder
    let conversation: UInt64

    init() throws {
      let (scene, sink, owner) = (self.scene, self.sink, self.owner)
      holder = FleetHolder(
        scene.settings, sink, engine: scene.engine, timers: scene.timers, random: FakeRandom()
      ) { FleetTops() }
      holder.onWant = { [unowned owner] wants in if !wants { owner.channel?.close() } }
      scene.turn(by: .seconds(5))
      owner.channel = holder.connector.dial(owner: owner)
      sink.open()
      scene.turn(by: .seconds(1))
      conversation = try #require(holder.writer?.conversation)
    }

    func say(_ number: UInt64, _ text: String) {
      let call = FleetUpEntry.Call.write(PreparedMessage(event: "m", body: Array(text.utf8)), ack: nil, row: nil)
      let entry = FleetUpEntry(host: "b", life: 1, conversation: conversation, number: number, call: call)
      _ = scene.store.append(entry.fields, to: scene.place.key(.up), at: nil)
    }

    /// The last marker of an end.
    var end: FleetMarker? {
      for record in scene.store.records(of: scene.place.key(.events), after: .start).reversed() {
        if case .marker(let marker)? = FleetEntry(record.fields), case .down = marker.kind { return marker }
      }
      return nil
    }

    /// It gives the link away. Returns the conversation that is settled by that.
    func leave() throws -> UInt64? {
      holder.leave()
      scene.turn(by: .seconds(2))
      return try #require(end).settled
    }
  }

  @Test func aHolderThatHasDrainedSaysThatItsHostsKnowWhatWasWritten() throws {
    let holding = try Holding()
    holding.say(1, "one")
    holding.scene.turn(by: .seconds(1))
    #expect(try holding.leave() == holding.conversation)
    #expect(holding.sink.takeAll() == ["one", "close"])
  }

  @Test func aHolderWaitsUntilTheEngineHasWhatItsHostsAreTold() throws {
    let holding = try Holding()
    let scene = holding.scene
    scene.engine.way.delay = 20...20
    holding.say(1, "one")
    for _ in 0..<1_000 where holding.sink.written == [] { scene.turn(by: .milliseconds(1)) }
    let replies = scene.place.key(.replies(host: "b"))
    #expect(scene.store.records(of: replies, after: .start).isEmpty && holding.sink.takeAll() == ["one"])
    #expect(try holding.leave() == holding.conversation)
    #expect(
      scene.store.records(of: replies, after: .start).compactMap { FleetReplyEntry($0.fields)?.call } == [
        .written(upTo: 1)
      ])
  }

  @Test func aHolderWhoseServerDoesNotAcknowledgeInTimeDoesNotSaySo() throws {
    let holding = try Holding()
    holding.sink.cost = 10
    holding.say(1, "one")
    holding.scene.turn(by: .milliseconds(10))
    #expect(try holding.leave() == nil)
  }

  @Test func aHolderThatCouldNotTellAHostWhatWasWrittenDoesNotSaySo() throws {
    let holding = try Holding()
    holding.scene.engine.refused = [.done]
    holding.say(1, "one")
    holding.scene.turn(by: .milliseconds(100))
    holding.scene.engine.refused = []
    // It is told meanwhile, but perhaps not all.
    holding.scene.turn(by: .seconds(2))
    #expect(try holding.leave() == nil)
  }

  @Test func aHolderWhoseWordsToAHostHaveNoPlaceDoesNotSaySo() throws {
    let holding = try Holding()
    let replies = holding.scene.place.key(.replies(host: "b"))
    // Such as what a stranger has put there.
    let ahead = FleetPosition(holding.conversation + 1, 0)
    _ = holding.scene.store.append(FleetReplyEntry(.withdrew(1)).fields, to: replies, at: ahead)
    holding.say(1, "one")
    holding.scene.turn(by: .milliseconds(100))
    #expect(try holding.leave() == nil)
  }

  @Test func aHolderThatHasLostTheEngineInTheConversationDoesNotSaySo() throws {
    let holding = try Holding()
    holding.say(1, "one")
    holding.scene.turn(by: .milliseconds(100))
    holding.scene.engine.cut()
    holding.scene.turn(by: .seconds(2))
    #expect(holding.holder.writer?.conversation == holding.conversation)
    #expect(try holding.leave() == nil)
  }

  // MARK: - The host

  private let rig = FleetChannelRig()

  /// What this host knows of two writes when its channel ends, of which it was told about
  /// the first in the same breath in which the holder says that it is over.
  private func facts(
    _ settled: (UInt64) -> UInt64?, before disturb: (FleetScene) -> Void = { _ in }
  ) throws -> WriteConfirmations {
    let scene = rig.scene
    let own = scene.take("b")
    let conversation = scene.open(own)
    let channel = rig.dial()
    var known: WriteConfirmations?
    rig.owner.onEnd = { known = channel.confirmations }
    channel.write(rig.message("one"), ack: nil)
    channel.write(rig.message("two"), ack: nil)
    scene.settle()
    disturb(scene)
    let reply = FleetReplyEntry(.written(upTo: 1), life: rig.link.life)
    scene.run(
      FleetDone(
        place: scene.place, own: own, host: "a",
        reply: FleetRecord(position: FleetPosition(conversation, 1), fields: reply.fields)))
    let failure = UpstreamFailure.linkGivenAway
    scene.run(
      FleetDown(
        place: scene.place, own: own, epoch: "e1", sequence: 0, reason: failure.reason.rawValue,
        detail: failure.detail, settled: settled(conversation)))
    scene.turn(by: .seconds(1))
    return try #require(known)
  }

  @Test func aHostKnowsWhatAHolderHasNotWrittenThatLeftInOrder() throws {
    #expect(try facts { $0 } == WriteConfirmations(written: 2, confirmed: 1, isFinal: true))
  }

  @Test func aHostDoesNotKnowItOfAHolderThatDoesNotSaySo() throws {
    #expect(try facts { _ in nil } == WriteConfirmations(written: 2, confirmed: 1))
  }

  @Test func aHostDoesNotKnowItOfAnotherConversation() throws {
    #expect(try facts { $0 - 1 } == WriteConfirmations(written: 2, confirmed: 1))
  }

  @Test func aHostThatWasAwayFromTheEngineDoesNotKnowIt() throws {
    let known = try facts({ $0 }) { scene in
      scene.engine.cut()
      scene.turn(by: .seconds(1))
    }
    #expect(known == WriteConfirmations(written: 2, confirmed: 1))
  }

  @Test func whatIsSaidOfAnotherConversationThanTheLastIsNotSettled() {
    let scene = rig.scene
    let own = scene.take("b")
    let first = scene.open(own)
    scene.open(own)
    scene.run(
      FleetDown(
        place: scene.place, own: own, epoch: "e1", sequence: 0, reason: "fleet", detail: "over", settled: first))
    let newest = scene.store.newest(of: scene.place.key(.events)).flatMap { FleetEntry($0.fields) }
    #expect(
      newest == .marker(FleetMarker(.down(reason: "fleet", detail: "over"), term: own.term, epoch: "e1", sequence: 0)))
  }
}
