import Testing

@testable import GatewayCore

/// Rights are checked where something is done, on what it is done to, and at that moment: also when a reload has changed
/// them since the call.
@Suite struct RightsOverTimeTests {
  static let alice: UInt32 = 1_000

  private let store = FakeOutboxStore()
  private let harness: GatewayHarness

  init() { harness = GatewayHarness(outbox: .open(store, [])) }

  static func rule(_ uid: UInt32, _ upstream: String, _ allow: Set<AccessVerb>) -> AccessRule {
    AccessRule(subject: .user(uid), upstreams: [upstream], allow: allow)
  }

  private func reload(_ change: (inout Configuration) -> Void) {
    var configuration = harness.gateway.configuration
    change(&configuration)
    harness.loader.next = .success(configuration)
    _ = harness.gateway.reload()
    store.settle()
  }

  private func allow(_ verbs: Set<AccessVerb>) {
    reload { $0.access = [Self.rule(Self.alice, "chat", verbs)] }
  }

  private func claim(_ url: String, as name: String, allow: Set<AccessVerb> = []) {
    reload {
      $0.upstreams[name] = ConfiguredUpstream(
        url: UpstreamURL(scheme: "http", host: url), settings: UpstreamSettings())
      $0.access = [Self.rule(Self.alice, name, allow)]
    }
  }

