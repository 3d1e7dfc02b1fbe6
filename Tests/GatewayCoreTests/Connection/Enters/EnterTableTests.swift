import Testing

@testable import GatewayCore

/// What is said to a server at every connect, and undone with the last subscription that holds it.
@Suite struct EnterTableTests {
  private let harness = GatewayHarness()

  private static let room =
    #"{"upstream":"chat","enter":[{"event":"join","args":["a"]}],"#
    + #""leave":[{"event":"leave","args":["a"]}]}"#
  private static let acknowledged =
    #"{"upstream":"chat","enter":[{"event":"join","args":["a"],"ack":true}],"#
    + #""leave":[{"event":"leave","args":["a"]}]}"#

  private var channel: FakeChannel { harness.upstream.channel }

  private func subscriber(_ params: String = EnterTableTests.room, uid: UInt32 = 1_000) -> HarnessClient {
    let client = harness.client(uid: uid)
    client.call("subscribe", params)
    return client
  }

  /// A new link, after the loss of the one that is there.
  private func reconnect(recovered: Bool = false) {
    channel.fail(.closed)
    harness.pass(.seconds(60))
    channel.isRecovered = recovered
    channel.accept()
  }

  private func gaps(_ client: HarnessClient) -> [String?] {
    client.readValues().filter { $0["method"]?.stringValue == "gap" }.map { $0["params"]?["detail"]?.stringValue }
  }

