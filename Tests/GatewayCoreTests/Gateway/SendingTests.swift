import Testing

@testable import GatewayCore

/// Sends and requests: queued while there is no connection, settled exactly once.
@Suite struct SendingTests {
  private static func kind(_ lines: [String]) -> String? {
    HarnessClient.values(lines).first?["error"]?["data"]?["type"]?.stringValue
  }

  private static let send = #"{"upstream":"chat","event":"e","args":[1]}"#
  private static let request = #"{"upstream":"chat","event":"ask","args":["x"],"timeout":5000}"#

  @Test func sendsQueuedWhileDisconnectedLeaveInTheirOrder() {
    let harness = GatewayHarness()
    let client = harness.client()
    for number in 1...3 { client.call("send", #"{"upstream":"chat","event":"e","args":[\#(number)]}"#) }
    harness.upstream.channel.accept()
    client.call("send", #"{"upstream":"chat","event":"e","args":[4]}"#)
    #expect(harness.upstream.channel.written == ["e [1]", "e [2]", "e [3]", "e [4]"])
  }

  @Test func aRequestIsAnsweredWithTheServersArgumentsVerbatim() {
    let harness = GatewayHarness()
    let client = harness.client()
    #expect(client.call("request", Self.request, id: 9).isEmpty)
    harness.upstream.channel.accept()
    #expect(harness.upstream.channel.written == [#"ask ["x"]#0"#])
    harness.upstream.channel.acknowledge(0, #"9007199254740993, "é""#)
    #expect(client.read() == [#"{"jsonrpc":"2.0","id":9,"result":{"args":[9007199254740993, "é"]}}"#])
    harness.upstream.channel.acknowledge(0, "again")
    #expect(client.read().isEmpty)
  }

  @Test func whatTheOtherEndOfTheLinkRefusesFailsThatCallAlone() {
    let harness = GatewayHarness()
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#, id: 1)
    harness.upstream.channel.accept()
    harness.upstream.channel.confirmed = 0
    client.read()
    client.call("request", Self.request, id: 2)
    client.call("send", #"{"upstream":"chat","event":"e","delivery":"sent"}"#, id: 3)
    client.call("request", Self.request, id: 4)
    harness.upstream.channel.refuse(.handedOver(number: 2))
    harness.upstream.channel.refuse(.awaiting(ack: 1))
    let ends = HarnessClient.values(client.read())
    #expect(ends.map { $0["id"]?.integerValue } == [3, 4])
    #expect(ends.allSatisfy { $0["error"]?["data"]?["type"]?.stringValue == "PayloadTooLarge" })
    harness.upstream.channel.acknowledge(0, "1")
    #expect(client.read() == [#"{"jsonrpc":"2.0","id":2,"result":{"args":[1]}}"#])
  }

  /// A subscriber of a link whose other end has confirmed nothing yet.
  private func confirming() -> (harness: GatewayHarness, client: HarnessClient, channel: FakeChannel) {
    let harness = GatewayHarness()
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    let channel = harness.upstream.channel
    channel.accept()
    channel.confirmed = 0
    return (harness, client, channel)
  }

  @Test func aSendThatIsNotConfirmedInTimeIsAnsweredAtItsTimeout() {
    let (harness, client, channel) = confirming()
    client.read()
    let params = #"{"upstream":"chat","event":"e","delivery":"sent","timeout":500}"#
    client.call("send", params, id: 2)
    harness.pass(.milliseconds(100))
    client.call("send", params, id: 3)
    client.call("send", params, id: 4)
    harness.pass(.milliseconds(390))
    #expect(client.read() == [])
    harness.pass(.milliseconds(20))
    let first = HarnessClient.values(client.read())
    #expect(first.map { $0["id"]?.integerValue } == [2])
    #expect(first.first?["error"]?["data"]?["type"]?.stringValue == "AckTimeout")
    channel.confirmed = 2
    harness.pass(.seconds(1))
    let rest = HarnessClient.values(client.read())
    #expect(rest.map { $0["id"]?.integerValue } == [3, 4])
    #expect(rest.map { $0["result"]?["state"]?.stringValue } == ["sent", nil])
    #expect(rest.last?["error"]?["data"]?["type"]?.stringValue == "AckTimeout")
  }

  @Test func whatWouldWaitAtTheOtherEndOfTheLinkWaitsInTheQueue() {
    let harness = GatewayHarness()
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    let channel = harness.upstream.channel
    channel.accept()
    (channel.confirmed, channel.isCongested) = (0, true)
    client.read()
    for more in [#","ttl":1000"#, #","coalesce":"c""#, #","coalesce":"c","args":[2]"#] {
      #expect(client.call("send", #"{"upstream":"chat","event":"e"\#(more)}"#)[0].contains(#""state":"accepted""#))
    }
    client.call("request", #"{"upstream":"chat","event":"ask","timeout":2000}"#, id: 2)
    client.call("request", Self.request, id: 3)
    harness.pass(.seconds(3))
    let end = HarnessClient.values(client.read()).last { $0["id"]?.integerValue == 2 }?["error"]
    #expect(end?["data"]?["type"]?.stringValue == "UpstreamDown")
    #expect(end?["data"]?["detail"]?.stringValue == "what was sent before it had not left in time")
    #expect(channel.written == [])
    channel.isCongested = false
    harness.pass(.milliseconds(10))
    #expect(channel.written.map { $0.split(separator: "#")[0] } == ["e [2]", #"ask ["x"]"#])
  }

  @Test func aRequestThatWaitsForItsClientsDurableSendIsToldOfTheDisk() {
    let harness = GatewayHarness(outbox: .open(FakeOutboxStore(), []))
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    harness.upstream.channel.accept()
    client.call("send", #"{"upstream":"chat","event":"e","delivery":"durable"}"#)
    client.call("request", #"{"upstream":"chat","event":"ask","timeout":1000}"#, id: 2)
    harness.pass(.seconds(1))
    let end = HarnessClient.values(client.read()).last { $0["id"]?.integerValue == 2 }?["error"]
    #expect(end?["data"]?["type"]?.stringValue == "UpstreamDown")
    #expect(end?["data"]?["detail"]?.stringValue == "what was sent before it was not on the disk in time")
    #expect(harness.upstream.channel.written == [])
  }

  @Test func noTryIsUsedUpWhileNothingCanBeSaid() {
    let (harness, client, channel) = confirming()
    client.call("send", #"{"upstream":"chat","event":"e","retries":1,"ack_timeout":1000}"#)
    channel.isCongested = true
    harness.pass(.seconds(5))
    #expect(channel.written == ["e []#0"])
    channel.isCongested = false
    harness.pass(.seconds(1))
    #expect(channel.written == ["e []#0", "e []#1"])
  }

  @Test func aDeadlineBeforeTheWriteIsUpstreamDownAndTheCommandIsTakenBack() {
    let harness = GatewayHarness()
    let client = harness.client()
    client.call("request", Self.request)
    harness.pass(.seconds(6))
    #expect(Self.kind(client.read()) == "UpstreamDown")
    harness.upstream.channel.accept()
    #expect(harness.upstream.channel.written.isEmpty)
  }

  @Test func aDeadlineAfterTheWriteIsAckTimeout() {
    let harness = GatewayHarness()
    let client = harness.client()
    client.call("request", Self.request)
    harness.upstream.channel.accept()
    harness.pass(.seconds(6))
    #expect(Self.kind(client.read()) == "AckTimeout")
  }

  @Test func aBrokenLinkAfterTheWriteIsAckLostAtOnce() {
    let harness = GatewayHarness()
    let client = harness.client()
    client.call("request", Self.request)
    harness.upstream.channel.accept()
    harness.upstream.channel.fail(.closed)
    #expect(Self.kind(client.read()) == "AckLost")
  }

  @Test func aRefusalFailsWaitingRequestsAndKeepsQueuedSends() {
    let harness = GatewayHarness()
    let client = harness.client()
    client.call("send", Self.send)
    client.call("request", Self.request)
    harness.upstream.channel.fail(
      UpstreamFailure(.refused, "refused", serverMessage: "no token", serverData: Array(#"{"c":1}"#.utf8)))
    let answer = client.readValues()[0]["error"]?["data"]
    #expect(answer?["type"]?.stringValue == "UpstreamRefused")
    #expect(answer?["message"]?.stringValue == "no token")
    #expect(answer?["data"]?["c"]?.integerValue == 1)
    harness.pass(.seconds(61))
    harness.upstream.channel.accept()
    #expect(harness.upstream.channel.written == ["e [1]"])
  }

  @Test func aRequestWhileRefusedTriggersOneAttemptAndFailsTheSameWay() {
    let harness = GatewayHarness()
    harness.random.prescribed = [.max, .max, .max, .max, .max, .max, .max, .max]
    let client = harness.client()
    client.call("request", Self.request)
    harness.upstream.channel.fail(.refused)
    #expect(Self.kind(client.read()) == "UpstreamRefused")
    harness.pass(.seconds(2))
    client.call("subscribe", #"{"upstream":"chat"}"#)
    #expect(harness.upstream.channels.count == 1)
    client.call("request", Self.request)
    #expect(harness.upstream.channels.count == 2)
    harness.upstream.channel.fail(.refused)
    #expect(Self.kind(client.read()) == "UpstreamRefused")
  }

  @Test func noQueueGivesACreatedConnectionItsFirstAttempt() {
    let harness = GatewayHarness()
    let client = harness.client()
    let params = #"{"upstream":"chat","event":"e","no_queue":true}"#
    #expect(client.call("send", params).isEmpty)
    harness.upstream.channel.accept()
    let result = client.readValues()[0]["result"]
    #expect(result?["state"]?.stringValue == "accepted")
    #expect(harness.upstream.channel.written == ["e []"])
  }

  @Test func noQueueFailsAtOnceInEveryOtherUnconnectedState() {
    let harness = GatewayHarness()
    let client = harness.client()
    let params = #"{"upstream":"chat","event":"e","no_queue":true}"#
    client.call("send", params)
    harness.upstream.channel.fail(.unreachable)
    #expect(Self.kind(client.read()) == "UpstreamDown")
    #expect(Self.kind(client.call("send", params)) == "UpstreamDown")
    harness.pass(.seconds(2))
    #expect(harness.upstream.channels.count == 1)
  }

  @Test func anExpiredSendIsNeverWritten() {
    let harness = GatewayHarness()
    let client = harness.client()
    client.call("send", #"{"upstream":"chat","event":"late","ttl":1000}"#)
    client.call("send", #"{"upstream":"chat","event":"e","delivery":"sent","ttl":2000}"#)
    harness.pass(.seconds(3))
    #expect(Self.kind(client.read()) == "Expired")
    harness.upstream.channel.accept()
    #expect(harness.upstream.channel.written.isEmpty)
    let failed = harness.facts.compactMap { (fact) -> SendFact? in
      if case .sendFailed(_, let send, "expired") = fact { send } else { nil }
    }
    #expect(failed.map(\.event) == ["late"] && failed.map(\.uid) == [1_000])
  }

  @Test func aVolatileSendIsDroppedUnlessItCanBeWrittenNow() {
    let harness = GatewayHarness()
    let client = harness.client()
    let params = #"{"upstream":"chat","event":"v","volatile":true}"#
    #expect(client.call("send", params)[0].contains(#""state":"dropped""#))
    client.call("subscribe", #"{"upstream":"chat"}"#)
    harness.upstream.channel.accept()
    harness.upstream.channel.isCongested = true
    #expect(client.call("send", params)[0].contains(#""state":"dropped""#))
    harness.upstream.channel.isCongested = false
    // Others have written in the same turn of the loop.
    harness.upstream.channel.unsentBytes = 1
    #expect(client.call("send", params)[0].contains(#""state":"accepted""#))
    #expect(harness.upstream.channel.written == ["v []"])
  }

  @Test func aFullQueueIsToldWithItsLimit() {
    let harness = GatewayHarness { $0.limits.sendQueue = 2 }
    let client = harness.client()
    client.call("send", Self.send)
    client.call("send", Self.send)
    let error = HarnessClient.values(client.call("send", Self.send))[0]["error"]?["data"]
    #expect(error?["type"]?.stringValue == "QueueFull")
    #expect(error?["limit"]?.integerValue == 2)
    #expect(error?["retry"] == .bool(true))
  }

  @Test func aSendThatCanNeverFitIsNotToldToTryAgain() {
    let send = #"{"upstream":"chat","event":"e","args":["\#(String(repeating: "x", count: 4_096))"]}"#
    func check(_ setting: String, _ configure: (inout Configuration) -> Void) {
      let harness = GatewayHarness(configure)
      let client = harness.client()
      client.call("send", Self.send)
      for _ in 0..<2 {
        let error = HarnessClient.values(client.call("send", send)).last?["error"]
        #expect(error?["data"]?["type"]?.stringValue == "PayloadTooLarge" && error?["data"]?["retry"] == .bool(false))
        #expect(error?["message"]?.stringValue?.contains("`\(setting)`") == true)
        // And likewise on a link.
        harness.upstream.channel.accept()
      }
    }
    check("limits.send_queue_bytes") { $0.limits.sendQueueBytes = 4_096 }
    check("limits.send_bytes") { $0.limits.sendBytes = 8_192 }
  }

  @Test func oneUsersQueuedSendsLeaveAnotherRoomOnTheSameConnection() {
    let harness = GatewayHarness { $0.limits.sendQueue = 2 }
    let (first, second, third) = (harness.client(uid: 1), harness.client(uid: 2), harness.client(uid: 3))
    func kind(_ client: HarnessClient) -> JSONValue? {
      HarnessClient.values(client.call("send", Self.send))[0]["error"]
    }
    #expect(kind(first) == nil && kind(first) == nil)
    #expect(kind(first)?["data"]?["share"]?.integerValue == 2)
    #expect(kind(second) == nil && kind(second) == nil)
    let full = kind(third)?["data"]
    #expect(full?["type"]?.stringValue == "QueueFull" && full?["limit"]?.integerValue == 4 && full?["share"] == nil)
    harness.upstream.channel.accept()
    #expect(harness.upstream.channel.written.count == 4)
    #expect(kind(third) == nil)
  }

  @Test func aCallWhoseClientLeftTakesBackWhatWasNotWritten() {
    let harness = GatewayHarness()
    let client = harness.client()
    client.call("send", Self.send)
    client.call("request", Self.request)
    client.disconnect()
    harness.upstream.channel.accept()
    #expect(harness.upstream.channel.written == ["e [1]"])
  }

  @Test func cancellingEndsTheCallAndTakesItBack() {
    let harness = GatewayHarness()
    let client = harness.client()
    client.call("request", Self.request, id: 5)
    client.say(#"{"jsonrpc":"2.0","method":"rpc.cancel","params":{"id":5}}"#)
    let answer = client.readValues()
    #expect(answer.count == 1)
    #expect(answer[0]["id"]?.integerValue == 5)
    #expect(answer[0]["error"]?["code"]?.integerValue == -32800)
    harness.upstream.channel.accept()
    #expect(harness.upstream.channel.written.isEmpty)
  }

  @Test func aRepeatedKeyIsADuplicateAndOtherContentAConflict() {
    let harness = GatewayHarness()
    let client = harness.client()
    let params = #"{"upstream":"chat","event":"e","key":"k","args":[1]}"#
    let first = HarnessClient.values(client.call("send", params))[0]["result"]
    let second = HarnessClient.values(harness.client().call("send", params))[0]["result"]
    #expect(second?["duplicate"] == .bool(true))
    #expect(second?["id"] == first?["id"])
    #expect(Self.kind(client.call("send", #"{"upstream":"chat","event":"e","key":"k","args":[2]}"#)) == "Conflict")
    #expect(HarnessClient.values(harness.client(uid: 5).call("send", params))[0]["result"]?["duplicate"] == nil)
    harness.upstream.channel.accept()
    #expect(harness.upstream.channel.written == ["e [1]", "e [1]"])
  }

  @Test func anIdThatIsStillInFlightIsRefusedWithIdNull() {
    let harness = GatewayHarness()
    let client = harness.client()
    client.call("request", Self.request, id: 5)
    let answer = HarnessClient.values(client.call("ping", id: 5))[0]
    #expect(answer["id"] == .null)
    #expect(answer["error"]?["code"]?.integerValue == -32600)
  }

  @Test func theFirstAnswerToAnAcknowledgementWins() {
    let harness = GatewayHarness()
    let (one, two, deaf) = (harness.client(), harness.client(), harness.client())
    for client in [one, two] { client.call("subscribe", #"{"upstream":"chat","answer":true}"#) }
    deaf.call("subscribe", #"{"upstream":"chat"}"#)
    harness.upstream.channel.accept()
    harness.upstream.channel.emit("confirm", "7", ack: 3)
    let token = one.readValues()[0]["params"]?["ack"]?.stringValue ?? ""
    #expect(two.readValues()[0]["params"]?["ack"]?.stringValue == token)
    #expect(deaf.readValues()[0]["params"]?["ack"] == nil)
    let answer = #"{"ack":"\#(token)","args":["yes"]}"#
    #expect(two.call("respond", answer) == [#"{"jsonrpc":"2.0","id":1,"result":{}}"#])
    #expect(Self.kind(one.call("respond", answer)) == "AckGone")
    #expect(harness.upstream.channel.answers == [#"3 ["yes"]"#])
  }

  @Test func anAcknowledgementOfALostLinkIsGone() {
    let harness = GatewayHarness()
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat","answer":true}"#)
    harness.upstream.channel.accept()
    harness.upstream.channel.emit("confirm", ack: 0)
    let token = client.readValues()[0]["params"]?["ack"]?.stringValue ?? ""
    harness.upstream.channel.fail(.closed)
    #expect(Self.kind(client.call("respond", #"{"ack":"\#(token)"}"#)) == "AckGone")
  }

  @Test func anEventThatNobodyAnswersIsCounted() {
    let harness = GatewayHarness()
    let client = harness.client(uid: 0)
    client.call("subscribe", #"{"upstream":"chat"}"#)
    harness.upstream.channel.accept()
    harness.upstream.channel.emit("confirm", ack: 0)
    harness.upstream.channel.emit(DroppedEvent(.undecodable, ack: 1))
    client.read()
    let status = HarnessClient.values(client.call("status"))[0]["result"]?["connections"]
    guard case .array(let connections) = status else {
      Issue.record("no connections")
      return
    }
    #expect(connections[0]["unanswered"]?.integerValue == 2)
  }

  @Test func aStopDoesNotWaitForAServerThatIsKnownToBeDown() {
    let harness = GatewayHarness()
    let client = harness.client()
    client.call("send", Self.send)
    harness.upstream.channel.fail(.unreachable)
    harness.pass(.milliseconds(100))
    var isFinished = false
    harness.gateway.stop(reason: "stopping") { isFinished = true }
    // One attempt more it gets.
    harness.pass(.milliseconds(1_500))
    #expect(harness.upstream.channels.count == 2)
    #expect(!isFinished)
    harness.upstream.channel.fail(.unreachable)
    harness.pass(.milliseconds(100))
    #expect(isFinished)
  }

  @Test func aServerThatIsDownAndSilentHasTwoSecondsOfAStop() {
    let harness = GatewayHarness()
    harness.client().call("send", Self.send)
    harness.upstream.channel.fail(.timeout)
    var isFinished = false
    harness.gateway.stop(reason: "stopping") { isFinished = true }
    harness.pass(.milliseconds(1_900))
    #expect(!isFinished)
    harness.pass(.milliseconds(200))
    #expect(isFinished)
  }

  @Test func whatNobodyWillTryKeepsNoStopWaiting() {
    let harness = GatewayHarness()
    let client = harness.client(uid: 0)
    client.call("send", Self.send)
    harness.upstream.channel.fail(.unreachable)
    client.call("reconnect", #"{"upstream":"chat"}"#)
    client.call("disconnect", #"{"upstream":"chat"}"#)
    var isFinished = false
    harness.gateway.stop(reason: "stopping") { isFinished = true }
    harness.pass(.milliseconds(50))
    #expect(isFinished)
  }

  @Test func aStopGivesAConnectionThatWasJustLostItsWholeTime() {
    let harness = GatewayHarness()
    let client = harness.client()
    client.call("send", Self.send)
    var isFinished = false
    harness.gateway.stop(reason: "stopping") { isFinished = true }
    harness.pass(.seconds(4))
    #expect(!isFinished)
    harness.pass(.seconds(2))
    #expect(isFinished)
  }

  @Test func drainingRefusesNewWorkAndWritesWhatIsQueued() {
    let harness = GatewayHarness()
    let client = harness.client()
    client.call("send", Self.send)
    var isFinished = false
    harness.gateway.stop(reason: "stopping") { isFinished = true }
    #expect(Self.kind(client.call("send", Self.send)) == "Draining")
    harness.upstream.channel.accept()
    harness.pass(.milliseconds(100))
    #expect(harness.upstream.channel.written == ["e [1]"])
    #expect(harness.upstream.channel.isClosed)
    #expect(isFinished)
    #expect(client.readValues().last?["method"]?.stringValue == "goodbye")
  }
}
