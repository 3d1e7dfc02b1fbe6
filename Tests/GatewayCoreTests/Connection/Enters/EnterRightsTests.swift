import Testing

@testable import GatewayCore

/// In whose name something is said for subscriptions: what undoes a message is said while the user who named it may
/// say it, and the one who was the last to hold it. What is said counts for the one who was the first.
@Suite struct EnterRightsTests {
  private let harness = GatewayHarness {
    $0.access = [EnterRightsTests.rule(1_000, []), EnterRightsTests.rule(2, [])]
  }

  private static let room =
    #"{"upstream":"chat","enter":[{"event":"join"}],"leave":[{"event":"leave"}]}"#
  private static let bare = #"{"upstream":"chat","enter":[{"event":"join"}]}"#

  private var channel: FakeChannel { harness.upstream.channel }

  private static func rule(_ uid: UInt32, _ events: [String], _ allow: Set<AccessVerb> = [.subscribe, .send])
    -> AccessRule
  {
    AccessRule(subject: .user(uid), upstreams: ["chat"], events: events, allow: allow)
  }

  /// From now on the users 1,000 and 2 may send these; no events: every one.
  private func permit(_ first: [String], _ second: [String]) {
    harness.reload {
      $0.access = [
        Self.rule(1_000, [], [.subscribe]), Self.rule(2, [], [.subscribe]), Self.rule(1_000, first),
        Self.rule(2, second),
      ]
    }
  }

  private func subscriber(_ params: String, uid: UInt32 = 1_000) -> HarnessClient {
    let client = harness.client(uid: uid)
    client.call("subscribe", params)
    return client
  }

  /// A program of the second user names what undoes a message that one of the first holds, and has gone.
  private func oneThatStaysAndOneThatNamedAndLeft() -> HarnessClient {
    let first = subscriber(Self.bare)
    channel.accept()
    subscriber(Self.room, uid: 2).disconnect()
    #expect(channel.written == ["join []"])
    return first
  }

  @Test func aRoomIsLeftAfterAReloadThatTakesNoRightToLeaveIt() {
    let first = oneThatStaysAndOneThatNamedAndLeft()
    harness.reload { $0.limits.sendQueueBytes += 1 }
    permit([], ["join", "leave"])
    first.disconnect()
    #expect(channel.written == ["join []", "leave []"])
  }

  @Test func whatAUserMayNotSayAnyMoreIsNotSaidForAProgramOfItThatHasGone() {
    let first = oneThatStaysAndOneThatNamedAndLeft()
    permit([], ["join"])
    first.disconnect()
    #expect(channel.written == ["join []"])
  }

  @Test func whatTheLastProgramMayNotSayIsNotSaidAtItsEnd() {
    permit(["join"], [])
    let first = oneThatStaysAndOneThatNamedAndLeft()
    first.disconnect()
    #expect(channel.written == ["join []"])
  }

  @Test func theLastProgramSaysWhatItNamedItselfWhenTheOthersRightIsGone() {
    let first = subscriber(Self.room)
    channel.accept()
    subscriber(Self.room, uid: 2).disconnect()
    permit([], ["join"])
    first.disconnect()
    #expect(channel.written == ["join []", "leave []"])
  }

  @Test func whatTwoHaveNamedIsSaidWhileOneOfThemMay() {
    let last = subscriber(Self.bare)
    channel.accept()
    subscriber(Self.room).disconnect()
    subscriber(Self.room, uid: 2).disconnect()
    permit([], ["join"])
    last.disconnect()
    #expect(channel.written == ["join []", "leave []"])
  }

  @Test func aRightThatComesBackIsThere() {
    let first = oneThatStaysAndOneThatNamedAndLeft()
    permit([], ["join"])
    permit([], [])
    first.disconnect()
    #expect(channel.written == ["join []", "leave []"])
  }

  // MARK: - While there is no link

