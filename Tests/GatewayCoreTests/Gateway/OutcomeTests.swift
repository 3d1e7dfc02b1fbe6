import Testing

@testable import GatewayCore

/// Symptoms that were seen once and must not come back.
@Suite struct OutcomeTests {
  private static func kind(_ lines: [String]) -> String? {
    HarnessClient.values(lines).first?["error"]?["data"]?["type"]?.stringValue
  }

  @Test func aStopSettlesEveryOpenCallBeforeTheGoodbye() {
    let harness = GatewayHarness()
    let client = harness.client()
    client.call("request", #"{"upstream":"chat","event":"ask","timeout":60000}"#, id: 1)
    harness.upstream.channel.accept()
    client.call("wait", #"{"upstream":"chat","state":"disconnected","timeout":60000}"#, id: 2)
    client.call("send", #"{"url":"http://dead.example","event":"e"}"#, id: 3)
    harness.gateway.stop(reason: "stopping") {}
    harness.pass(.seconds(6))
    let told = client.readValues()
    let kinds = told.map { $0["error"]?["data"]?["type"]?.stringValue }
    #expect(kinds.contains("AckLost"))
    #expect(told.contains { $0["id"]?.integerValue == 2 })
    #expect(told.last?["method"]?.stringValue == "goodbye")
    let lost = harness.facts.contains {
      if case .sendFailed(_, _, let how) = $0 { how.hasPrefix("down") } else { false }
    }
    #expect(lost)
  }

  @Test func aCallThatFailsLeavesNoConnectionBehind() {
    let harness = GatewayHarness()
    let client = harness.client()
    #expect(Self.kind(client.call("send", #"{"url":"http://x.example","event":"connect"}"#)) == "InvalidParams")
    harness.pass(.seconds(61))
    #expect(harness.gateway.upstreams.pool.count == 0)
    #expect(harness.upstream.channels.isEmpty)
  }

  @Test func aDroppedVolatileSendStillAsksForTheConnection() {
    let harness = GatewayHarness()
    let client = harness.client()
    let params = #"{"upstream":"chat","event":"v","volatile":true}"#
    client.call("send", params)
    harness.upstream.channel.accept()
    client.call("send", params)
    #expect(harness.upstream.channel.written == ["v []"])
    harness.pass(.seconds(120))
    #expect(harness.gateway.upstreams.pool.count == 0)
  }

  @Test func aNotificationAsksTheServerForNoAcknowledgement() {
    let harness = GatewayHarness()
    let client = harness.client()
    client.say(
      #"{"jsonrpc":"2.0","method":"send","params":{"upstream":"chat","event":"e","delivery":"acked","timeout":60000}}"#)
    harness.upstream.channel.accept()
    #expect(harness.upstream.channel.written == ["e []"])
  }

  @Test func aSecondSubscriberDoesNotHastenTheReconnectAfterALaterLoss() {
    let harness = GatewayHarness { $0.upstreams["chat"]?.settings.reconnect.base = .seconds(20) }
    harness.client().call("subscribe", #"{"upstream":"chat"}"#)
    harness.upstream.channel.accept()
    harness.client().call("subscribe", #"{"upstream":"chat"}"#)
    harness.random.prescribe(fraction: 0.9)
    harness.upstream.channel.fail(.closed)
    harness.pass(.seconds(15))
    #expect(harness.upstream.channels.count == 1)
    harness.pass(.seconds(5))
    #expect(harness.upstream.channels.count == 2)
  }

  @Test func aShortTimeToLiveIsNotHiddenBehindALongOne() {
    let harness = GatewayHarness()
    let client = harness.client()
    client.call("send", #"{"upstream":"chat","event":"long"}"#)
    client.call("send", #"{"upstream":"chat","event":"short","ttl":500,"delivery":"sent","timeout":4000}"#)
    harness.pass(.seconds(1))
    #expect(Self.kind(client.read()) == "Expired")
  }

  @Test func anUpstreamThatBecameAnotherNamespaceNeverReachesTheOldSubscribers() {
    let harness = GatewayHarness()
    let root = harness.client(uid: 0)
    root.call("subscribe", #"{"upstream":"chat","namespace":"/x"}"#)
    let old = harness.upstream.channel
    old.accept()
    var changed = harness.gateway.configuration
    changed.upstreams["chat"]?.url.path = "/admin"
    harness.loader.next = .success(changed)
    root.call("reload")
    #expect(old.isClosed)
    #expect(harness.upstream.channels.count == 1)
    root.call("subscribe", #"{"upstream":"chat"}"#)
    #expect(harness.upstream.channel.specification.namespace == "/admin")
  }

  @Test func aWithdrawnUpstreamLeavesThePoolWithItsLastUser() {
    let harness = GatewayHarness { $0.upstreams["chat"]?.settings.keep = .always }
    let root = harness.client(uid: 0)
    root.call("subscribe", #"{"upstream":"chat"}"#)
    harness.upstream.channel.accept()
    harness.loader.next = .success(Configuration())
    root.call("reload")
    root.call("unsubscribe", #"{"subscription":"s1"}"#)
    harness.pass(.seconds(61))
    #expect(harness.gateway.upstreams.pool.count == 0)
  }

  @Test func aHeldConnectionIsNotToldToComeBack() {
    let harness = GatewayHarness()
    let root = harness.client(uid: 0)
    root.call("subscribe", #"{"upstream":"chat","state":true}"#)
    harness.upstream.channel.accept()
    root.read()
    harness.client(uid: 0).call("disconnect", #"{"upstream":"chat"}"#)
    let params = root.readValues()[0]["params"]
    #expect(params?["reason"]?.stringValue == "requested")
    #expect(params?["in"]?.integerValue == nil)
  }

  @Test func aReloadUnderAnAdministratorsHoldKeepsItsReason() {
    let harness = GatewayHarness()
    let root = harness.client(uid: 0)
    root.call("subscribe", #"{"upstream":"chat"}"#)
    harness.upstream.channel.accept()
    root.call("disconnect", #"{"upstream":"chat"}"#)
    var changed = harness.gateway.configuration
    changed.upstreams["chat"]?.settings.path = "/other/"
    harness.loader.next = .success(changed)
    root.call("reload")
    #expect(root.call("status")[0].contains(#""reason":"requested""#))
    #expect(harness.upstream.channels.count == 1)
  }

  @Test func newLimitsReachConnectionsThatExist() {
    let harness = GatewayHarness()
    let root = harness.client(uid: 0)
    root.call("send", #"{"upstream":"chat","event":"e"}"#)
    var changed = harness.gateway.configuration
    changed.limits.sendQueue = 1
    harness.loader.next = .success(changed)
    root.call("reload")
    #expect(Self.kind(root.call("send", #"{"upstream":"chat","event":"e"}"#)) == "QueueFull")
  }

  @Test func anAcknowledgementOverTheLineLimitIsAnErrorOfItsOwn() {
    let harness = GatewayHarness { $0.limits.line = 4_096 }
    let client = harness.client()
    client.call("request", #"{"upstream":"chat","event":"ask"}"#)
    harness.upstream.channel.accept()
    harness.upstream.channel.acknowledge(0, "\"" + String(repeating: "x", count: 5_000) + "\"")
    #expect(Self.kind(client.read()) == "PayloadTooLarge")
  }

  @Test func credentialsInANamespaceAreNotShown() {
    let harness = GatewayHarness()
    let root = harness.client(uid: 0)
    root.call("subscribe", #"{"upstream":"chat","namespace":"/z?token=SECRET"}"#)
    let status = root.call("status")[0]
    #expect(status.contains(#""namespace":"/z?***""#))
    #expect(!status.contains("SECRET"))
  }

  @Test func aURLGetsNoHeadersOfTheDefaults() {
    let harness = GatewayHarness {
      $0.defaults.headers = [HTTPHeader(name: "X-Key", value: "secret")]
      $0.defaults.query = [QueryItem(name: "key", value: "secret")]
    }
    harness.client().call("subscribe", #"{"url":"http://x.example"}"#)
    let settings = harness.upstream.channel.specification.settings
    #expect(settings.headers.isEmpty)
    #expect(settings.query.isEmpty)
  }

  @Test func oneUsersURLsDoNotTakeAllConnections() {
    let harness = GatewayHarness { $0.limits.connections = 4 }
    let client = harness.client()
    for number in 1...2 { client.call("subscribe", #"{"url":"http://\#(number).example"}"#) }
    #expect(Self.kind(client.call("subscribe", #"{"url":"http://3.example"}"#)) == "QuotaExceeded")
    #expect(harness.client(uid: 5).call("subscribe", #"{"url":"http://3.example"}"#)[0].contains("result"))
    #expect(client.call("subscribe", #"{"upstream":"chat"}"#)[0].contains("result"))
  }

  @Test func oneUsersNamespacesOfAConfiguredUpstreamDoNotTakeAllConnections() {
    let harness = GatewayHarness { $0.limits.connections = 4 }
    let client = harness.client()
    func send(_ client: HarnessClient, _ namespace: String) -> [String] {
      client.call("send", #"{"upstream":"chat","namespace":"\#(namespace)","event":"e"}"#)
    }
    #expect(send(client, "/")[0].contains("accepted"))
    #expect(send(client, "/1")[0].contains("accepted") && send(client, "/2")[0].contains("accepted"))
    let refused = send(client, "/3")
    #expect(Self.kind(refused) == "QuotaExceeded")
    #expect(refused[0].contains(#""quota":"connections","limit":4,"share":2"#))
    #expect(send(client, "/1")[0].contains("accepted"))
    let other = harness.client(uid: 5)
    #expect(send(other, "/3")[0].contains("accepted") && send(other, "/1")[0].contains("accepted"))
    // A reload leaves them what they are.
    _ = harness.gateway.reload()
    #expect(Self.kind(send(client, "/4")) == "QuotaExceeded")
    // Room comes back with the release of what no program uses any more.
    for channel in harness.upstream.channels { channel.accept() }
    harness.pass(.seconds(300))
    #expect(send(client, "/4")[0].contains("accepted"))
  }

  @Test func keysAboveTheLimitAreRefusedUntilTheLimitGrows() {
    let harness = GatewayHarness { $0.limits.keys = 2 }
    let client = harness.client()
    func send(_ key: String) -> [String] { client.call("send", #"{"upstream":"chat","event":"e","key":"\#(key)"}"#) }
    #expect(send("a")[0].contains("accepted"))
    #expect(send("b")[0].contains("accepted"))
    #expect(Self.kind(send("c")) == "QuotaExceeded")
    #expect(send("a")[0].contains("duplicate"))
    #expect(harness.client(uid: 5).call("send", #"{"upstream":"chat","event":"e","key":"c"}"#)[0].contains("accepted"))
    var configuration = harness.gateway.configuration
    configuration.limits.keys = 3
    harness.loader.next = .success(configuration)
    _ = harness.gateway.reload()
    #expect(send("c")[0].contains("accepted"))
  }

  @Test func spellingsOfAKeyThatUnicodeHoldsToBeOneAreDifferentKeys() {
    let harness = GatewayHarness()
    let client = harness.client()
    let results = ["\u{e9}", "e\u{301}", "\u{e9}"].map { key in
      HarnessClient.values(client.call("send", #"{"upstream":"chat","event":"e","key":"\#(key)"}"#)).last?["result"]
    }
    #expect(results.map { $0?["duplicate"]?.boolValue ?? false } == [false, false, true])
    harness.upstream.channel.accept()
    #expect(harness.upstream.channel.written.count == 2)
  }

  @Test func keysThatNeverLeftLeaveNothingBehind() {
    var table = IdempotencyTable()
    let target = CallTarget(name: .upstream("chat"))
    let now = MonotonicInstant(nanoseconds: 0)
    let key = ConnectionKey(
      UpstreamSpecification(
        name: "chat", url: UpstreamURL(scheme: "http", host: "h"), namespace: "/", settings: UpstreamSettings(),
        owner: nil))
    func scope(_ key: ConnectionKey, _ text: String) -> IdempotencyTable.Scope {
      .init(uid: 1, connection: key, key: text)
    }
    table.add(scope(key, "live"), target: target, id: "0", fingerprint: 0, now: now)
    for number in 1...20_000 {
      table.add(scope(key, "k\(number)"), target: target, id: "\(number)", fingerprint: 0, now: now)
      table.note("\(number)", state: nil)
    }
    #expect(!table.isFull(for: 1, limit: 2))
    #expect(table.isFull(for: 1, limit: 1))
    #expect(table.rememberedOrder < 2_000)
    guard case .duplicate = table.find(scope(key, "live"), fingerprint: 0, now: now) else {
      Issue.record("the live key was forgotten")
      return
    }
  }

  private static func state(_ lines: [String]) -> String? {
    let result = HarnessClient.values(lines).first?["result"]
    return result?["duplicate"] == .bool(true) ? result?["state"]?.stringValue : nil
  }

  @Test func aKeyStaysUsedWhateverBecameOfWhatWasTakenUnderIt() {
    let harness = GatewayHarness()
    let client = harness.client()
    let expiring = #"{"upstream":"chat","event":"e","key":"a","ttl":1000}"#
    client.call("send", expiring)
    harness.pass(.seconds(2))
    #expect(Self.state(client.call("send", expiring)) == "expired")
    // The server has answered it: it is not asked again.
    let asked = #"{"upstream":"chat","event":"charge","key":"b","timeout":5000}"#
    client.call("request", asked)
    harness.upstream.channel.accept()
    harness.upstream.channel.decline(0, RemoteError("declined"))
    #expect(Self.kind(client.read()) == "RequestFailed")
    #expect(Self.state(client.call("request", asked)) == "refused")
    // Its caller was told that it never left.
    harness.upstream.channel.fail(.closed)
    let waiting = #"{"upstream":"chat","event":"e","key":"c","delivery":"sent","timeout":100}"#
    client.call("send", waiting)
    harness.pass(.milliseconds(150))
    #expect(Self.kind(client.read()) != nil)
    #expect(Self.state(client.call("send", waiting)) == nil)
  }

  @Test func aKeyGoesOnToCountWhenAReloadGivesItsURLToAnUpstream() {
    let harness = GatewayHarness()
    let client = harness.client()
    let call = #"{"url":"http://new.example","event":"pay","args":[1],"key":"k"}"#
    #expect(client.call("send", call)[0].contains("accepted"))
    harness.reload {
      $0.upstreams["new"] = ConfiguredUpstream(
        url: UpstreamURL(scheme: "http", host: "new.example"), settings: UpstreamSettings())
    }
    #expect(client.call("send", call)[0].contains(#""duplicate":true"#))
    let named = #"{"upstream":"new","event":"pay","args":[1],"key":"k"}"#
    #expect(client.call("send", named)[0].contains(#""duplicate":true"#))
    // And back, after which it still goes when its day is over.
    harness.reload { $0.upstreams["new"] = nil }
    #expect(client.call("send", call)[0].contains(#""duplicate":true"#))
    harness.pass(.seconds(86_500))
    #expect(client.call("send", call)[0].contains("accepted"))
  }

  @Test func aKeyOfANamespaceStaysWithItsURLWhenAnUpstreamHasTheServer() {
    let harness = GatewayHarness()
    let client = harness.client()
    let call = #"{"url":"http://new.example/admin","event":"pay","args":[1],"key":"k"}"#
    #expect(client.call("send", call)[0].contains("accepted"))
    harness.reload {
      $0.upstreams["new"] = ConfiguredUpstream(
        url: UpstreamURL(scheme: "http", host: "new.example"), settings: UpstreamSettings())
    }
    #expect(client.call("send", call)[0].contains(#""duplicate":true"#))
  }

  @Test func aURLThatTwoUpstreamsHaveSinceAReloadIsUsedOnByThoseWhoMayUseBoth() {
    let harness = GatewayHarness()
    let client = harness.client(uid: 0)
    client.call("subscribe", #"{"url":"http://new.example"}"#)
    harness.upstream.channel.accept()
    _ = client.read()
    harness.reload {
      for name in ["a", "b"] {
        $0.upstreams[name] = ConfiguredUpstream(
          url: UpstreamURL(scheme: "http", host: "new.example"), settings: UpstreamSettings())
      }
    }
    harness.pass(.zero)
    #expect(!client.read().contains { $0.contains("goodbye") })
    #expect(Self.kind(client.call("send", #"{"url":"http://new.example","event":"e"}"#)) == "Conflict")
  }
}