  @Test func aRoomIsEnteredAtEveryConnectBeforeAnythingQueued() {
    let client = subscriber()
    client.call("send", #"{"upstream":"chat","event":"said"}"#, id: 2)
    channel.accept()
    #expect(channel.written == [#"join ["a"]"#, "said []"])
    reconnect()
    #expect(channel.written == [#"join ["a"]"#])
  }

  @Test func twoProgramsInOneRoomEnterItOnceAndLeaveItOnce() {
    let first = subscriber()
    channel.accept()
    let second = subscriber(uid: 2)
    #expect(channel.written == [#"join ["a"]"#])
    first.disconnect()
    #expect(channel.written == [#"join ["a"]"#])
    second.call("unsubscribe", #"{"subscription":"s1"}"#)
    #expect(channel.written == [#"join ["a"]"#, #"leave ["a"]"#])
    let other = subscriber(#"{"upstream":"chat"}"#)
    reconnect()
    #expect(channel.written.isEmpty)
    #expect(gaps(other).count == 1)
  }

  @Test func theSameMessageInAnotherSpellingIsTheSame() {
    let first = subscriber(#"{"upstream":"chat","enter":[{"event":"join","args":["ä/\"", {"k":1.0}]}]}"#)
    channel.accept()
    let second = subscriber(
      #"{"upstream":"chat","enter":[{"event":"join","args":[ "\u00e4\/\u0022",{ "k" : 1.0 } ],"kwargs":{}}]}"#, uid: 2)
    #expect(channel.written == [#"join ["ä/\"",{"k":1.0}]"#])
    first.disconnect()
    second.disconnect()
  }

  @Test func aProgramWithoutAckDoesNotWaitForAnothersAcknowledgement() {
    let other = subscriber(#"{"upstream":"chat"}"#)
    channel.accept()
    let first = subscriber(Self.acknowledged, uid: 2)
    let second = harness.client(uid: 3)
    #expect(!second.call("subscribe", Self.room).isEmpty)
    harness.pass(.seconds(60))
    #expect(first.readValues().contains { $0["error"] != nil })
    #expect(gaps(second).isEmpty && gaps(other).isEmpty)
    second.disconnect()
    #expect(channel.written == [#"join ["a"]#0"#, #"leave ["a"]"#])
  }

  @Test func aRoomMayBeLeftThoughTheLoginBeforeItIsNot() {
    let other = subscriber(#"{"upstream":"chat"}"#)
    let client = subscriber(
      #"{"upstream":"chat","enter":[{"event":"login"},{"event":"join","args":["a"]}],"#
        + #""leave":[null,{"event":"leave","args":["a"]}]}"#)
    channel.accept()
    client.disconnect()
    #expect(channel.written == ["login []", #"join ["a"]"#, #"leave ["a"]"#])
    #expect(gaps(other).isEmpty)
  }

  @Test func aRoomThatMayHaveBeenEnteredIsLeftOnARecoveredLink() {
    let other = subscriber(#"{"upstream":"chat"}"#)
    channel.accept()
    let client = subscriber(Self.acknowledged, uid: 2)
    channel.fail(.closed)
    client.disconnect()
    harness.pass(.seconds(60))
    channel.isRecovered = true
    channel.accept()
    #expect(channel.written == [#"leave ["a"]"#])
    other.disconnect()
  }

  @Test func theLastHolderLeavesAlsoForOneThatNamedWhatUndoesIt() {
    let first = subscriber()
    channel.accept()
    let second = subscriber(#"{"upstream":"chat","enter":[{"event":"join","args":["a"]}]}"#, uid: 2)
    first.disconnect()
    #expect(channel.written == [#"join ["a"]"#])
    second.disconnect()
    #expect(channel.written == [#"join ["a"]"#, #"leave ["a"]"#])
  }

  @Test func aSubscriptionThatTakesAnothersPlaceStaysInItsRooms() {
    let named = #"{"subscription":"mine","# + Self.room.dropFirst()
    let client = subscriber(named)
    channel.accept()
    client.call("subscribe", named, id: 2)
    #expect(channel.written == [#"join ["a"]"#])
  }

  @Test func messagesAreSaidInTheOrderInWhichTheyWereHeld() {
    let client = subscriber(
      #"{"upstream":"chat","enter":[{"event":"z"},{"event":"b","args":[1]},{"event":"a","kwargs":{"k":1}}]}"#)
    channel.accept()
    subscriber(#"{"upstream":"chat","enter":[{"event":"c"}]}"#, uid: 2).read()
    #expect(channel.written == ["z []", "b [1]", #"a []{"k":1}"#, "c []"])
    reconnect()
    #expect(channel.written == ["z []", "b [1]", #"a []{"k":1}"#, "c []"])
    client.disconnect()
  }

  @Test func theSubscriptionWaitsForAnAcknowledgementThatItAskedFor() {
    let first = subscriber()
    channel.accept()
    first.read()
    let client = harness.client(uid: 2)
    #expect(client.call("subscribe", Self.acknowledged).isEmpty)
    #expect(channel.written == [#"join ["a"]"#, #"join ["a"]#0"#])
    channel.acknowledge(0)
    #expect(client.readValues().first?["result"]?["state"]?.stringValue == "connected")
  }

  @Test func withoutTheAcknowledgementThereIsNoSubscription() {
    _ = subscriber(#"{"upstream":"chat"}"#)
    channel.accept()
    let client = harness.client(uid: 2)
    client.call("subscribe", Self.acknowledged)
    harness.pass(.seconds(11))
    #expect(client.readValues().first?["error"]?["data"]?["type"]?.stringValue == "UpstreamRefused")
    #expect(channel.forgotten == [0])
    // It may have arrived.
    #expect(channel.written == [#"join ["a"]#0"#, #"leave ["a"]"#])
    #expect(!channel.isClosed)
  }

  @Test func aProgramThatAsksForNoAcknowledgementHearsNothingOfItsAbsence() {
    let client = subscriber()
    channel.accept()
    client.read()
    _ = subscriber(Self.acknowledged, uid: 2)
    harness.pass(.seconds(11))
    #expect(client.read().isEmpty)
    #expect(channel.written == [#"join ["a"]"#, #"join ["a"]#0"#])
  }

  @Test func aServerThatDeclinesRefusesTheSubscription() {
    _ = subscriber(#"{"upstream":"chat"}"#)
    channel.accept()
    let client = harness.client(uid: 2)
    client.call("subscribe", Self.acknowledged)
    channel.decline(0, RemoteError("not.for.you"))
    let error = client.readValues().first?["error"]
    #expect(error?["data"]?["type"]?.stringValue == "UpstreamRefused")
    #expect(error?["data"]?["message"]?.stringValue == "not.for.you")
    #expect(channel.written == [#"join ["a"]#0"#])
  }

  @Test func anAcknowledgementHoldsUpNothingElse() {
    let client = subscriber(Self.acknowledged)
    client.call("send", #"{"upstream":"chat","event":"said"}"#, id: 2)
    channel.accept()
    #expect(channel.written == [#"join ["a"]#0"#, "said []"])
    #expect(harness.gateway.upstreams.pool.all.first?.state == .connected)
  }

  @Test func aLaterConnectThatIsNotAcknowledgedIsToldByAGapAndStands() {
    let client = subscriber(Self.acknowledged)
    channel.accept()
    channel.acknowledge(0)
    client.read()
    reconnect()
    harness.pass(.seconds(11))
    #expect(
      gaps(client).last == "the server refuses the message 'join': it did not acknowledge it within 10000 ms")
    #expect(harness.gateway.upstreams.pool.all.first?.state == .connected)
  }

  @Test func aServerThatGoesOnKeepsRoomsAndHearsOfNewOnes() {
    _ = subscriber()
    channel.accept()
    channel.fail(.closed)
    _ = subscriber(#"{"upstream":"chat","enter":[{"event":"join","args":["b"]}]}"#, uid: 2)
    harness.pass(.seconds(60))
    channel.isRecovered = true
    channel.accept()
    #expect(channel.written == [#"join ["b"]"#])
    reconnect(recovered: true)
    #expect(channel.written.isEmpty)
    reconnect()
    #expect(channel.written == [#"join ["a"]"#, #"join ["b"]"#])
  }

  @Test func aRoomWhoseLastProgramLeftWhileTheLinkWasGoneIsLeftWhereTheServerGoesOn() {
    _ = subscriber(#"{"upstream":"chat"}"#, uid: 2)
    let client = subscriber()
    channel.accept()
    channel.fail(.closed)
    client.disconnect()
    harness.pass(.seconds(60))
    channel.isRecovered = true
    channel.accept()
    #expect(channel.written == [#"leave ["a"]"#])
    reconnect(recovered: true)
    #expect(channel.written.isEmpty)
  }

  @Test func whatTheServerWouldNotTakeIsRefusedBeforeAnythingIsWritten() {
    _ = subscriber(#"{"upstream":"chat"}"#)
    channel.accept()
    harness.upstream.messageLimit = 8
    let client = harness.client(uid: 2)
    let lines = client.call(
      "subscribe", #"{"upstream":"chat","enter":[{"event":"a"},{"event":"b","args":["much too long"]}]}"#)
    #expect(HarnessClient.values(lines).first?["error"]?["data"]?["type"]?.stringValue == "PayloadTooLarge")
    #expect(channel.written.isEmpty)
    let reserved = client.call("subscribe", #"{"upstream":"chat","enter":[{"event":"connect"}]}"#)
    #expect(HarnessClient.values(reserved).first?["error"]?["data"]?["type"]?.stringValue == "InvalidParams")
  }

  @Test func whatTheServerNoLongerTakesIsToldByAGap() {
    let client = subscriber()
    channel.accept()
    client.read()
    harness.upstream.messageLimit = 2
    reconnect()
    #expect(channel.written.isEmpty)
    #expect(
      gaps(client).last == "the server refuses the message 'join': it has 5 bytes, and the server takes at most 2")
  }

  /// As the host of a fleet that has the link says it.
  @Test func whatTheOtherEndOfTheLinkDoesNotGiveToTheServerIsToldByAGap() {
    let client = subscriber()
    channel.confirmed = 0
    channel.accept()
    client.read()
    let other = subscriber(#"{"upstream":"chat","enter":[{"event":"watch","ack":true}]}"#, uid: 2)
    channel.refuse(.handedOver(number: 1))
    channel.refuse(.awaiting(ack: 0))
    let problem = "it has 101 bytes, and the server takes at most 100"
    #expect(gaps(client) == ["the server refuses the message 'join': \(problem)"])
    let error = other.readValues().last?["error"]
    #expect(error?["data"]?["message"]?.stringValue == problem)
    // It was not entered: nothing is to be left.
    client.disconnect()
    #expect(channel.written == [#"join ["a"]"#, "watch []#0"])
  }

  @Test func whatIsEnteredOnAnotherLinkIsNotRefusedByTheNumberOfTheLastOne() {
    let client = subscriber()
    channel.confirmed = 0
    channel.accept()
    reconnect()
    client.read()
    channel.refuse(.handedOver(number: 1))
    #expect(gaps(client) == [])
  }

  @Test func anUpstreamThatIsAskedByNamesHasNothingToEnter() {
    harness.upstream.confirmedInterests = .all
    let lines = harness.client().call("subscribe", Self.room)
    #expect(HarnessClient.values(lines).first?["error"]?["data"]?["type"]?.stringValue == "InvalidParams")
  }

  @Test(arguments: [
    #"{"upstream":"chat","enter":[]}"#, #"{"upstream":"chat","enter":{}}"#, #"{"upstream":"chat","enter":[{}]}"#,
    #"{"upstream":"chat","enter":[{"event":""}]}"#, #"{"upstream":"chat","enter":[{"event":"a","args":{}}]}"#,
    #"{"upstream":"chat","enter":[{"event":"a","ack":1}]}"#, #"{"upstream":"chat","enter":[{"event":"a","other":1}]}"#,
    #"{"upstream":"chat","enter":[{"event":"a"},{"event":"a"}]}"#, #"{"upstream":"chat","leave":[{"event":"a"}]}"#,
    #"{"upstream":"chat","enter":[{"event":"a","event":"b"}]}"#,
  ])
  func messagesThatAreNoneAreRefused(params: String) {
    let lines = harness.client().call("subscribe", params)
    #expect(HarnessClient.values(lines).first?["error"]?["data"]?["type"]?.stringValue == "InvalidParams")
  }

  @Test func oneUserEntersSoMuchOfAConnectionAndAnotherOneStillCan() {
    func params(_ first: Int, _ count: Int) -> String {
      let messages = (first..<(first + count)).map { #"{"event":"join","args":[\#($0)]}"# }
      return #"{"upstream":"chat","enter":["# + messages.joined(separator: ",") + "]}"
    }
    let client = harness.client()
    for first in 0..<10 { client.call("subscribe", params(first * 100, 100)) }
    let refused = HarnessClient.values(client.call("subscribe", params(1_000, 25))).first
    #expect(refused?["error"]?["data"]?["quota"]?.stringValue == "enter")
    #expect(HarnessClient.values(client.call("subscribe", params(0, 100))).first?["result"] != nil)
    #expect(HarnessClient.values(harness.client(uid: 2).call("subscribe", params(1_000, 25))).first?["result"] != nil)
  }

  @Test func theStatusCountsWhatIsHeld() {
    let client = subscriber()
    _ = subscriber(uid: 2)
    channel.accept()
    client.read()
    let status = HarnessClient.values(client.call("status", id: 3)).first
    #expect(status?["result"]?["connections"]?.elements?.first?["entered"] == .number("1"))
  }

  private func rule(_ allow: Set<AccessVerb>, _ events: [String]) -> AccessRule {
    AccessRule(subject: .user(1_000), upstreams: ["chat"], events: events, allow: allow)
  }

  @Test func eachMessageNeedsTheRightToSendIt() {
    harness.reload { $0.access = [rule([.subscribe], []), rule([.send], ["join"])] }
    let client = harness.client()
    let refused = HarnessClient.values(client.call("subscribe", Self.room)).first
    #expect(refused?["error"]?["data"]?["type"]?.stringValue == "PermissionDenied")
    #expect(refused?["error"]?["data"]?["event"]?.stringValue == "leave")
    let granted = client.call("subscribe", #"{"upstream":"chat","enter":[{"event":"join"}]}"#)
    #expect(HarnessClient.values(granted).first?["result"] != nil)
  }

  @Test func aProgramThatLosesTheRightNoLongerHoldsTheMessage() {
    harness.reload { $0.access = [rule([.subscribe, .send], [])] }
    let client = subscriber()
    channel.accept()
    client.read()
    harness.reload { $0.access = [rule([.subscribe], [])] }
    #expect(channel.written == [#"join ["a"]"#, #"leave ["a"]"#])
    #expect(gaps(client) == ["the right to send 'join' is gone, which is not said any more"])
    reconnect()
    #expect(channel.written.isEmpty)
  }

  @Test func aLeaveWithoutTheRightIsNotSaidLater() {
    harness.reload { $0.access = [rule([.subscribe, .send], [])] }
    let client = subscriber()
    channel.accept()
    harness.reload { $0.access = [rule([.subscribe], []), rule([.send], ["join"])] }
    client.disconnect()
    #expect(channel.written == [#"join ["a"]"#])
  }

  private static let ops = EnterMessage("join", args: Array(#"["a"]"#.utf8))

  @Test func whatTheConfigurationSaysComesFirstAndIsNeverLeft() {
    let harness = GatewayHarness { $0.upstreams["chat"]?.settings.onConnect = [Self.ops] }
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat","enter":[{"event":"watch"}]}"#)
    client.call("subscribe", Self.room, id: 2)
    harness.upstream.channel.accept()
    #expect(harness.upstream.channel.written == [#"join ["a"]"#, "watch []"])
    client.disconnect()
    #expect(harness.upstream.channel.written == [#"join ["a"]"#, "watch []"])
  }

  @Test func aLeaveOfAProgramThatHasGoneIsNotSaidAfterItsUserLostTheRight() {
    harness.reload { $0.access = [rule([.subscribe, .send], [])] }
    let first = subscriber(#"{"upstream":"chat","enter":[{"event":"join","args":["a"]}]}"#)
    channel.accept()
    let second = subscriber()
    second.disconnect()
    harness.reload { $0.access = [rule([.subscribe], []), rule([.send], ["join"])] }
    first.disconnect()
    #expect(channel.written == [#"join ["a"]"#])
  }

  @Test func aReloadSaysWhatTheConfigurationAddsAndNotWhatItLeavesOut() {
    _ = subscriber(#"{"upstream":"chat","enter":[{"event":"watch"}]}"#)
    channel.accept()
    harness.reload { $0.upstreams["chat"]?.settings.onConnect = [Self.ops] }
    harness.pass(.seconds(1))
    channel.accept()
    #expect(channel.written == [#"join ["a"]"#, "watch []"])
    harness.reload { $0.upstreams["chat"]?.settings.onConnect = [] }
    harness.pass(.seconds(1))
    channel.accept()
    #expect(channel.written == ["watch []"])
  }

  @Test func anotherNamespaceOfTheUpstreamHearsNothingOfIt() {
    let harness = GatewayHarness { $0.upstreams["chat"]?.settings.onConnect = [Self.ops] }
    harness.client().call("subscribe", #"{"upstream":"chat","namespace":"/other"}"#)
    harness.upstream.channel.accept()
    #expect(harness.upstream.channel.written.isEmpty)
  }

  @Test func aHandOverTakesAlongWhatIsHeld() {
    let held = HeldEnter(
      enter: EnterRequest(message: EnterMessage("join", args: Array(#"["a"]"#.utf8)), wantsAck: true),
      leave: EnterRequest(message: EnterMessage("leave", args: Array("[1]".utf8), kwargs: Array(#"{"k":2}"#.utf8))))
    let bare = HeldEnter(enter: EnterRequest(message: EnterMessage("feed", args: Array("[]".utf8))))
    let call = SubscribeCall(
      target: CallTarget(name: .upstream("chat")), subscription: "mine", enters: [bare, held])
    let line = call.line(nil)
    guard let read = try? LocalRequest.parse(line.span.bytes).call as? SubscribeCall else {
      Issue.record("the line is not understood: \(String(decoding: line, as: UTF8.self))")
      return
    }
    #expect(read.enters == [bare, held])
  }
}
