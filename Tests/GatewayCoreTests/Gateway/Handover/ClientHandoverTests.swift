import Testing

@testable import GatewayCore

/// A client's conversation goes from one daemon to the next.
@Suite struct ClientHandoverTests {
  /// Two daemons, one after the other.
  private final class Scene {
    let store = FakeHistoryStore()
    let time = FakeTime()
    private(set) var harness: GatewayHarness
    private var runs: UInt64 = 1
    /// What the user of the clients may read; nil: there are no rules. The next daemon begins with it.
    private var readable: [String]?

    init(reading events: [String]? = nil) {
      readable = events
      harness = Self.daemon(store, time, 1, events)
    }

    private static func daemon(
      _ store: FakeHistoryStore, _ time: FakeTime, _ seed: UInt64, _ readable: [String]?
    ) -> GatewayHarness {
      GatewayHarness(runtimeHistories: .success(store), time: time, seed: seed) {
        $0.upstreams["chat"]?.settings.keep = .always
        if let readable { $0.access = rules(readable) }
      }
    }

    private static func rules(_ events: [String]) -> [AccessRule] {
      [
        AccessRule(subject: .user(1_000), upstreams: ["chat"], events: events, allow: [.subscribe]),
        AccessRule(subject: .user(1_000), upstreams: ["chat"], events: [], allow: [.status]),
      ]
    }

    /// The user of the clients may read only these from now on, or from the next daemon on.
    func allow(_ events: [String], atOnce: Bool = true) {
      readable = events
      if atOnce { harness.reload { $0.access = Self.rules(events) } }
    }

    /// The daemon hands over, and the next one begins.
    func handOver(_ client: HarnessClient, input: [UInt8] = []) -> (HarnessClient, HandoverDocument.Client) {
      let old = harness
      old.gateway.stop(reason: "test", handingOver: true) {}
      old.pass(.seconds(30))
      // Read as another daemon would: nothing of this one stays.
      guard let document = client.session.map({ $0.handOver(socket: 0, input: input) }),
        let header = copy(.header(old.gateway.handoverHeader)), let entry = copy(.client(document)),
        case .header(let header) = header, case .client(let client) = entry
      else { return (client, HandoverDocument.Client.none) }
      runs += 1
      harness = Self.daemon(store, time, runs, readable)
      harness.gateway.takeOver(header)
      let fresh = harness.client()
      fresh.session?.takeOver(client)
      return (fresh, client)
    }

    private func copy(_ entry: HandoverDocument.Entry) -> HandoverDocument.Entry? {
      var text: [UInt8] = []
      if case .client = entry {
        text = HandoverDocument.line(.header(HandoverDocument.Header(handovers: 0, lastToken: 0)))
      }
      text += HandoverDocument.line(entry)
      var reader = HandoverReader()
      var found: HandoverDocument.Entry?
      reader.append(text.span.bytes) { found = $0 }
      return found
    }

    func emit(_ names: String...) {
      for name in names { harness.upstream.channel.emit(name) }
      harness.gateway.commitHistories()
    }
  }

  private static func methods(_ lines: [String]) -> [String] {
    HarnessClient.values(lines).map { value in
      guard let method = value["method"]?.stringValue else { return value["error"] == nil ? "result" : "error" }
      return [method, value["params"]?["seq"]?.integerValue.map { String($0) }].compactMap { $0 }.joined(separator: " ")
    }
  }

