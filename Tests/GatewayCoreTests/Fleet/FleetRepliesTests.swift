import Testing

@testable import GatewayCore

@Suite struct FleetRepliesTests {
  private let rig: FleetWriterRig
  private var scene: FleetScene { rig.scene }
  private var writer: FleetWriter { rig.writer }

  init() throws { rig = try FleetWriterRig() }

  @Test func whatTheEngineDoesNotLetAHostBeToldIsToldWhenItDoes() {
    scene.engine.refused = [.done]
    rig.mayWrite()
    for (number, row) in [(1, "7"), (2, "8")] as [(UInt64, String)] {
      rig.say(number, "m", row: row)
      scene.turn(by: .milliseconds(50))
    }
    writer.heal()
    scene.turn(by: .milliseconds(50))
    #expect(rig.told() == [])
    scene.engine.refused = []
    writer.heal()
    scene.turn(by: .milliseconds(50))
    #expect(rig.told() == [.written(upTo: 1), .written(upTo: 2)])
  }

  /// Tells a host thousands of answers, of which the engine has only those of before.
  private func tellThousands(_ host: String) {
    for number in 1...1_500 as ClosedRange<UInt64> {
      let call = FleetUpEntry.Call.want(Interest(.name(ExactText("\(number)"))))
      writer.take(FleetUpEntry(host: host, life: 1, conversation: rig.conversation, number: number, call: call))
    }
    rig.mayWrite()
    scene.settle()
    for number in 1...1_500 {
      writer.heard(reply: .answered(Interest(.name(ExactText("\(number)"))), refusal: nil))
    }
  }

  private func answered(_ host: String) -> [FleetReplyEntry.Call] {
    rig.told(host).filter { if case .answered = $0 { true } else { false } }
  }

  private let allAnswers = (1...1_500).map {
    FleetReplyEntry.Call.answered(Interest(.name(ExactText("\($0)"))), refusal: nil)
  }

  @Test func thousandsOfRepliesAreToldAgainInPortionsAndWhatIsNewBehindThem() {
    writer.engineLost()
    tellThousands("b")
    #expect(answered("b") == [])
    let before = scene.engine.asked
    writer.heal()
    #expect(scene.engine.asked - before == FleetTurn.limit.count)
    let new = Interest(.name(ExactText("new")))
    writer.take(FleetUpEntry(host: "b", life: 1, conversation: rig.conversation, number: 1_501, call: .want(new)))
    writer.flush()
    writer.heard(reply: .answered(new, refusal: nil))
    #expect(scene.settleCountingCalls() <= FleetTurn.limit.count)
    #expect(answered("b") == allAnswers + [.answered(new, refusal: nil)])
  }

  @Test func answersThatComeWhileTheEngineIsAwayCountUntilItHasThem() {
    writer.engineLost()
    tellThousands("b")
    let kept = writer.unsentBytes
    #expect(kept > 1_500 * 256)
    writer.engineLost()
    #expect(writer.unsentBytes == kept)
    var left: Int?
    writer.onTaken = { [weak writer] in left = writer?.unsentBytes }
    writer.heal()
    scene.settle()
    #expect(left == 0)
  }

  @Test func thousandsOfRepliesToAHostThatCouldNotBeToldAreToldInPortions() {
    scene.engine.refused = [.done]
    tellThousands("b")
    scene.settle()
    writer.heal()
    scene.settle()
    #expect(answered("b") == [])
    scene.engine.refused = []
    writer.heal()
    let most = scene.settleCountingCalls()
    #expect(most > 1 && most <= FleetTurn.limit.count + 1)
    #expect(answered("b") == allAnswers)
  }
}
