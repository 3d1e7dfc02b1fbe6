import Testing

@testable import GatewayCore

/// Everything about local clients that is neither sending nor receiving: who they are, what they may, when they end.
@Suite struct ConversationTests {
  private static func kind(_ lines: [String]) -> String? {
    HarnessClient.values(lines).first?["error"]?["data"]?["type"]?.stringValue
  }

  @Test func helloTellsVersionLimitsAndRights() {
    let harness = GatewayHarness()
    let result = HarnessClient.values(harness.client().call("hello", #"{"client":"me"}"#))[0]["result"]
    #expect(result?["server"]?.stringValue == "gatewayd/1.2.3")
    #expect(result?["limits"]?["inflight"]?.integerValue == 256)
    #expect(result?["you"]?["uid"]?.integerValue == 1_000)
    #expect(result?["you"]?["rights"] == .array([.string("status"), .string("subscribe"), .string("send")]))
  }

  @Test func aReplacedSubscriptionIsNeverDeliveredTwice() {
    let harness = GatewayHarness()
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat","subscription":"x","events":["a"]}"#)
    client.call("subscribe", #"{"upstream":"chat","subscription":"x","events":["b"]}"#)
    harness.upstream.channel.accept()
    harness.upstream.channel.emit("a")
    harness.upstream.channel.emit("b")
    #expect(client.readValues().map { $0["params"]?["event"]?.stringValue } == ["b"])
  }

  @Test func theSubscriptionLimitIsAQuota() {
    let harness = GatewayHarness { $0.limits.subscriptions = 1 }
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    #expect(Self.kind(client.call("subscribe", #"{"upstream":"chat"}"#)) == "QuotaExceeded")
  }

  @Test func theLimitOfCallsInFlightIsAQuota() {
    let harness = GatewayHarness { $0.limits.inflight = 1 }
    let client = harness.client()
    client.call("request", #"{"upstream":"chat","event":"e"}"#, id: 1)
    #expect(Self.kind(client.call("request", #"{"upstream":"chat","event":"e"}"#, id: 2)) == "QuotaExceeded")
    #expect(client.call("ping", id: 3).count == 1)
  }

  @Test func clientsBeyondTheLimitAreTurnedAwayWithAReason() {
    let harness = GatewayHarness { $0.limits.clientsPerUser = 1 }
    let first = harness.client()
    #expect(Self.kind(harness.client().read()) == "QuotaExceeded")
    #expect(harness.client(uid: 1_001).isConnected)
    first.disconnect()
    #expect(harness.client().isConnected)
  }

  @Test func anOversizedLineIsAnsweredWithIdNullAndEndsTheConversation() {
    let harness = GatewayHarness()
    let client = harness.client()
    client.session?.receiveOversizedLine()
    let answer = client.readValues()[0]
    #expect(answer["id"] == .null)
    #expect(answer["error"]?["data"]?["limit"]?.integerValue == 1 << 20)
    #expect(!client.isConnected)
  }

  @Test func afterEndOfInputWhatWasAskedIsStillAnswered() {
    let harness = GatewayHarness()
    let client = harness.client()
    client.call("request", #"{"upstream":"chat","event":"e"}"#, id: 4)
    client.session?.endOfInput()
    #expect(client.read().isEmpty)
    #expect(client.isConnected)
    harness.upstream.channel.accept()
    harness.upstream.channel.acknowledge(0)
    #expect(client.read() == [#"{"jsonrpc":"2.0","id":4,"result":{"args":[]}}"#])
    #expect(!client.isConnected)
  }

  @Test func waitingHoldsALeaseAndEndsWithTheState() {
    let harness = GatewayHarness()
    let client = harness.client()
    #expect(client.call("wait", #"{"upstream":"chat","state":"connected","timeout":1000}"#).isEmpty)
    harness.upstream.channel.accept()
    #expect(client.read() == [#"{"jsonrpc":"2.0","id":1,"result":{"state":"connected"}}"#])
    #expect(client.call("wait", #"{"upstream":"chat","state":"connected","timeout":0}"#).count == 1)
    #expect(client.call("wait", #"{"upstream":"chat","state":"disconnected","timeout":1000}"#).isEmpty)
    harness.pass(.seconds(2))
    #expect(Self.kind(client.read()) == "Expired")
  }

  @Test func withoutAdminOthersConnectionsAndClientsAreNotShown() {
    let harness = GatewayHarness()
    harness.client(uid: 1_001).call("subscribe", #"{"url":"http://x.example/?token=secret"}"#)
    let mine = harness.client().call("status")[0]
    #expect(!mine.contains("x.example"))
    let all = harness.client(uid: 0).call("status")[0]
    #expect(all.contains("http://x.example/?token=***"))
    #expect(!all.contains("secret"))
  }

  @Test func administrationNeedsTheRight() {
    let harness = GatewayHarness()
    let client = harness.client()
    for method in ["reconnect", "disconnect", "release"] {
      let error = HarnessClient.values(client.call(method, #"{"upstream":"chat"}"#))[0]["error"]?["data"]
      #expect(error?["type"]?.stringValue == "PermissionDenied")
      #expect(error?["need"]?.stringValue == "admin")
    }
    #expect(Self.kind(client.call("reload")) == "PermissionDenied")
    #expect(Self.kind(client.call("clients.kick", #"{"client":"c1"}"#)) == "PermissionDenied")
  }

  @Test func aKickedClientIsToldAndGone() {
    let harness = GatewayHarness()
    let client = harness.client()
    harness.client(uid: 0).call("clients.kick", #"{"client":"c1"}"#)
    #expect(client.readValues().last?["params"]?["reason"]?.stringValue == "kicked")
    #expect(!client.isConnected)
  }

  @Test func aReloadTouchesOnlyWhatChanged() {
    let harness = GatewayHarness {
      $0.upstreams["news"] = ConfiguredUpstream(
        url: UpstreamURL(scheme: "http", host: "news.example"), settings: UpstreamSettings())
    }
    let root = harness.client(uid: 0)
    root.call("subscribe", #"{"upstream":"chat"}"#)
    root.call("subscribe", #"{"upstream":"news"}"#)
    let (chat, news) = (harness.upstream.channels[0], harness.upstream.channels[1])
    chat.accept()
    news.accept()
    var changed = harness.gateway.configuration
    changed.upstreams["news"]?.settings.path = "/other/"
    harness.loader.next = .success(changed)
    #expect(root.call("reload") == [#"{"jsonrpc":"2.0","id":1,"result":{"changed":["news"]}}"#])
    #expect(!chat.isClosed)
    #expect(news.isClosed)
    #expect(harness.upstream.channels.count == 3)
    #expect(harness.upstream.channel.specification.settings.path == "/other/")
  }

  @Test func aBadReloadLeavesEverythingAndSaysWhy() {
    let harness = GatewayHarness()
    harness.loader.next = .failure(
      ConfigurationProblems([ConfigurationProblem(file: "a.toml", line: 3, message: "no such key")]))
    let answer = HarnessClient.values(harness.client(uid: 0).call("reload"))[0]["error"]
    #expect(
      answer?["data"]?["problems"]
        == .array([
          .object([
            .init("file", .string("a.toml")), .init("line", .number("3")), .init("message", .string("no such key")),
          ])
        ]))
    #expect(harness.gateway.configuration.upstreams["chat"] != nil)
  }

  @Test func anUpstreamThatLeftTheConfigurationGoesDownAndComesBackWithIt() {
    let harness = GatewayHarness()
    let root = harness.client(uid: 0)
    root.call("subscribe", #"{"upstream":"chat"}"#)
    harness.upstream.channel.accept()
    let with = harness.gateway.configuration
    harness.loader.next = .success(Configuration())
    root.call("reload")
    #expect(harness.upstream.channel.isClosed)
    #expect(Self.kind(root.call("send", #"{"upstream":"chat","event":"e"}"#)) == "UpstreamUnknown")
    harness.pass(.seconds(600))
    #expect(harness.upstream.channels.count == 1)
    harness.loader.next = .success(with)
    root.call("reload")
    #expect(harness.upstream.channels.count == 2)
  }

  @Test func aNamespaceThatContradictsThePathIsRefused() {
    let harness = GatewayHarness()
    let client = harness.client()
    #expect(Self.kind(client.call("subscribe", #"{"url":"http://x/a","namespace":"/b"}"#)) == "InvalidParams")
    #expect(client.call("subscribe", #"{"url":"http://x/a","namespace":"/a"}"#)[0].contains("result"))
    client.call("subscribe", #"{"upstream":"chat","namespace":"/b"}"#)
    #expect(harness.upstream.channel.specification.namespace == "/b")
  }

  @Test func severalUpstreamsWithOneURLAreAConflict() {
    let harness = GatewayHarness {
      $0.upstreams["twin"] = $0.upstreams["chat"]
    }
    #expect(Self.kind(harness.client().call("subscribe", #"{"url":"http://chat.example/"}"#)) == "Conflict")
  }

  @Test func anUnknownUpstreamAndForbiddenAdHocUseAreToldApart() {
    let harness = GatewayHarness { $0.adhoc = false }
    let client = harness.client()
    #expect(Self.kind(client.call("subscribe", #"{"upstream":"nope"}"#)) == "UpstreamUnknown")
    #expect(Self.kind(client.call("subscribe", #"{"url":"http://x/"}"#)) == "UpstreamUnknown")
    #expect(Self.kind(GatewayHarness().client().call("subscribe", #"{"url":"gopher://x/"}"#)) == "InvalidParams")
  }
}