  @Test func aSubscriptionGoesOnBehindWhatWasWritten() {
    let scene = Scene()
    let client = scene.harness.client()
    client.call("subscribe", #"{"upstream":"chat","events":["a","b*","c\\?"],"credit":3,"on_slow":"pause"}"#)
    scene.harness.upstream.channel.accept()
    scene.emit("a", "other", "bee")
    let (after, document) = scene.handOver(client)
    #expect(document.calls.count == 1 && document.nextSubscription == 2)
    let call = String(decoding: document.calls[0].line, as: UTF8.self)
    #expect(call.contains(#""seq":3"#) && call.contains(#""credit":1"#) && call.contains(#""on_slow":"pause""#))
    #expect(call.contains(#""subscription":"s1""#) && call.contains(#""c\\?""#) && !call.contains(#""id""#))
    #expect(Self.methods(after.read()) == ["event 1", "event 3"], "what was not written yet, and no answer")
    scene.harness.upstream.channel.accept()
    scene.emit("a", "b", "c?")
    #expect(Self.methods(after.read()) == ["gap 3", "event 4"], "one credit was left")
    #expect(Self.methods(after.call("credit", #"{"subscription":"s1","n":5}"#)) == ["result", "event 5", "event 6"])
  }

  @Test func aSubscriberOfAnUpstreamThatWasNeverReachedHearsOfNoGap() {
    let scene = Scene()
    let client = scene.harness.client()
    client.call("subscribe", #"{"upstream":"chat","subscription":"s"}"#)
    let (after, document) = scene.handOver(client)
    #expect(document.calls.count == 1)
    scene.harness.upstream.channel.accept()
    scene.emit("a")
    #expect(Self.methods(after.read()) == ["event 1"])
  }

  @Test func aWaitEndsAsSoonAsTheDaemonBeginsToStopForGood() {
    let scene = Scene()
    let client = scene.harness.client()
    client.call("send", #"{"upstream":"chat","event":"e"}"#)
    client.call("wait", #"{"upstream":"chat","state":"connected","timeout":60000}"#, id: 7)
    scene.harness.gateway.stop(reason: "test") {}
    let lines = HarnessClient.values(client.read())
    #expect(lines.count == 1 && lines.first?["id"]?.integerValue == 7)
    #expect(lines.first?["error"]?["data"]?["type"] == .string("Draining"))
  }

  @Test func whatATraceHasDroppedIsToldAtTheHandover() {
    let scene = Scene()
    let client = scene.harness.client(uid: 0)
    client.call("trace", #"{"upstream":"chat"}"#)
    let fact = TraceFact(.incoming, .engine, "PING")
    for _ in 0..<ClientOutput.directLimit / 64 { client.session?.traces?["t1"]?.take(fact) }
    let document = client.session?.handOver(socket: 0, input: [])
    let next = Scene().harness.client(uid: 0)
    if let document { next.session?.takeOver(document) }
    let told = HarnessClient.values(next.read()).compactMap { $0["params"]?["dropped"]?.integerValue }
    #expect(told.count == 1 && (told.first ?? 0) > 0)
  }

  @Test func whatWaitsForCreditIsReplayed() {
    let scene = Scene()
    let client = scene.harness.client()
    client.call("subscribe", #"{"upstream":"chat","credit":0,"state":true}"#)
    scene.harness.upstream.channel.accept()
    scene.emit("a", "b")
    client.read()
    let (after, document) = scene.handOver(client)
    #expect(String(decoding: document.calls[0].line, as: UTF8.self).contains(#""seq":0"#))
    after.read()
    #expect(Self.methods(after.call("credit", #"{"subscription":"s1","n":5}"#)) == ["result", "event 1", "event 2"])
  }

  /// The numbers of events, and what gaps say.
  private static func told(_ lines: [String]) -> [String] {
    HarnessClient.values(lines).compactMap { value in
      guard let method = value["method"]?.stringValue, let params = value["params"] else { return nil }
      let facts = ["seq", "from", "to", "count"].map { params[$0]?.integerValue.map { String($0) } }
      return ([method] + facts + [params["reason"]?.stringValue]).compactMap { $0 }.joined(separator: " ")
    }
  }

  private static let subscribe = #"{"upstream":"chat","credit":0,"subscription":"s"}"#
  private static let credit = #"{"subscription":"s","n":100}"#

  @Test(arguments: [1, 2]) func whatWasLetGoOfIsMissingWhenItsRightIsBackInALaterDaemon(_ restarts: Int) {
    let scene = Scene(reading: ["a", "b"])
    var client = scene.harness.client()
    client.call("subscribe", Self.subscribe)
    scene.harness.upstream.channel.accept()
    scene.emit("a", "b", "b", "a")
    scene.allow(["a"])
    for _ in 0..<restarts { client = scene.handOver(client).0 }
    #expect(Self.told(client.read()) == [])
    scene.allow(["a", "b"])
    #expect(Self.told(client.call("credit", Self.credit)) == ["event 1", "event 4", "gap 2 3 2 expired"])
    scene.allow(["a"])
    scene.allow(["a", "b"])
    #expect(Self.told(client.read()) == [], "it was told")
  }

  @Test func whatWasLetGoOfAndComesFromTheHistoryIsNotMissing() {
    let scene = Scene(reading: ["a", "b"])
    let client = scene.harness.client()
    client.call("subscribe", Self.subscribe)
    scene.harness.upstream.channel.accept()
    scene.emit("b", "a", "b", "a")
    scene.allow(["a"])
    scene.allow(["a", "b"], atOnce: false)
    let (after, _) = scene.handOver(client)
    // The first came before all that waits, and the other one behind it.
    #expect(Self.told(after.call("credit", Self.credit)) == ["event 2", "event 3", "event 4", "gap 1 1 expired"])
  }

  @Test func whatIsMissingAndNotToldYetIsToldAtTheHandover() {
    let scene = Scene(reading: ["a", "b"])
    let client = scene.harness.client()
    client.call("subscribe", Self.subscribe)
    scene.harness.upstream.channel.accept()
    scene.emit("b", "a")
    scene.allow(["a"])
    scene.allow(["a", "b"])
    let (after, _) = scene.handOver(client)
    #expect(Self.told(after.read()) == ["gap 1 1 1 expired"])
    #expect(Self.told(after.call("credit", Self.credit)) == ["event 2"])
  }

  @Test func aCallThatWaitsIsAnsweredByTheNextDaemon() {
    let scene = Scene()
    let client = scene.harness.client()
    client.call("wait", #"{"upstream":"chat","state":"connected","timeout":60000}"#, id: 7)
    scene.harness.pass(.seconds(20))
    let (after, document) = scene.handOver(client)
    #expect(String(decoding: document.calls[0].line, as: UTF8.self).contains(#""timeout":40000"#))
    #expect(after.read() == [])
    scene.harness.upstream.channel.accept()
    #expect(after.read() == [#"{"jsonrpc":"2.0","id":7,"result":{"state":"connected"}}"#])
  }

  @Test func aWaitWithoutAnIdHoldsUpNothingInTheNextDaemonAndEndsWithoutAWord() {
    let scene = Scene()
    let client = scene.harness.client()
    client.say(
      #"{"jsonrpc":"2.0","method":"wait","params":{"upstream":"chat","state":"connected","timeout":60000}}"#)
    let (after, document) = scene.handOver(client)
    #expect(document.calls.map(\.isNotification) == [true])
    #expect(after.session?.openCallCount == 1 && after.session?.wantsInput == true)
    #expect(after.call("ping") == [#"{"jsonrpc":"2.0","id":1,"result":{}}"#])
    scene.harness.pass(.seconds(60))
    #expect(after.session?.openCallCount == 0 && after.read() == [] && after.isConnected)
  }

  @Test func whatWasSaidWithoutAnIdIsNotAnsweredByAGoodbyeWhereTheNextDaemonRefusesIt() {
    let scene = Scene()
    let client = scene.harness.client()
    let call = #"{"jsonrpc":"2.0","method":"subscribe","params":{"upstream":"gone"}}"#
    var document = HandoverDocument.Client.none
    document.calls = [HandoverDocument.Call(line: Array(call.utf8), isNotification: true)]
    client.session?.takeOver(document)
    #expect(client.read() == [] && client.isConnected)
  }

  @Test func aSubscriptionIsStillOneThatWasAnswered() {
    let scene = Scene()
    let client = scene.harness.client()
    client.say(#"{"jsonrpc":"2.0","method":"subscribe","params":{"upstream":"chat","subscription":"s"}}"#)
    let (_, document) = scene.handOver(client)
    #expect(document.calls.map(\.isNotification) == [false])
  }

  @Test func nothingIsHeardWhileTheDaemonHandsOver() {
    let scene = Scene()
    let client = scene.harness.client()
    #expect(client.session?.wantsInput == true)
    scene.harness.gateway.stop(reason: "test", handingOver: true) {}
    #expect(client.session?.wantsInput == false)
  }

  @Test func aHandoverThatFailsIsAGoodbyeToEverybody() {
    let scene = Scene()
    let client = scene.harness.client()
    client.call("wait", #"{"upstream":"chat","state":"connected","timeout":60000}"#)
    scene.harness.gateway.stop(reason: "test", handingOver: true) {}
    scene.harness.pass(.seconds(30))
    scene.harness.gateway.abandonHandover()
    let lines = client.read()
    #expect(Self.methods(lines) == ["error", "goodbye"])
    #expect(HarnessClient.values(lines).last?["params"]?["reason"] == .string("restarting"))
  }

  @Test func whatTheNextDaemonRefusesIsAGoodbye() {
    let scene = Scene()
    let client = scene.harness.client()
    let call = #"{"jsonrpc":"2.0","method":"subscribe","params":{"upstream":"gone"}}"#
    var document = HandoverDocument.Client.none
    document.calls = [HandoverDocument.Call(line: Array(call.utf8))]
    document.output = Array("{\"last\":1}\n".utf8)
    client.session?.takeOver(document)
    let lines = client.read()
    #expect(lines.first == "{\"last\":1}" && Self.methods(lines).last == "goodbye" && lines.count == 2)
    #expect(!client.isConnected)
  }

  @Test func tokensForAnswersNeverComeTwice() {
    let scene = Scene()
    let tokens = scene.harness.gateway.upstreams.tokens
    #expect(tokens.next() == "a1" && tokens.next() == "a2")
    _ = scene.handOver(scene.harness.client())
    #expect(scene.harness.gateway.upstreams.tokens.next() == "a3")
    #expect(scene.harness.gateway.handovers == 1)
  }

  @Test func aTraceKeepsItsName() {
    let scene = Scene()
    let client = scene.harness.client(uid: 0)
    client.call("trace", #"{"upstream":"chat"}"#)
    client.call("trace", #"{"upstream":"chat","payloads":true}"#)
    client.call("untrace", #"{"trace":"t1"}"#)
    let document = client.session?.handOver(socket: 0, input: [])
    let next = Scene().harness.client(uid: 0)
    if let document { next.session?.takeOver(document) }
    #expect(
      next.session?.traces?.all.map(\.id).sorted() == ["t2"] && next.session?.traces?["t2"]?.wantsPayloads == true)
    #expect(next.call("trace", #"{"upstream":"chat"}"#).last?.contains(#""t3""#) == true)
  }
}

extension HandoverDocument.Client {
  /// One that has nothing.
  fileprivate static let none = Self(
    socket: 0, name: nil, since: 0, nextSubscription: 1, nextTrace: 1, input: [], output: [], isClosing: false,
    calls: [])
}
