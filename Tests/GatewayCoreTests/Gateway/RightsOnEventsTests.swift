import Testing

@testable import GatewayCore

/// Rules with `events` and `namespaces`: what is not permitted is neither sent nor delivered nor shown, from the moment
/// of a reload on, and what was accepted waits for its right.
@Suite struct RightsOnEventsTests {
  static let alice: UInt32 = 1_000
  private let store = FakeOutboxStore()
  private let harness: GatewayHarness
  private var channel: FakeChannel { harness.upstream.channel }

  /// Alice may send `say` and read `alarm.*` of `chat`.
  init() {
    harness = GatewayHarness(outbox: .open(store, [])) {
      $0.upstreams["chat"]?.settings.history.events = 100
      $0.access = Self.rules()
    }
  }

  private static func rule(_ events: [String], _ allow: Set<AccessVerb>) -> AccessRule {
    AccessRule(subject: .user(alice), upstreams: ["chat"], events: events, allow: allow)
  }

  private static func rules(send: [String] = ["say"], read: [String] = ["alarm.*"]) -> [AccessRule] {
    [rule(send, [.send]), rule(read, [.subscribe]), rule([], [.status])]
  }

  private func reload(_ rules: [AccessRule]) {
    harness.reload { $0.access = rules }
    store.settle()
  }

  private static func error(_ lines: [String]) -> String? { OutboxScene.error(lines) }