  /// The link is lost, its last program goes, other rights come, and the server goes on where it was.
  private func recoveredAfter(_ change: () -> Void) {
    let stays = subscriber(#"{"upstream":"chat"}"#)
    let first = oneThatStaysAndOneThatNamedAndLeft()
    channel.fail(.closed)
    first.disconnect()
    change()
    harness.pass(.seconds(60))
    channel.isRecovered = true
    channel.accept()
    stays.read()
  }

  @Test func aRoomIsLeftOnARecoveredLinkAfterAReloadThatTakesNoRight() {
    recoveredAfter { harness.reload { $0.limits.sendQueueBytes += 1 } }
    #expect(channel.written == ["leave []"])
  }

  @Test func aRecoveredLinkHearsNothingThatItsUserMayNotSayAnyMore() {
    recoveredAfter { permit([], ["join"]) }
    #expect(channel.written.isEmpty)
  }

  @Test func aRecoveredLinkHearsNothingThatTheLastProgramMayNotSay() {
    recoveredAfter { permit(["join"], []) }
    #expect(channel.written.isEmpty)
  }

  @Test func aReloadBetweenThePortionsOfAConnectIsHeeded() {
    let stays = subscriber(#"{"upstream":"chat"}"#)
    channel.accept()
    func rooms(_ first: Int) -> String {
      let numbers = first..<(first + 100)
      return #"{"upstream":"chat","enter":["#
        + numbers.map { #"{"event":"join","args":[\#($0)]}"# }.joined(separator: ",") + #"],"leave":["#
        + numbers.map { #"{"event":"leave","args":[\#($0)]}"# }.joined(separator: ",") + "]}"
    }
    let clients = [subscriber(rooms(0)), subscriber(rooms(100))]
    harness.pass(.seconds(4))
    channel.fail(.closed)
    for client in clients { client.disconnect() }
    harness.pass(.seconds(60))
    channel.isRecovered = true
    channel.accept()
    #expect(channel.written.count == Enters.portion.count)
    permit(["join"], [])
    harness.pass(.milliseconds(1))
    #expect(channel.written.count == Enters.portion.count)
    stays.read()
  }

  // MARK: - Reloads

  @Test func aProgramThatMayStillLeaveIsHeededWhenAnotherOneEndsTheRoom() {
    let first = subscriber(Self.room)
    channel.accept()
    let second = subscriber(Self.bare, uid: 2)
    permit(["leave"], [])
    #expect(channel.written == ["join []"])
    second.disconnect()
    #expect(channel.written == ["join []", "leave []"])
    first.disconnect()
  }

  @Test func aRoomIsLeftAfterItsUpstreamGotOtherSettings() {
    let first = oneThatStaysAndOneThatNamedAndLeft()
    harness.reload { $0.upstreams["chat"]?.settings.reconnect.base = .milliseconds(2) }
    harness.pass(.seconds(60))
    channel.accept()
    #expect(channel.written == ["join []"])
    first.disconnect()
    #expect(channel.written == ["join []", "leave []"])
  }

  @Test func aReloadThatHasNotComeToAConnectionYetIsHeededThere() {
    harness.reload { $0.limits.connections = 2_000 }
    // More connections than a reload goes through in one turn.
    let others = (0..<3).map { _ in harness.client() }
    for number in 0..<300 {
      others[number % 3].call("subscribe", #"{"upstream":"chat","namespace":"/n\#(number)"}"#)
      while harness.upstream.channels.count <= number { harness.pass(.milliseconds(100)) }
      channel.accept()
    }
    let first = subscriber(Self.bare)
    while harness.upstream.channels.count <= 300 { harness.pass(.milliseconds(100)) }
    channel.accept()
    subscriber(Self.room, uid: 2).disconnect()
    permit([], ["join"])
    first.disconnect()
    #expect(channel.written == ["join []"])
    harness.pass(.milliseconds(1))
    #expect(channel.written == ["join []"])
  }

  // MARK: - Who pays

  @Test func whoHeldAMessageFirstPaysForItAtEachConnect() {
    let harness = GatewayHarness {
      $0.limits.sendQueueBytes = 10_000
      $0.upstreams["chat"]?.settings.reconnect.base = .milliseconds(1)
      $0.upstreams["chat"]?.settings.reconnect.cap = .milliseconds(1)
    }
    let text = String(repeating: "x", count: 8_000)
    let clients = (0..<8).map { harness.client(uid: 1_000 + $0) }
    for client in clients {
      client.call("subscribe", #"{"upstream":"chat","enter":[{"event":"join","args":["\#(text)"]}]}"#)
    }
    let send = #"{"upstream":"chat","event":"e","args":["\#(text.prefix(4_000))"]}"#
    func isTaken(_ client: HarnessClient) -> Bool {
      HarnessClient.values(client.call("send", send, id: 2)).last?["result"] != nil
    }
    for _ in 0..<3 {
      harness.upstream.channel.accept()
      harness.upstream.channel.unsentBytes = 8_000
      harness.client(uid: 1).call("send", #"{"upstream":"chat","event":"e","args":["\#(text.prefix(2_000))"]}"#)
      harness.upstream.channel.unsentBytes = 10_000
      #expect(!isTaken(clients[0]))
      #expect(isTaken(clients[1]))
      harness.upstream.channel.unsentBytes = 0
      harness.pass(.seconds(4))
      harness.upstream.channel.fail(.closed)
      harness.pass(.milliseconds(10))
    }
  }
}
