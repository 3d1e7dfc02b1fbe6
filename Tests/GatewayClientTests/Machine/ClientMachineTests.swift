import Testing

@testable import GatewayClient

@Suite struct ClientMachineTests {
  @Test func theFirstCallConnectsAndIsWrittenBehindTheGreeting() {
    var rig = MachineRig()
    let id = rig.call("ping")
    #expect(rig.dials == 1 && rig.written.isEmpty)
    rig.greet()
    #expect(rig.methods == ["hello", "ping"])
    rig.answer(id, #"{"a":1}"#)
    #expect(rig.outcome(id) == #"{"a":1}"#)
  }

  @Test func whatWasWrittenBeforeTheDaemonWentEndsAsLostAndWhatChangesNothingIsMadeAgain() {
    var rig = MachineRig()
    let harmful = rig.call("request")
    let harmless = rig.call("status", isRepeatable: true)
    rig.greet()
    rig.restart()
    #expect(rig.outcome(harmful) == "DaemonLost")
    #expect(rig.methods == ["hello", "request", "status", "hello", "status"])
    rig.answer(harmless)
    #expect(rig.outcome(harmless) == "{}")
  }

  @Test func theDaemonIsToldWhatIsLeftOfTheTimeAndAnswersFirst() {
    var rig = MachineRig()
    let id = rig.call("wait", .deadline(.seconds(10)), isRepeatable: true)
    rig.greet()
    #expect(rig.params("wait")?["timeout"] == 10_000)
    rig.pass(.seconds(4))
    rig.lose()
    rig.pass(.milliseconds(20))
    rig.greet()
    #expect(rig.params("wait")?["timeout"] == 5_980)
    rig.pass(.milliseconds(5_980))
    #expect(rig.outcome(id) == nil, "the daemon's own error would come now")
    rig.pass(.milliseconds(500))
    #expect(rig.outcome(id) == "CallTimeout")
    #expect(rig.methods.last == "rpc.cancel")
  }

  @Test func whatTakesNoTimeIsWaitedForFromItsWriting() {
    var rig = MachineRig()
    let id = rig.call("ping")
    rig.pass(.milliseconds(4_900))
    rig.greet()
    rig.pass(.milliseconds(4_900))
    #expect(rig.outcome(id) == nil)
    rig.pass(.milliseconds(100))
    #expect(rig.outcome(id) == "CallTimeout")
  }

  @Test func callsBeyondTheDaemonsLimitWaitInTheOrderOfTheirMaking() {
    var rig = MachineRig()
    let ids = (0..<4).map { _ in rig.call("send") }
    rig.greet(inflight: 2)
    #expect(rig.methods == ["hello", "send", "send"])
    rig.answer(ids[1])
    #expect(rig.written.last?["id"] == .number(JSONNumber(ids[2])))
    rig.answer(ids[0])
    #expect(rig.written.last?["id"] == .number(JSONNumber(ids[3])))
  }

  @Test func aCallThatIsTakenBackFillsItsPlaceUntilTheDaemonHasAnswered() {
    var rig = MachineRig()
    let first = rig.call("request")
    let second = rig.call("request")
    let third = rig.call("request")
    rig.greet(inflight: 1)
    rig.withdraw(first)
    rig.withdraw(second)
    #expect(rig.methods == ["hello", "request", "rpc.cancel"])
    rig.refuse(first, "Cancelled", retry: false)
    #expect(rig.written.last?["id"] == .number(JSONNumber(third)))
    #expect(rig.outcome(first) == nil && rig.outcome(second) == nil)
  }

  @Test func aDaemonThatIsAboutToStopIsAskedAgainAsLongAsItWouldBeWaitedFor() {
    var rig = MachineRig()
    let id = rig.call("send")
    rig.greet()
    for _ in 0..<19 {
      rig.refuse(id, "Draining", retry: true)
      rig.pass(.milliseconds(250))
    }
    #expect(rig.methods.filter { $0 == "send" }.count == 20)
    rig.refuse(id, "Draining", retry: true)
    rig.pass(.milliseconds(250))
    #expect(rig.outcome(id) == "Draining")
  }

  @Test func aWaitOutlivesOneDaemonThatStopsAfterTheOther() {
    var rig = MachineRig()
    let id = rig.call("wait", .unbounded, isRepeatable: true)
    rig.greet()
    for _ in 0..<2 {
      rig.refuse(id, "Draining", retry: true)
      rig.restart()
      rig.pass(.seconds(60))
    }
    rig.answer(id)
    #expect(rig.outcome(id) == "{}")
  }

  @Test func behindAGoodbyeNothingIsWrittenAndAnAnnouncedReturnIsWaitedFor() {
    var rig = MachineRig()
    let before = rig.call("ping")
    rig.greet()
    rig.answer(before)
    rig.notify("goodbye", #"{"reason":"restarting","reconnect_in":2000}"#)
    let after = rig.call("ping")
    rig.lose()
    rig.pass(.milliseconds(1_990))
    #expect(rig.dials == 1)
    rig.pass(.milliseconds(40))
    #expect(rig.dials == 2)
    rig.greet()
    rig.answer(after)
    #expect(rig.outcome(after) == "{}")
  }

  @Test func whoWasKickedDoesNotComeBack() {
    var rig = MachineRig()
    let posted = rig.call("status", isRepeatable: true)
    rig.greet()
    rig.notify("goodbye", #"{"reason":"kicked"}"#)
    rig.lose()
    #expect(rig.outcome(posted) == "Kicked")
    let later = rig.call("ping")
    #expect(rig.outcome(later) == "Kicked")
    #expect(rig.machine.nextDeadline == nil && rig.dials == 1)
  }

  @Test func aSocketThatMayNotBeOpenedFailsAtOnceAndALaterCallTriesAgain() {
    var rig = MachineRig()
    let first = rig.call("ping")
    rig.dialed(GatewayError(.socketForbidden, "", retry: false))
    #expect(rig.outcome(first) == "SocketForbidden")
    _ = rig.call("ping")
    #expect(rig.dials == 2)
  }

  @Test func attemptsBecomeRarerUntilTheTimeOfTheCallIsOver() {
    var rig = MachineRig()
    let id = rig.call("ping")
    let start = rig.now
    var attempts: [Duration] = []
    while rig.outcome(id) == nil {
      rig.dialed(GatewayError(.daemonUnavailable, "", retry: true))
      let before = rig.dials
      while rig.dials == before, rig.outcome(id) == nil, let next = rig.machine.nextDeadline {
        rig.pass(next - rig.now)
      }
      attempts.append(rig.now - start)
    }
    #expect(rig.outcome(id) == "DaemonUnavailable")
    #expect(attempts.last == .seconds(5))
    #expect((9...14).contains(attempts.count), "\(attempts)")
    #expect(rig.machine.link != .open)
  }

  @Test(arguments: [
    "junk", "[]", #"{"jsonrpc":"1.0","id":1,"result":{}}"#, #"{"jsonrpc":"2.0","id":0,"result":{}}"#,
    #"{"jsonrpc":"2.0","id":0,"result":{"instance":"i","limits":{"inflight":0}}}"#, #"{"jsonrpc":"2.0","id":0}"#,
    #"{"jsonrpc":"2.0","id":0,"error":{"code":-32602,"message":"","data":{"type":"InvalidParams"}}}"#,
  ])
  func whatDoesNotGreetAsTheDaemonDoesIsNone(line: String) {
    var rig = MachineRig()
    let id = rig.call("ping")
    rig.dialed()
    rig.say(line)
    #expect(rig.outcome(id) == "ProtocolMismatch")
    #expect(rig.hangUps == 1)
  }

  @Test func whatAnswersNoGreetingIsLeftAndTriedAgain() {
    var rig = MachineRig(connectTimeout: .seconds(2))
    let id = rig.call("ping")
    rig.dialed()
    rig.pass(.seconds(2))
    #expect(rig.hangUps == 1)
    rig.pass(.seconds(3))
    #expect(rig.outcome(id) == "DaemonUnavailable")
  }

  @Test func aCallThatFitsIntoNoLineIsRefusedAndTheOthersGoOn() {
    var rig = MachineRig()
    var params = Params()
    params["args"] = .array([.string(String(repeating: "x", count: 1_000))])
    let long = rig.call("send", params: params)
    let short = rig.call("ping")
    rig.greet(line: 1_000)
    #expect(rig.outcome(long) == "PayloadTooLarge")
    #expect(rig.methods == ["hello", "ping"])
    rig.answer(short)
    #expect(rig.outcome(short) == "{}")
  }

  @Test func anErrorOfTheClientAsAWholeIsTheReasonOfItsEnd() {
    var rig = MachineRig()
    let id = rig.call("ping")
    rig.dialed()
    rig.say(
      #"{"jsonrpc":"2.0","id":null,"error":{"code":-32008,"message":"","data":{"type":"QuotaExceeded","retry":true}}}"#)
    rig.lose()
    rig.pass(.seconds(5))
    #expect(rig.outcome(id) == "QuotaExceeded")
  }

  @Test func anErrorWithoutACallEndsTheCallsOfItsConnectionAndIsForgottenWithIt() {
    var rig = MachineRig()
    let unreadable = rig.call("send")
    rig.greet()
    rig.say(
      #"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"","data":{"type":"ParseError","retry":false}}}"#)
    #expect(rig.outcome(unreadable) == "ParseError")
    #expect(rig.hangUps == 1)
    let wait = rig.call("wait", .unbounded, isRepeatable: true)
    rig.pass(.milliseconds(20))
    rig.greet()
    rig.restart()
    rig.answer(wait)
    #expect(rig.outcome(wait) == "{}")
  }

  /// Whatever happens in whatever order: each call ends once, and nothing traps.
  @Test(arguments: UInt64(1)...200) func everyCallEndsOnce(seed: UInt64) {
    var random = Random(state: seed)
    var rig = MachineRig()
    var calls: [CallID] = []
    var withdrawn: Set<CallID> = []
    var subscriptions: [SubscriptionID] = []
    for _ in 0..<300 {
      switch random.below(16) {
      case 0: calls.append(rig.call("send", isRepeatable: random.below(2) == 0))
      case 1: calls.append(rig.call("wait", .deadline(.milliseconds(random.below(3_000)))))
      case 2:
        let (subscription, call) = rig.subscribe { options in
          options.window = random.below(2) == 0 ? 4 : nil
          options.wantsGaps = random.below(2) == 0
        }
        subscriptions.append(subscription)
        calls.append(call)
      case 3: rig.greet(inflight: 1 + random.below(4))
      case 4: rig.dialed(GatewayError(.daemonUnavailable, "", retry: true))
      case 5: rig.lose()
      case 6: rig.pass(.milliseconds(random.below(1_000)))
      case 7: rig.answer(calls.randomElement(using: &random) ?? 1)
      case 8: rig.subscribed(calls.randomElement(using: &random) ?? 1, seq: random.below(9))
      case 9: rig.refuse(calls.randomElement(using: &random) ?? 1, "Draining", retry: true)
      case 10: rig.refuse(rig.lastSubscribe, "UpstreamDown", retry: random.below(2) == 0)
      case 11: rig.event(random.below(100), subscription: "s\(1 + random.below(4))")
      case 12: rig.notify("gap", #"{"subscription":"s1","reason":"upstream","epoch":"f","seq":3}"#)
      case 13:
        if let id = subscriptions.randomElement(using: &random) { _ = rig.take(id) }
      case 14:
        guard let id = calls.randomElement(using: &random), rig.outcome(id) == nil else { break }
        withdrawn.insert(id)
        rig.withdraw(id)
      default:
        if let id = subscriptions.randomElement(using: &random) { rig.perform(rig.machine.unsubscribe(id)) }
      }
    }
    rig.close()
    for id in calls where !withdrawn.contains(id) { #expect(rig.outcome(id) != nil, "call \(id) of seed \(seed)") }
    for id in subscriptions { #expect(rig.read(id).hasPrefix("end")) }
    #expect(rig.machine.nextDeadline == nil)
  }
}

/// Numbers by a seed.
private struct Random: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state ^ (state >> 29)
  }

  mutating func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &self) }
}