  private func send(_ client: HarnessClient, _ event: String, _ more: String = "", id: Int = 1) -> [String] {
    let lines = client.call("send", #"{"upstream":"chat","event":"\#(event)"\#(more)}"#, id: id)
    store.settle()
    return lines + client.read()
  }

  private func events(_ client: HarnessClient) -> [String?] {
    client.readValues().filter { $0["method"]?.stringValue == "event" }.map { $0["params"]?["event"]?.stringValue }
  }

  private func history(_ client: HarnessClient) -> [String?] {
    let result = HarnessClient.values(client.call("history", #"{"upstream":"chat"}"#)).last?["result"]
    return (result?["events"]?.elements ?? []).map { $0["event"]?.stringValue }
  }

  /// A subscriber of root's keeps the connection up, and what comes in is kept.
  private func connect() -> HarnessClient {
    let root = harness.client(uid: 0)
    root.call("subscribe", #"{"upstream":"chat"}"#)
    channel.accept()
    root.read()
    return root
  }

  // MARK: - Reading

  @Test(arguments: ["", #","events":["alarm.on","secret"]"#, #","events":["*"]"#, #","events":["a*","s*"]"#])
  func onlyPermittedEventsAreDelivered(_ filter: String) {
    let root = connect()
    let client = harness.client(uid: Self.alice)
    client.call("subscribe", #"{"upstream":"chat"\#(filter)}"#)
    for name in ["secret", "alarm.on", "say", "alarm.on", "secret"] { channel.emit(name) }
    #expect(events(client) == ["alarm.on", "alarm.on"])
    #expect(events(root).count == 5)
  }

  @Test(arguments: [#""last":10"#, #""since":{"epoch":"e","seq":0}"#])
  func thePastIsPermittedEventsOnly(_ resume: String) {
    _ = connect()
    for name in ["secret", "alarm.on", "alarm.off", "secret"] { channel.emit(name) }
    let client = harness.client(uid: Self.alice)
    client.call("subscribe", #"{"upstream":"chat",\#(resume)}"#).forEach { client.say($0) }
    #expect(history(client) == ["alarm.on", "alarm.off"])
    let other = harness.client(uid: Self.alice)
    other.say(#"{"jsonrpc":"2.0","id":1,"method":"subscribe","params":{"upstream":"chat",\#(resume)}}"#)
    #expect(events(other) == ["alarm.on", "alarm.off"])
  }

  @Test func aReloadGrantsAndTakesEventsOfASubscriptionThatGoesOn() {
    _ = connect()
    let client = harness.client(uid: Self.alice)
    client.call("subscribe", #"{"upstream":"chat"}"#)
    channel.emit("news.a")
    reload(Self.rules(read: ["news.*"]))
    for name in ["news.a", "alarm.on"] { channel.emit(name) }
    #expect(events(client) == ["news.a"])
    reload(Self.rules(read: ["*"]))
    for name in ["news.a", "alarm.on"] { channel.emit(name) }
    #expect(events(client) == ["news.a", "alarm.on"])
    reload(Self.rules())
    for name in ["news.a", "alarm.on"] { channel.emit(name) }
    #expect(events(client) == ["alarm.on"])
    #expect(client.isConnected)
  }

  @Test func whatWaitsForASlowClientIsNotDeliveredAfterItsRightIsGone() {
    _ = connect()
    let client = harness.client(uid: Self.alice)
    client.call("subscribe", #"{"upstream":"chat","credit":1}"#)
    for name in ["alarm.on", "alarm.off", "alarm.test"] { channel.emit(name) }
    reload(Self.rules(read: ["alarm.t*"]))
    client.call("credit", #"{"subscription":"s1","n":10}"#).forEach { _ in }
    channel.emit("alarm.test")
    let kept = harness.gateway.clients.all.first { $0.peer.uid == Self.alice }?.subscriptions
    #expect(kept?.queuedBytes == 0)
    #expect(events(client) == ["alarm.test"])
  }

  @Test func whatWasLetGoOfIsMissingAsSoonAsItsRightIsBack() {
    _ = connect()
    let client = harness.client(uid: Self.alice)
    client.call("subscribe", #"{"upstream":"chat","credit":1}"#)
    for name in ["alarm.on", "alarm.off", "alarm.test", "alarm.off"] { channel.emit(name) }
    reload(Self.rules(read: ["alarm.t*"]))
    client.call("credit", #"{"subscription":"s1","n":10}"#)
    reload(Self.rules(read: ["alarm.t*", "news"]))
    func gaps() -> [JSONValue?] {
      client.readValues().filter { $0["method"]?.stringValue == "gap" }.map { $0["params"] }
    }
    #expect(gaps().isEmpty)
    reload(Self.rules())
    let told = gaps()
    #expect(told.count == 1)
    let numbers = ["from", "to", "count"].map { told.first??[$0]?.integerValue }
    #expect(numbers == [2, 4, 2])
    reload(Self.rules(read: ["alarm.t*"]))
    reload(Self.rules())
    #expect(gaps().isEmpty)
  }

  @Test func namesOfUpstreamsAreToldToThoseAloneWhoHaveARightToThem() {
    harness.reload {
      $0.upstreams["secret"] = $0.upstreams["chat"]
      $0.access = [AccessRule(subject: .user(Self.alice), upstreams: ["chat", "secret"], allow: [.send])]
    }
    func refusal(_ uid: UInt32) -> String {
      harness.client(uid: uid).call("send", #"{"url":"http://chat.example","event":"e"}"#).last ?? ""
    }
    #expect(refusal(Self.alice).contains("Conflict") && refusal(Self.alice).contains("(chat, secret)"))
    #expect(refusal(1_001).contains("Conflict") && !refusal(1_001).contains("secret"))
    harness.reload { $0.upstreams["chat"] = nil }
    let auth = harness.client(uid: 1_001).call("send", #"{"url":"http://chat.example","event":"e","auth":{}}"#).last
    #expect(auth?.contains("InvalidParams") == true && auth?.contains("secret") == false)
  }

  @Test func aSubscriberThatMayReadNothingIsLetGo() {
    _ = connect()
    let client = harness.client(uid: Self.alice)
    client.call("subscribe", #"{"upstream":"chat"}"#)
    reload([Self.rule(["say"], [.send])])
    #expect(client.read().last?.contains(#""reason":"permission""#) == true)
  }

  @Test func aTokenIsOnlyAnsweredByWhoMaySendItsEvent() {
    _ = connect()
    let client = harness.client(uid: Self.alice)
    #expect(
      Self.error(client.call("subscribe", #"{"upstream":"chat","events":["alarm.on"],"answer":true}"#))
        == "PermissionDenied")
    client.call("subscribe", #"{"upstream":"chat","answer":true}"#)
    channel.emit("alarm.on", ack: 7)
    let token = client.readValues().last?["params"]?["ack"]?.stringValue ?? ""
    #expect(Self.error(client.call("respond", #"{"ack":"\#(token)"}"#)) == "PermissionDenied")
    reload(Self.rules(send: ["alarm.*"]))
    #expect(Self.error(client.call("respond", #"{"ack":"\#(token)"}"#)) == nil)
    #expect(channel.answers == ["7 []"])
  }

  // MARK: - A server that sends only what it is asked for

  /// Alice subscribes so, and the server agrees to what it is asked for.
  private func subscribe(_ params: String, agreeing names: [String] = []) -> HarnessClient {
    harness.upstream.confirmedInterests = .all
    let client = harness.client(uid: Self.alice)
    client.call("subscribe", #"{"upstream":"chat",\#(params)}"#)
    channel.accept()
    for name in names { channel.agree(name) }
    client.read()
    return client
  }

  @Test func aServerIsAskedForWhatAReloadLetsASubscriberRead() {
    let client = subscribe(#""events":["alarm.on","secret"]"#, agreeing: ["alarm.on"])
    reload(Self.rules(read: ["alarm.*", "secret"]))
    #expect(channel.asked == ["+alarm.on", "+secret"])
    channel.agree("secret")
    channel.emit("secret")
    #expect(events(client) == ["secret"])
    reload(Self.rules())
    #expect(channel.asked == ["+alarm.on", "+secret", "-secret"])
    client.disconnect()
    harness.pass(.milliseconds(1))
    #expect(channel.asked == ["+alarm.on", "+secret", "-secret", "-alarm.on"])
  }

  @Test func aSubscriberIsToldWhatTheServerRefusesOfWhatAReloadLetsItRead() {
    let client = subscribe(#""events":["alarm.on","secret"]"#, agreeing: ["alarm.on"])
    for _ in 1...2 {
      reload(Self.rules(read: ["alarm.*", "secret"]))
      channel.refuse("secret")
      let gaps = client.readValues().filter { $0["method"]?.stringValue == "gap" }
      #expect(gaps.map { $0["params"]?["reason"]?.stringValue } == ["upstream"])
      reload(Self.rules())
    }
  }

  @Test func aSubscribeThatWaitsIsMadeWithTheRightsOfAReload() {
    _ = subscribe(#""events":["alarm.on"]"#, agreeing: ["alarm.on"])
    let client = harness.client(uid: Self.alice)
    #expect(client.call("subscribe", #"{"upstream":"chat","events":["alarm.off","secret"]}"#).isEmpty)
    reload(Self.rules(read: ["alarm.*", "secret"]))
    channel.agree("alarm.off")
    #expect(client.readValues().first?["result"] != nil)
    #expect(channel.asked == ["+alarm.on", "+alarm.off", "+secret"])
  }

  @Test func aProgramThatMayNotAnswerAllThatItsGlobBringsAnyMoreIsLetGo() {
    reload(Self.rules(send: ["alarm.*"]))
    let client = subscribe(#""events":["alarm.*"],"answer":true"#)
    channel.agree(Interest(.glob(ExactText("alarm.*")), answers: true))
    let waiting = harness.client(uid: Self.alice)
    #expect(waiting.call("subscribe", #"{"upstream":"chat","events":["alarm.*","alarm.on"],"answer":true}"#).isEmpty)
    reload(Self.rules(send: ["alarm.on"]))
    #expect(client.read().last?.contains(#""reason":"permission""#) == true)
    #expect(Self.error(waiting.read()) == "PermissionDenied")
    harness.pass(.milliseconds(1))
    #expect(Set(channel.asked.suffix(2)) == ["-!alarm.on", "-!alarm.*"])
  }

  // MARK: - Sending

  @Test func onlyPermittedEventsAreSentAndTheErrorSaysWhatIsMissing() {
    let client = harness.client(uid: Self.alice)
    #expect(Self.error(send(client, "say")) == nil)
    for more in ["", #","delivery":"durable""#, #","delivery":"acked""#, #","volatile":true"#] {
      let lines = send(client, "alarm.on", more)
      #expect(Self.error(lines) == "PermissionDenied")
      let error = HarnessClient.values(lines).last?["error"]
      #expect(
        error?["message"]?.stringValue?.contains(
          #"on the event "alarm.on" of 'chat'; ask the administrator for an [[access]] rule with upstream = ["chat"], events = ["alarm.on"], allow = "#
        )
          == true)
      #expect(error?["data"]?["event"]?.stringValue == "alarm.on")
    }
    #expect(Self.error(client.call("request", #"{"upstream":"chat","event":"alarm.on"}"#)) == "PermissionDenied")
    channel.accept()
    #expect(channel.written == ["say []"])
  }

  @Test func requestIsDeniedWhereARuleTellsItFromSend() {
    reload(Self.rules() + [AccessRule(subject: .user(1), upstreams: ["chat"], allow: [.request])])
    let client = harness.client(uid: Self.alice)
    #expect(Self.error(send(client, "say")) == nil)
    let lines = client.call("request", #"{"upstream":"chat","event":"say"}"#)
    #expect(HarnessClient.values(lines).last?["error"]?["data"]?["need"]?.stringValue == "request")
    #expect(Self.error(send(client, "say", #","delivery":"acked""#)) == "PermissionDenied")
  }

  @Test func aDurableSendWaitsForTheRightToItsEventAndOthersPass() {
    let client = harness.client(uid: Self.alice)
    _ = send(client, "say", #","delivery":"durable""#)
    reload(Self.rules(send: ["other"]))
    _ = send(client, "other", #","delivery":"durable""#)
    channel.accept()
    #expect(channel.written == ["other []"])
    let entries = HarnessClient.values(client.call("outbox.list")).last?["result"]?["entries"]?.elements ?? []
    #expect(entries.first?["reason"]?.stringValue == "permission")
    for method in ["outbox.cancel", "outbox.retry"] {
      let id = entries.first?["id"]?.stringValue ?? ""
      #expect(Self.error(client.call(method, #"{"ids":["\#(id)"]}"#)) == "PermissionDenied")
    }
    reload(Self.rules())
    store.settle()
    #expect(channel.written == ["other []", "say []"])
  }

  @Test(arguments: [["caf\u{e9}", "cafe\u{301}"], ["cafe\u{301}", "caf\u{e9}"]])
  func aSendThatWaitsGoesByTheBytesOfItsName(_ names: [String]) {
    for allowed in names {
      let store = FakeOutboxStore()
      let harness = GatewayHarness(outbox: .open(store, [])) { $0.access = Self.rules(send: ["caf*"]) }
      let client = harness.client(uid: Self.alice)
      for name in names {
        client.call("send", #"{"upstream":"chat","event":"\#(name)","delivery":"durable"}"#)
        store.settle()
      }
      for rules in [Self.rules(send: ["other"]), Self.rules(send: [allowed])] {
        harness.reload { $0.access = rules }
        store.settle()
      }
      harness.pass(.milliseconds(1))
      harness.upstream.channel.accept()
      #expect(harness.upstream.channel.written.map { Array($0.utf8) } == [Array("\(allowed) []".utf8)])
    }
  }

  @Test func aSendToAnotherSpellingOfANamespaceGoesThereAlone() {
    let (forbidden, allowed) = ("/caf\u{e9}", "/cafe\u{301}")
    harness.reload {
      $0.access = [
        AccessRule(subject: .user(Self.alice), upstreams: ["chat"], namespaces: [allowed], allow: [.send])
      ]
    }
    harness.client(uid: 0).call("subscribe", #"{"upstream":"chat","namespace":"\#(forbidden)"}"#)
    channel.accept()
    let client = harness.client(uid: Self.alice)
    let results = [allowed, forbidden, allowed].map { namespace in
      Self.error(client.call("send", #"{"upstream":"chat","namespace":"\#(namespace)","event":"say"}"#))
    }
    #expect(results == [nil, "PermissionDenied", nil])
    #expect(harness.upstream.channels.count == 2)
    channel.accept()
    #expect(harness.upstream.channels.map(\.written) == [[], ["say []", "say []"]])
    #expect(channel.specification.namespace.utf8.elementsEqual(allowed.utf8))
  }

  @Test func anAcceptedSendOfAnEventThatIsNotPermittedAnyMoreIsNotWritten() {
    let client = harness.client(uid: Self.alice)
    reload(Self.rules(send: ["say", "other"]))
    _ = send(client, "say")
    _ = send(client, "other")
    reload(Self.rules(send: ["other"]))
    channel.accept()
    harness.pass(.milliseconds(1))
    #expect(channel.written == ["other []"])
  }

  @Test(arguments: ["", #","delivery":"durable""#])
  func whatMayNotBeSentCannotBeReplacedEither(_ delivery: String) {
    let client = harness.client(uid: Self.alice)
    reload(Self.rules(send: ["say", "other"]))
    _ = send(client, "other", #","coalesce":"k""# + delivery)
    let groups = AccessRule(subject: .user(Self.alice), upstreams: ["chat"], events: ["say"], allow: [.send])
    if delivery.isEmpty {
      // Of a program whose groups allow it; this one is in none of them.
      harness.gateway.upstreams.pool.all[0].delivery.commands.queue.commands[0].sender.groups = [50]
      reload([groups, AccessRule(subject: .group(50), upstreams: ["chat"], events: ["other"], allow: [.send])])
    } else {
      reload([groups])
    }
    #expect(Self.error(send(client, "say", #","coalesce":"k""# + delivery)) == "PermissionDenied")
    #expect(Self.error(send(client, "say", #","coalesce":"l""# + delivery)) == nil)
  }

  @Test func onlyPermittedSendsOfOthersAreListedToAnAdministratorOfSomeEvents() {
    let root = harness.client(uid: 0)
    for event in ["a", "b", "c"] { _ = send(root, event, #","delivery":"durable""#) }
    reload([Self.rule(["a", "c"], [.admin, .send]), Self.rule([], [.status])])
    let client = harness.client(uid: Self.alice)
    func listed(_ client: HarnessClient) -> [String?] {
      let result = HarnessClient.values(client.call("outbox.list")).last?["result"]
      return (result?["entries"]?.elements ?? []).map { $0["event"]?.stringValue }
    }
    #expect(listed(client) == ["a", "c"])
    #expect(listed(root) == ["a", "b", "c"])
    client.call("outbox.purge")
    store.settle()
    #expect(listed(root) == ["b"])
  }

  @Test func aTraceShowsPermittedEventsAndTheLink() {
    _ = connect()
    reload([Self.rule(["alarm.*"], [.admin])])
    let client = harness.client(uid: Self.alice)
    client.call("trace", #"{"upstream":"chat"}"#)
    let observer = harness.gateway.upstreams.pool.all[0].connector.observer
    func shown() -> [String?] {
      for subject in [TraceFact.Subject.link, .event("alarm.on"), .event("secret"), .message] {
        observer?.observed(TraceFact(.incoming, .engine, "\(subject)", of: subject))
      }
      return client.readValues().map { $0["params"]?["text"]?.stringValue }
    }
    #expect(shown() == ["link", #"event("alarm.on")"#])
    reload([Self.rule(["secret"], [.admin])])
    #expect(shown() == ["link", #"event("secret")"#])
    reload([Self.rule([], [.status])])
    #expect(client.read().last?.contains(#""reason":"permission""#) == true)
  }

  // MARK: - Other ways to the same server

  private func denied(_ target: String, _ event: String = "say") -> Bool {
    Self.error(harness.client(uid: Self.alice).call("send", #"{\#(target),"event":"\#(event)"}"#)) == "PermissionDenied"
  }

  @Test(arguments: [
    "http://chat.example/other", "ws://CHAT.example:80/", "http://chat.example?x=1", "http://chat.example./a",
    "http://user@chat.example",
  ])
  func anotherURLOfTheServerNeedsItsRights(_ url: String) {
    let target = #""url":"\#(url)""#
    if url.contains("@") { return }
    #expect(!denied(target))
    #expect(denied(target, "other"))
    reload([AccessRule(subject: .user(1), upstreams: ["chat"], allow: [.send])])
    #expect(denied(target))
  }

  @Test func anotherServerNeedsNone() {
    #expect(!denied(#""url":"http://chat.example:81""#, "other"))
    #expect(!denied(#""url":"http://chat.example.org""#, "other"))
  }

  @Test func aNamespaceOfOneUpstreamThatIsTheOwnOfAnotherNeedsItsRights() {
    harness.reload {
      $0.upstreams["admin"] = ConfiguredUpstream(
        url: UpstreamURL(scheme: "http", host: "chat.example", path: "/admin"), settings: UpstreamSettings())
      $0.access = [AccessRule(subject: .user(1), upstreams: ["admin"], allow: [.send])]
    }
    #expect(denied(#""upstream":"chat","namespace":"/admin""#))
    #expect(!denied(#""upstream":"chat","namespace":"/open""#))
    #expect(!denied(#""upstream":"chat""#))
    #expect(denied(#""url":"http://chat.example/open""#))
  }

  @Test func anotherNamespaceNeedsARuleThatNamesIt() {
    reload([
      AccessRule(
        subject: .user(Self.alice), upstreams: ["chat"], namespaces: ["/"], events: ["say"], allow: [.send])
    ])
    #expect(!denied(#""upstream":"chat""#))
    #expect(denied(#""upstream":"chat","namespace":"/admin""#))
    #expect(denied(#""url":"http://chat.example/admin""#))
  }
}
