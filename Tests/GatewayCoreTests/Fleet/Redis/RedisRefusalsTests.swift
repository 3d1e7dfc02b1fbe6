import Testing

@testable import GatewayCore

@Suite struct RedisRefusalsTests {
  @Test func whatIsRefusedIsToldUntilItIsDone() {
    let rig = RedisRig()
    rig.gain()
    let join = FleetJoin(place: rig.place, host: "a", life: 0, details: FleetHostDetails())
    let words = "NOPERM this user has no permissions to run the 'eval' command"
    for _ in 0..<2 {
      rig.engine.run(join) { _ in }
      rig.say("-\(words)\r\n", to: rig.calls)
    }
    let sentence =
      "r1:6379 does not let this user do what the fleet needs, JOIN of gw:f:{u}:hosts, gw:f:{u}:box:a (\(words))"
    #expect(rig.engine.refusal(of: rig.place)?.detail == sentence)
    #expect(rig.listener.refusals == [sentence, sentence])
    #expect(rig.reports.suffix(1) == [.refused(upstream: "u", detail: sentence)])
    #expect(rig.engine.refusal(of: FleetPlace(fleet: "f", upstream: "v")) == nil)
    rig.engine.run(join) { _ in }
    rig.say("*1\r\n$1\r\n1\r\n", to: rig.calls)
    #expect(rig.engine.refusal(of: rig.place) == nil)
    #expect(rig.reports.suffix(1) == [.accepted(upstream: "u")])
  }

  @Test func replicasThatAreBackAreNotSaidToBeMissingForCallsThatAreNotAskedAgain() {
    let rig = RedisRig { $0.copies = 1 }
    rig.gain(replicas: 1)
    let beat = FleetBeat(place: rig.place, own: FleetOwn(term: 1, host: "a"))
    rig.engine.run(FleetJoin(place: rig.place, host: "a", life: 0, details: FleetHostDetails())) { _ in }
    rig.engine.run(beat) { _ in }
    rig.advance(.zero)
    rig.say("*1\r\n$1\r\n1\r\n*3\r\n:5\r\n$0\r\n\r\n$3\r\n0-0\r\n:0\r\n", to: rig.calls)
    #expect(rig.engine.refusal(of: rig.place)?.reason == .timeout)
    // Whichever call was not confirmed.
    #expect(Set(rig.listener.refusals) == ["r1:6379 has 0 replicas that confirm, and `copies` wants 1"])
    rig.engine.run(beat) { _ in }
    rig.advance(.zero)
    rig.say("*3\r\n:6\r\n$0\r\n\r\n$3\r\n0-0\r\n:1\r\n", to: rig.calls)
    #expect(rig.engine.refusal(of: rig.place) == nil)
    #expect(rig.reports.suffix(1) == [.accepted(upstream: "u")])
  }

  /// Time passes, and the connection that waits gives the signs of life that it is asked for.
  private func wait(_ seconds: Int, _ rig: RedisRig) {
    for _ in 0..<seconds {
      rig.advance(.seconds(1))
      rig.sayAlive()
    }
  }

  @Test func whatIsNotAskedAgainIsOverAfterTheLongestPauseBetweenTwoTries() {
    let rig = RedisRig { ($0.retryLimit, $0.proofPause) = (.seconds(12), .seconds(60)) }
    rig.gain()
    rig.engine.newest(of: rig.place.key(.up)) { _ in }
    rig.say("-WRONGTYPE x\r\n", to: rig.calls)
    let sentence = "r1:6379 refuses XREVRANGE of gw:f:{u}:up (WRONGTYPE x)"
    #expect(rig.engine.refusal(of: rig.place)?.detail == sentence)
    wait(8, rig)
    rig.engine.trim(rig.place.key(.up), before: .start)
    rig.say("-WRONGTYPE y\r\n", to: rig.calls)
    wait(4, rig)
    #expect(rig.engine.refusal(of: rig.place)?.detail == "r1:6379 refuses XTRIM of gw:f:{u}:up (WRONGTYPE y)")
    wait(7, rig)
    #expect(rig.reports.suffix(1) == [.refused(upstream: "u", detail: sentence)])
    wait(1, rig)
    #expect(rig.engine.refusal(of: rig.place) == nil)
    #expect(rig.reports.suffix(1) == [.accepted(upstream: "u")])
    #expect(rig.listener.words == [.gained("run")])
  }

  /// Redis says where the script ended, and not what it may not do there.
  @Test(arguments: [
    (8, "run this command or subcommand", "HSET"), (11, "run this command or subcommand", "HINCRBY or HGET"),
    (2, "access at least one of the keys mentioned in the command arguments", "HDEL"),
  ])
  func aCommandThatAScriptMayNotUseIsNamed(line: Int, words: String, command: String) {
    let rig = RedisRig()
    rig.gain()
    var heard: [FleetOutcome<FleetBeaten>] = []
    rig.engine.run(FleetBeat(place: rig.place, own: FleetOwn(term: 1, host: "a"))) { heard.append($0) }
    let error = "ERR The user executing the script can't \(words)"
    rig.say("-\(error) script: 0123, on @user_script:\(line).\r\n", to: rig.calls)
    #expect(heard == [.refused(.forbidden("\(error): \(command)"))])
    let sentence =
      "r1:6379 does not let this user do what the fleet needs, BEAT of gw:f:{u}:L, gw:f:{u}:up (\(error): \(command))"
    #expect(rig.engine.refusal(of: rig.place)?.detail == sentence)
  }

  @Test func aMoveThatIsRefusedLeavesTheHostAsItWas() {
    let rig = RedisRig()
    rig.gain()
    let before = rig.reports
    var heard: [FleetOutcome<Bool>] = []
    rig.engine.run(FleetMove(place: rig.place, own: FleetOwn(term: 1, host: "a"), host: "b")) { heard.append($0) }
    rig.say("-NOPERM x\r\n", to: rig.calls)
    #expect(heard == [.refused(.forbidden("NOPERM x"))])
    var forgotten: [FleetOutcome<FleetForgotten>] = []
    rig.engine.run(FleetForget(place: rig.place, host: "b", isTrial: true)) { forgotten.append($0) }
    rig.say("-NOPERM y\r\n", to: rig.calls)
    #expect(forgotten == [.refused(.forbidden("NOPERM y"))])
    #expect(rig.engine.refusal(of: rig.place) == nil)
    #expect(rig.listener.refusals.isEmpty)
    #expect(rig.reports == before)
  }

  @Test func whatAHolderWasRefusedIsOverWithItsTerm() {
    let rig = RedisRig()
    rig.gain()
    let beat = FleetBeat(place: rig.place, own: FleetOwn(term: 1, host: "a"))
    rig.engine.run(beat) { _ in }
    rig.say("-OOM y\r\n", to: rig.calls)
    #expect(
      rig.engine.refusal(of: rig.place)?.detail == "r1:6379 has no room for BEAT of gw:f:{u}:L, gw:f:{u}:up (OOM y)")
    rig.engine.run(beat) { _ in }
    rig.say("-FENCED another has taken its place\r\n", to: rig.calls)
    #expect(rig.engine.refusal(of: rig.place) == nil)
    #expect(rig.reports.suffix(1) == [.accepted(upstream: "u")])
  }
}