  private func send(
    _ client: HarnessClient, _ event: String, _ more: String = "", to target: String = #""upstream":"chat""#
  )
    -> [String]
  {
    client.say(#"{"jsonrpc":"2.0","id":1,"method":"send","params":{\#(target),"event":"\#(event)"\#(more)}}"#)
    store.settle()
    return client.read()
  }

  private static let durable = #","delivery":"durable""#

  private static func error(_ lines: [String]) -> String? { OutboxScene.error(lines) }

  private func reasons(_ client: HarnessClient) -> [String?] {
    let result = HarnessClient.values(client.call("outbox.list")).last?["result"]
    return (result?["entries"]?.elements ?? []).map { $0["reason"]?.stringValue }
  }

  @Test func aRightThatComesBackBeforeAllSendsHaveLostItChangesNothingAboutTheirOrder() {
    let client = harness.client(uid: Self.alice)
    let names = (0..<1_500).map { "e\($0)" }
    for name in names { _ = send(client, name, Self.durable) }
    allow([.status])
    allow([.send, .status])
    harness.upstream.channel.accept()
    harness.pass(.seconds(1))
    #expect(harness.upstream.channel.written == names.map { "\($0) []" })
  }

  @Test func aReloadLeavesSendsWhoseUpstreamStaysWithTheCommandsThatTheyHave() {
    let client = harness.client(uid: Self.alice)
    for name in ["a", "b", "c"] { _ = send(client, name, Self.durable) }
    let outbox = harness.gateway.relay.outbox
    let before = outbox.unfinished.compactMap { $0.command.map(ObjectIdentifier.init) }
    reload { $0.upstreams["chat"]?.settings.linger = .seconds(7) }
    #expect(before.count == 3)
    #expect(outbox.unfinished.compactMap { $0.command.map(ObjectIdentifier.init) } == before)
  }

  @Test func aReloadThatConcernsNoSendsLooksAtNone() {
    let client = harness.client(uid: Self.alice)
    _ = send(client, "a", Self.durable, to: #""url":"http://other.example""#)
    let before = harness.urls.count
    reload { $0.limits.sendQueue += 1 }
    #expect(harness.urls.count == before)
    reload { $0.access = [Self.rule(Self.alice, "chat", [.send])] }
    #expect(harness.urls.count > before)
  }

  @Test func aRightThatManyQueuedSendsLoseEndsThemAPortionAtATimeAndNoneIsWritten() {
    let harness = GatewayHarness { $0.limits.sendQueue = 10_000 }
    let client = harness.client(uid: Self.alice)
    for number in 1...2_500 { client.call("send", #"{"upstream":"chat","event":"e"}"#, id: number) }
    harness.reload { $0.access = [Self.rule(Self.alice, "chat", [.status])] }
    #expect(harness.gateway.upstreams.pool.all[0].delivery.commands.queue.count == 1_500)
    harness.upstream.channel.accept()
    harness.pass(.milliseconds(1))
    #expect(harness.upstream.channel.written.isEmpty)
    #expect(harness.gateway.upstreams.pool.all[0].delivery.commands.isIdle)
  }

  @Test func aReloadLooksAtNoMoreThanAPortionOfWhatWaitsInATurn() {
    let harness = GatewayHarness { $0.limits.sendQueue = 10_000 }
    let client = harness.client(uid: Self.alice)
    for number in 1...2_500 { client.call("send", #"{"upstream":"chat","event":"e"}"#, id: number) }
    let waiting = harness.gateway.upstreams.pool.all[0].delivery.commands.queue.commands
    harness.reload { $0.access = [Self.rule(Self.alice, "chat", [.send])] }
    #expect(waiting.count { $0.rights.round > 0 } == Upstreams.checkedAtOnce)
    harness.pass(.milliseconds(1))
    #expect(waiting.count { $0.rights.round > 0 } == 2_500)
  }

  @Test func aConnectionThatOpensBetweenTwoPortionsEndsNoMoreThanOne() {
    let harness = GatewayHarness {
      $0.limits.sendQueue = 10_000
      $0.upstreams["chat"]?.settings.flush = 1_000_000
    }
    let client = harness.client(uid: Self.alice)
    for number in 1...2_500 { client.call("send", #"{"upstream":"chat","event":"e"}"#, id: number) }
    harness.reload { $0.access = [Self.rule(Self.alice, "chat", [.status])] }
    harness.upstream.channel.accept()
    #expect(harness.gateway.upstreams.pool.all[0].delivery.commands.queue.count == 500)
    harness.pass(.milliseconds(20))
    #expect(harness.upstream.channel.written.isEmpty)
    #expect(harness.gateway.upstreams.pool.all[0].delivery.commands.isIdle)
  }

  @Test func listingAsksForTheRightsOnATargetOnce() {
    let client = harness.client(uid: Self.alice)
    for number in 0..<10 {
      _ = send(client, "e", Self.durable, to: #""url":"http://n\#(number % 2).example""#)
    }
    for _ in 1...2 {
      let before = harness.urls.count
      let result = HarnessClient.values(client.call("outbox.list")).last?["result"]
      #expect(result?["entries"]?.elements?.count == 10)
      #expect(harness.urls.count - before == 2)
    }
  }

  @Test func aDurableSendWaitsWhileItsSenderMayNotSend() {
    let client = harness.client(uid: Self.alice)
    _ = send(client, "a", Self.durable)
    allow([.status])
    #expect(reasons(client) == ["permission"])
    allow([.status, .send])
    #expect(reasons(client) == [nil])
    harness.upstream.channel.accept()
    #expect(harness.upstream.channel.written == ["a []"])
  }

  @Test func anAcceptedSendIsNotWrittenAfterTheRightIsGone() {
    let client = harness.client(uid: Self.alice)
    _ = send(client, "a")
    _ = harness.client(uid: 0).call("send", #"{"upstream":"chat","event":"b"}"#)
    allow([.status])
    harness.upstream.channel.accept()
    #expect(harness.upstream.channel.written == ["b []"])
    #expect(
      harness.facts.contains {
        if case .sendFailed(_, _, "its sender has lost the right to send") = $0 { true } else { false }
      })
  }

  @Test func aCallThatWaitsIsDenied() {
    let client = harness.client(uid: Self.alice)
    client.call("request", #"{"upstream":"chat","event":"a"}"#)
    allow([.status])
    #expect(Self.error(client.read()) == "PermissionDenied")
  }

  @Test func whatWasWrittenIsNotWrittenAgain() {
    let client = harness.client(uid: Self.alice)
    _ = send(client, "a", #","delivery":"acked","retries":5,"timeout":60000"#)
    harness.upstream.channel.accept()
    allow([.status])
    harness.pass(.seconds(30))
    #expect(harness.upstream.channel.written == ["a []#0"])
    #expect(Self.error(client.read()) == "AckTimeout")
  }

  @Test func aDurableSendUnderWayWaitsForTheRightToBeWrittenAgain() {
    let client = harness.client(uid: Self.alice)
    _ = send(client, "a", Self.durable + #","retries":5"#)
    harness.upstream.channel.accept()
    #expect(harness.upstream.channel.written == ["a []#0"])
    allow([.status])
    harness.pass(.seconds(30))
    #expect(harness.upstream.channel.written == ["a []#0"])
    #expect(reasons(client) == ["permission"])
    allow([.status, .send])
    #expect(harness.upstream.channel.written.count == 2)
    harness.upstream.channel.acknowledge(1)
    store.settle()
    #expect(store.stored.map(\.state) == [.acked])
  }

  /// Its send "a" is written to the link, behind "hi", and waits there for room.
  private func clientWithAStoredSendThatTheKernelNeverTook() -> HarnessClient {
    let client = harness.client(uid: Self.alice)
    _ = send(client, "hi")
    harness.upstream.channel.accept()
    harness.upstream.channel.unsentBytes = 10
    _ = send(client, "a", Self.durable)
    return client
  }

  @Test func aStoredSendThatTheKernelNeverTookIsNotWrittenToTheNextLink() {
    let client = clientWithAStoredSendThatTheKernelNeverTook()
    #expect(harness.upstream.channel.written == ["hi []", "a []"])
    allow([.status])
    harness.upstream.channel.fail(UpstreamFailure(.closed, "gone"))
    _ = harness.client(uid: 0).call("send", #"{"upstream":"chat","event":"b"}"#)
    harness.pass(.seconds(60))
    harness.upstream.channel.accept()
    #expect(harness.upstream.channel.written == ["b []"])
    #expect(reasons(client) == ["permission"])
  }

  @Test func aSendThatQueuesAgainWhenItsSenderHasLostTheRightIsWithheldWithoutAnotherLink() {
    let client = clientWithAStoredSendThatTheKernelNeverTook()
    allow([.status])
    #expect(reasons(client) == [nil])
    harness.upstream.channel.fail(UpstreamFailure(.closed, "gone"))
    harness.pass(.zero)
    #expect(reasons(client) == ["permission"])
  }

  @Test func aRightThatGoesWhileTheDiskWritesIsLookedAtAgain() {
    let client = harness.client(uid: Self.alice)
    client.say(
      #"{"jsonrpc":"2.0","id":1,"method":"send","params":{"upstream":"chat","event":"a","delivery":"durable"}}"#)
    reload { $0.access = [Self.rule(Self.alice, "chat", [.status])] }
    _ = harness.client(uid: 0).call("send", #"{"upstream":"chat","event":"b"}"#)
    harness.upstream.channel.accept()
    #expect(harness.upstream.channel.written == ["b []"])
  }

  @Test(arguments: ["outbox.retry", "outbox.cancel", "outbox.purge"])
  func whatIsDoneToAnEntryNeedsTheRightOnItsUpstream(_ method: String) throws {
    let client = harness.client(uid: Self.alice)
    _ = send(client, "a", Self.durable + #","ttl":1000"#)
    harness.pass(.seconds(2))
    allow([.status])
    let id = try #require(store.stored.first?.id)
    for params in [#"{"ids":["\#(id)"]}"#, #"{"upstream":"chat"}"#] {
      #expect(Self.error(client.call(method, params)) == "PermissionDenied")
    }
    #expect(store.stored.map(\.state) == [.expired])
  }

  @Test(arguments: ["outbox.cancel", "outbox.purge"])
  func whatOneMayNotDoAnyMoreIsNotDoneInTheNextPortion(_ method: String) {
    let client = harness.client(uid: Self.alice)
    for _ in 0..<600 { _ = send(client, "a", Self.durable) }
    client.say(#"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":{"upstream":"chat"}}"#)
    allow([.status])
    harness.pass(.seconds(1))
    store.settle()
    #expect(Array(harness.gateway.relay.outbox.unfinished).count == 600 - OutboxWork.portion)
  }

  @Test func whoAdministersNothingAnyMoreForgetsNoSendsOfOthersInTheNextPortion() {
    reload { $0.access = [AccessRule(subject: .user(7), upstreams: [], allow: [.status, .send, .admin])] }
    allow([.send, .status])
    let owner = harness.client(uid: Self.alice)
    for _ in 0..<600 { _ = send(owner, "a", Self.durable) }
    reload {
      $0.access = [
        AccessRule(subject: .user(7), upstreams: [], allow: [.status, .send, .admin]),
        Self.rule(Self.alice, "chat", [.send, .status]),
      ]
    }
    let administrator = harness.client(uid: 7)
    administrator.say(#"{"jsonrpc":"2.0","id":1,"method":"outbox.purge","params":{"upstream":"chat"}}"#)
    reload {
      $0.access = [
        AccessRule(subject: .user(7), upstreams: [], allow: [.status, .send]),
        Self.rule(Self.alice, "chat", [.send, .status]),
      ]
    }
    harness.pass(.seconds(1))
    store.settle()
    #expect(Array(harness.gateway.relay.outbox.unfinished).count == 600 - OutboxWork.portion)
  }

  @Test func whatOneMayNotSeeAnyMoreIsNotListedInTheNextPortion() {
    let client = harness.client(uid: Self.alice)
    for _ in 0..<2_500 { _ = send(client, "a", Self.durable) }
    client.say(#"{"jsonrpc":"2.0","id":1,"method":"outbox.list","params":{"limit":10000}}"#)
    allow([.send])
    harness.pass(.seconds(1))
    let entries = HarnessClient.values(client.read()).last?["result"]?["entries"]?.elements
    #expect((entries?.count ?? 0) <= OutboxSearch.portion)
  }

  @Test func entriesOfAnUpstreamWithoutTheRightToItsStatusAreNotListed() throws {
    let client = harness.client(uid: Self.alice)
    _ = send(client, "a", Self.durable)
    _ = send(client, "b", Self.durable, to: #""url":"http://other.example""#)
    allow([.send])
    #expect(Self.error(client.call("outbox.list", #"{"upstream":"chat"}"#)) == "PermissionDenied")
    #expect(reasons(client).count == 1)
    reload { $0.access.append(AccessRule(subject: .user(1), upstreams: [], allow: [])) }
    #expect(Self.error(client.call("outbox.list")) == "PermissionDenied")
  }

  @Test func aSendStoredByURLDoesNotLeaveThroughAConfiguredUpstreamThatItsUserMayNotUse() {
    let url = #""url":"http://other.example""#
    let client = harness.client(uid: Self.alice)
    _ = send(client, "a", Self.durable, to: url)
    let next = GatewayHarness(outbox: .open(FakeOutboxStore(), store.stored)) {
      $0.upstreams["secret"] = ConfiguredUpstream(
        url: UpstreamURL(scheme: "http", host: "other.example"), settings: UpstreamSettings())
      $0.access = [Self.rule(1, "secret", [.send])]
    }
    #expect(next.upstream.channels.isEmpty)
    let again = next.client(uid: Self.alice)
    #expect(Self.error(again.call("outbox.retry", "{\(url)}")) == "PermissionDenied")
  }

  private static func message(_ lines: [String]) -> String {
    HarnessClient.values(lines).last?["error"]?["message"]?.stringValue ?? ""
  }

  @Test func aRefusalNamesNoUpstreamThatItsUserMayNotKnow() throws {
    let client = harness.client(uid: Self.alice)
    _ = send(client, "a", Self.durable, to: #""url":"http://other.example""#)
    let id = try #require(store.stored.first?.id)
    reload {
      $0.upstreams["secret"] = ConfiguredUpstream(
        url: UpstreamURL(scheme: "http", host: "other.example"), settings: UpstreamSettings())
      $0.access = [Self.rule(1, "secret", [.send])]
    }
    let url = #""url":"http://other.example""#
    let refusals = [
      send(client, "b", to: url), client.call("subscribe", "{\(url)}"), client.call("doctor", "{\(url)}"),
      client.call("outbox.retry", "{\(url)}"), client.call("outbox.retry", #"{"ids":["\#(id)"]}"#),
    ]
    for lines in refusals {
      #expect(Self.error(lines) == "PermissionDenied", "\(lines)")
      #expect(!lines.contains { $0.contains("secret") }, "\(lines)")
    }
    #expect(Self.message(refusals[0]).contains("of an upstream that this user may not use; ask"))
    // What it says itself it may hear again.
    #expect(Self.message(send(client, "b", to: #""upstream":"secret""#)).contains("'secret'"))
    allow([.status])
    #expect(Self.message(send(client, "b")).contains("'chat'"))
  }

  @Test func theGroupsOfTheSenderCountAfterARestart() {
    let rule = AccessRule(subject: .group(Self.alice), upstreams: ["chat"], allow: [.send])
    _ = send(harness.client(uid: Self.alice), "a", Self.durable)
    let next = GatewayHarness(outbox: .open(FakeOutboxStore(), store.stored)) { $0.access = [rule] }
    next.upstream.channel.accept()
    #expect(next.upstream.channel.written == ["a []"])
  }

  @Test func aPendingSubscribeIsDenied() {
    harness.upstream.confirmedInterests = .all
    let client = harness.client(uid: Self.alice)
    _ = send(client, "hi")
    harness.upstream.channel.accept()
    #expect(client.call("subscribe", #"{"upstream":"chat","events":["a"]}"#).isEmpty)
    allow([.send])
    #expect(Self.error(client.read()) == "PermissionDenied")
    #expect(client.isConnected)
  }

  @Test func aPendingWaitIsDenied() {
    let client = harness.client(uid: Self.alice)
    #expect(client.call("wait", #"{"upstream":"chat","state":"connected","timeout":60000}"#).isEmpty)
    allow([.send])
    #expect(Self.error(client.read()) == "PermissionDenied")
  }

  @Test func aSubscriptionThatAnswersNeedsTheRightToSend() {
    let client = harness.client(uid: Self.alice)
    client.call("subscribe", #"{"upstream":"chat","answer":true}"#)
    allow([.subscribe])
    #expect(client.read().last?.contains(#""reason":"permission""#) == true)
  }

  @Test func aSubscriptionByURLEndsWhenURLsAreNotAllowedAnyMore() {
    let client = harness.client(uid: Self.alice)
    client.call("subscribe", #"{"url":"http://other.example"}"#)
    let channel = harness.upstream.channel
    channel.accept()
    client.read()
    reload { $0.adhoc = false }
    #expect(client.read().last?.contains(#""reason":"permission""#) == true)
    #expect(channel.isClosed)
  }

  @Test func aSubscriptionByURLEndsWhenTheURLIsThatOfAnUpstreamItsUserMayNotUse() {
    let client = harness.client(uid: Self.alice)
    client.call("subscribe", #"{"url":"http://other.example"}"#)
    let channel = harness.upstream.channel
    channel.accept()
    client.read()
    claim("other.example", as: "secret")
    #expect(client.read().last?.contains(#""reason":"permission""#) == true)
    harness.pass(.zero)
    #expect(channel.isClosed)
  }

  @Test func aSubscriptionByURLGoesOnWhereTheURLIsThatOfAnUpstreamItsUserMayUse() {
    let client = harness.client(uid: Self.alice)
    client.call("subscribe", #"{"url":"http://other.example"}"#)
    harness.upstream.channel.accept()
    client.read()
    claim("other.example", as: "shared", allow: [.subscribe])
    harness.pass(.zero)
    #expect(!harness.upstream.channel.isClosed)
    #expect(client.read().isEmpty)
  }

  @Test func aSendByURLThatWaitsIsDeniedWhenURLsAreNotAllowedAnyMore() {
    let client = harness.client(uid: Self.alice)
    client.call("request", #"{"url":"http://other.example","event":"a"}"#)
    reload { $0.adhoc = false }
    #expect(Self.error(client.read()) == "PermissionDenied")
  }
}
