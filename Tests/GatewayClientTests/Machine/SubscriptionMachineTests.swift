import Testing

@testable import GatewayClient

@Suite struct SubscriptionMachineTests {
  /// A rig with one subscription that the daemon has made.
  private func live(_ change: (inout SubscribeOptions) -> Void = { _ in }) -> (MachineRig, SubscriptionID) {
    var rig = MachineRig()
    let (id, call) = rig.subscribe(change)
    rig.greet()
    rig.subscribed(call, seq: 7)
    return (rig, id)
  }

  @Test func itIsMadeAgainBehindTheLastEventThatCame() {
    var (rig, id) = live()
    rig.event(8)
    rig.event(9)
    #expect(rig.read(id) == "tick 8")
    rig.restart()
    #expect(rig.params("subscribe")?["since"] == ["epoch": "e", "seq": 9])
    #expect(rig.machine.position(of: id) == Position(epoch: "e", seq: 8))
    rig.subscribed(rig.lastSubscribe, seq: 12)
    rig.event(10)
    #expect([rig.read(id), rig.read(id), rig.read(id)] == ["tick 9", "tick 10", "nothing"])
  }

  @Test func aRoomIsEnteredAgainWithTheSubscription() throws {
    let enter = try EnterMessage.text(of: [EnterMessage("join", ["ops"]), EnterMessage("watch", ack: true)])
    let leave = try EnterMessage.text(of: [EnterMessage("leave", [.bytes([0])], kwargs: ["k": 1]), nil])
    var (rig, _) = live {
      $0.enter = enter
      $0.leave = leave
    }
    for _ in 0..<2 {
      #expect(
        rig.params("subscribe")?["enter"] == [
          ["event": "join", "args": ["ops"]], ["event": "watch", "args": [], "ack": true],
        ])
      #expect(
        rig.params("subscribe")?["leave"] == [
          ["event": "leave", "args": [["$bin": "AA=="]], "kwargs": ["k": 1]], .null,
        ])
      rig.restart()
    }
  }

  @Test func whatIsEnteredIsNotNestedTooDeeply() {
    let deep = (0..<Arguments.depthLimit).reduce(JSON.null) { value, _ in [value] }
    #expect(throws: GatewayError.self) { try EnterMessage.text(of: [EnterMessage("join", [deep])]) }
    #expect(throws: Never.self) { try EnterMessage.text(of: []) }
  }

  @Test func aGapAloneMovesItIntoAnotherEpoch() {
    var (rig, id) = live { $0.wantsGaps = true }
    rig.event(8)
    rig.notify("state", #"{"subscription":"s1","state":"connected","epoch":"f"}"#)
    rig.restart()
    #expect(rig.params("subscribe")?["since"] == ["epoch": "e", "seq": 8])
    rig.subscribed(rig.lastSubscribe, epoch: "f", seq: 20)
    rig.notify("gap", #"{"subscription":"s1","reason":"upstream","epoch":"f","seq":20}"#)
    rig.notify("gap", #"{"subscription":"s1","reason":"too_large","epoch":"f","from":21,"to":22}"#)
    rig.restart()
    #expect(rig.params("subscribe")?["since"] == ["epoch": "f", "seq": 22])
    #expect([rig.read(id), rig.read(id), rig.read(id)] == ["tick 8", "gap upstream", "gap too_large"])
    #expect(rig.machine.position(of: id) == Position(epoch: "f", seq: 22))
  }

  @Test func whatNobodyAskedForMovesThePositionAndTakesNoRoom() {
    var (rig, id) = live()
    rig.event(8)
    for seq in 9..<1_000 {
      rig.notify("gap", #"{"subscription":"s1","reason":"too_large","epoch":"e","from":\#(seq),"to":\#(seq)}"#)
    }
    #expect([rig.read(id), rig.read(id)] == ["tick 8", "nothing"])
    #expect(rig.machine.position(of: id) == Position(epoch: "e", seq: 999))
  }

  @Test func aReplayOfWhichNothingCameIsAskedForAgain() {
    var rig = MachineRig()
    let (_, call) = rig.subscribe { $0.last = 2 }
    rig.greet()
    rig.subscribed(call, seq: 7, replayed: 2)
    rig.restart()
    #expect(rig.params("subscribe")?["last"] == 2 && rig.params("subscribe")?["since"] == nil)
    rig.subscribed(rig.lastSubscribe, seq: 7, replayed: 2)
    rig.event(6)
    rig.restart()
    #expect(rig.params("subscribe")?["since"] == ["epoch": "e", "seq": 6])
  }

  @Test func onlyItsBeginningIsStrict() {
    var (rig, _) = live {
      $0.since = Position(epoch: "e", seq: 1)
      $0.isStrict = true
    }
    #expect(rig.params("subscribe")?["strict"] == true)
    rig.restart()
    #expect(rig.params("subscribe")?["strict"] == nil)
  }

  @Test func theDaemonIsAskedForMoreWhenHalfOfTheWindowIsFree() {
    var (rig, id) = live { $0.window = 4 }
    #expect(rig.params("subscribe")?["credit"] == 4)
    for seq in 8..<12 { rig.event(seq) }
    _ = rig.read(id)
    #expect(rig.params("credit") == nil)
    _ = rig.read(id)
    #expect(rig.params("credit") == ["subscription": "s1", "n": 2])
    rig.event(12)
    rig.restart()
    #expect(rig.params("subscribe")?["credit"] == 1, "three are here")
    for _ in 0..<3 { _ = rig.read(id) }
    rig.subscribed(rig.lastSubscribe, seq: 12)
    #expect(rig.params("credit")?["n"] == 3, "what was taken while the daemon was away makes room")
  }

  @Test func whatTheDaemonCannotDoNowIsAskedForAgain() {
    var (rig, id) = live()
    rig.restart()
    let second = rig.lastSubscribe
    rig.refuse(second, "QuotaExceeded", retry: true)
    rig.pass(.milliseconds(250))
    #expect(rig.lastSubscribe > second)
    rig.subscribed(rig.lastSubscribe, seq: 7)
    rig.event(8)
    #expect(rig.read(id) == "tick 8")
  }

  @Test func aRefusalForGoodEndsItBehindWhatCame() {
    var (rig, id) = live()
    rig.event(8)
    rig.restart()
    rig.refuse(rig.lastSubscribe, "PermissionDenied", retry: false)
    #expect([rig.read(id), rig.read(id), rig.read(id)] == ["tick 8", "end PermissionDenied", "end"])
  }

  @Test func theFirstRefusalIsThatOfTheCall() {
    var rig = MachineRig()
    let (id, call) = rig.subscribe()
    rig.greet()
    rig.refuse(call, "UpstreamUnknown", retry: false)
    #expect(rig.outcome(call) == "UpstreamUnknown" && rig.read(id) == "end")
    rig.restart()
    #expect(rig.methods == ["hello", "subscribe"], "nothing needs the daemon any more")
  }

  @Test func oneThatIsLeftBeforeItsAnswerIsTakenBack() {
    var rig = MachineRig()
    let (_, call) = rig.subscribe()
    rig.greet()
    rig.withdraw(call)
    #expect(rig.methods == ["hello", "subscribe", "rpc.cancel", "unsubscribe"])
    rig.subscribed(call)
    rig.event(1)
    rig.restart()
    #expect(rig.methods.count == 4)
  }

  @Test func statesTellWhenTheDaemonIsGone() {
    var (rig, id) = live { $0.wantsStates = true }
    rig.lose()
    #expect([rig.read(id), rig.read(id), rig.read(id)] == ["state connected", "state daemon_lost", "nothing"])
  }

  @Test func itComesBackBeforeCallsThatWait() {
    var rig = MachineRig()
    let (_, call) = rig.subscribe()
    rig.greet()
    rig.subscribed(call)
    rig.lose()
    for _ in 0..<9 { _ = rig.call("request") }
    rig.pass(.milliseconds(20))
    rig.greet(inflight: 1)
    #expect(rig.methods.last == "subscribe")
  }

  @Test func closingDropsWhatIsThere() {
    var (rig, id) = live()
    rig.event(8)
    rig.perform(rig.machine.unsubscribe(id))
    #expect(rig.read(id) == "end" && rig.methods.last == "unsubscribe")
  }
}
