import Testing

@testable import GatewayCore

private let document: JSONValue = {
  let line = LocalReply.result(RequestID(value: .integer(1), text: [UInt8(ascii: "1")])) {
    Discovery.write(MethodTable.methods, version: "1.2.3", into: &$0)
  }
  return (try? JSONValue.parse(line.span.bytes, limit: .max))?["result"] ?? .null
}()

private func item(_ list: String, _ key: String, _ name: String) throws -> JSONValue {
  try #require(document[list]?.elements?.first { $0[key]?.stringValue == name })
}

private func problems(_ text: String, _ schema: JSONValue?) throws -> [String] {
  var checker = JSONSchemaChecker()
  checker.check(try JSONValue.parse(Array(text.utf8).span.bytes), try #require(schema))
  return checker.problems
}

@Suite struct DiscoveryTests {
  @Test func namesItselfAndItsVersion() {
    #expect(document["openrpc"] == .string("1.3.2"))
    #expect(document["info"]?["title"] == .string("gatewayd"))
    #expect(document["info"]?["version"] == .string("1.2.3"))
  }

  @Test(arguments: ["status", "outbox.list", "outbox.cancel", "outbox.retry", "outbox.purge"])
  func noMethodThatGoesWithoutAnUpstreamSaysThatItNeedsOne(_ name: String) throws {
    let params = try item("methods", "name", name)["params"]?.elements ?? []
    let summaries = Dictionary(
      uniqueKeysWithValues: params.map { ($0["name"]?.stringValue ?? "", $0["summary"]?.stringValue ?? "") })
    for target in ["upstream", "url"] { #expect(summaries[target]?.hasPrefix("Only ") == true, "\(target)") }
    let needsChoice = name == "outbox.cancel" || name == "outbox.retry"
    #expect(summaries["ids"]?.contains("`upstream` or `url` are needed") ?? false == needsChoice)
  }

  @Test func describesEveryMethodOfTheTable() throws {
    #expect(document["methods"]?.elements?.compactMap { $0["name"]?.stringValue } == MethodTable.methods.map(\.name))
    for method in MethodTable.methods {
      let shown = try item("methods", "name", method.name)
      #expect(shown["summary"]?.stringValue == method.summary)
      #expect(shown["x-right"]?.stringValue == method.right?.rawValue)
      #expect(shown["params"]?.elements?.compactMap { $0["name"]?.stringValue } == method.parameters.map(\.name.text))
      #expect(
        shown["params"]?.elements?.compactMap { $0["required"]?.boolValue } == method.parameters.map(\.isRequired))
      #expect(shown["result"]?["schema"]?["type"] == .string("object"))
    }
  }

  @Test func describesEveryErrorAndNotification() {
    #expect(
      document["x-errors"]?.elements?.compactMap { $0["code"]?.integerValue } == LocalError.Kind.allCases.map(\.code))
    #expect(
      document["x-errors"]?.elements?.compactMap { $0["type"]?.stringValue } == LocalError.Kind.allCases.map(\.rawValue)
    )
    #expect(
      document["x-notifications"]?.elements?.compactMap { $0["name"]?.stringValue } == [
        "event", "state", "gap", "trace", "progress", "goodbye",
      ])
  }

  @Test func everySummaryIsOneSentence() {
    let summaries =
      MethodTable.methods.flatMap { [$0.summary] + $0.parameters.map(\.summary) }
      + NotificationTable.notifications.map(\.summary) + LocalError.Kind.allCases.map(\.summary)
    for summary in summaries { #expect(summary.hasSuffix(".") && summary.first?.isLowercase == false, "\(summary)") }
  }

  @Test(arguments: [
    (
      "hello",
      #"{"server":"gatewayd/1.0.0","protocol":{"min":1,"max":1},"instance":"i","limits":{"line":1048576,"subscriptions":128,"inflight":256,"queue":10000},"features":["history","parts"],"you":{"uid":1000,"gid":1000,"rights":["status","subscribe","send"]}}"#
    ),
    (
      "subscribe",
      #"{"subscription":"s1","connection":"c","state":"connected","epoch":"e7","seq":4100,"recovered":true,"replayed":2,"upstream":{"state":"connected","reason":null,"detail":null}}"#
    ),
    (
      "history",
      #"{"events":[{"seq":1,"time":2,"event":"e","args":[1]}],"epoch":"e7","seq":4103,"complete":true,"more":false}"#
    ),
    ("send", #"{"id":"x","state":"acked","args":[1],"upstream":{"state":"connected","reason":null,"detail":null}}"#),
    ("request", #"{"args":[]}"#), ("credit", #"{"credit":5}"#),
    ("wait", #"{"state":"connected"}"#), ("ping", "{}"), ("reload", #"{"changed":["log.level"]}"#),
    (
      "status",
      #"{"daemon":{"version":"1.0.0","instance":"i","uptime":12500,"pid":1,"rss":1,"state":"running"},"connections":[{"connection":"u","link":"u","upstream":null,"url":"https://h/","namespace":"/","kind":"socketio","state":"connected","since":1,"reason":null,"detail":null,"rule":"reconnect","attempt":0,"next":null,"leases":3,"subscriptions":3,"queue":{"count":0,"bytes":0,"oldest":null},"transport":"websocket","protocol":{"engineio":4,"socketio":5},"tls":"TLSv1.3","verified":true,"sid":"s","rtt":0.8,"heartbeat":{"interval":25000,"timeout":20000},"epoch":"e","seq":4101,"in":{"events":1,"bytes":1},"out":{"events":1,"bytes":1},"reconnects":2}],"clients":[{"client":"c17","name":"backup.sh/2","uid":1000,"gid":1000,"since":1,"subscriptions":1,"requests":0,"queue":{"count":0,"bytes":0},"dropped":0}]}"#
    ),
  ])
  func resultsFitTheirSchemas(_ method: String, _ result: String) throws {
    #expect(try problems(result, try item("methods", "name", method)["result"]?["schema"]) == [])
  }

  @Test(arguments: [
    ("subscribe", #"{"subscription":"s1"}"#), ("send", #"{"id":1,"state":"acked"}"#), ("wait", #"{"state":"odd"}"#),
    ("request", #"{"args":{}}"#), ("credit", #"{"credit":-1}"#),
  ])
  func otherResultsDoNot(_ method: String, _ result: String) throws {
    #expect(try !problems(result, try item("methods", "name", method)["result"]?["schema"]).isEmpty)
  }

  @Test func notificationsFitTheirSchemas() throws {
    var event = LocalNotification.eventHead(subscription: "s1")
    let name = Array("\"e\"".utf8)
    LocalNotification.eventTail(
      seq: 1, time: 2, name: name.span.bytes, arguments: [UInt8]().span.bytes, ack: "a1", into: &event)
    let lines = [
      event,
      LocalNotification.state(
        subscription: "s1", state: .reconnecting, epoch: "e", attempt: 1, retryIn: 2, reason: .http, detail: "x",
        status: 404),
      LocalNotification.state(
        subscription: "s1", state: .connected, epoch: "e", attempt: nil, retryIn: nil, reason: nil, detail: nil,
        status: nil, isRecovered: true),
      LocalNotification.gap(subscription: "s1", epoch: "e", range: 1...2, count: 2, reason: .tooLarge),
      LocalNotification.goodbye(reason: "restart", reconnectIn: .seconds(1)),
    ]
    for line in lines {
      let value = try JSONValue.parse(line.span.bytes, limit: .max)
      let row = try item("x-notifications", "name", try #require(value["method"]?.stringValue))
      var checker = JSONSchemaChecker()
      checker.check(try #require(value["params"]), try #require(row["params"]))
      #expect(checker.problems == [])
      #expect(value["params"]?.members?.allSatisfy { row["params"]?["properties"]?[$0.key] != nil } == true)
    }
  }

  @Test(arguments: [
    ("subscribe", "events", #"["a"]"#, "[]"), ("subscribe", "since", #"{"epoch":"e","seq":1}"#, #"{"epoch":"e"}"#),
    ("subscribe", "since", #"{"seq":1,"epoch":"e"}"#, #"{"epoch":"e","seq":1,"x":1}"#),
    ("subscribe", "on_slow", #""pause""#, #""stop""#), ("subscribe", "credit", "0", "-1"),
    ("send", "delivery", #""durable""#, #""eternal""#), ("send", "ttl", "0", "-1"), ("send", "event", #""e""#, #""""#),
    ("send", "args", "[]", "{}"), ("send", "auth", #"{"token":1}"#, "[]"), ("send", "no_queue", "true", "1"),
    ("send", "compress", "false", "0"),
    ("rpc.cancel", "id", "1", "1.5"), ("rpc.cancel", "id", #""x""#, "null"), ("credit", "n", "1", "0"),
  ])
  func paramsAreDescribedAsTheyAreChecked(_ method: String, _ param: String, _ good: String, _ bad: String) throws {
    let params = try item("methods", "name", method)["params"]?.elements
    let schema = params?.first { $0["name"]?.stringValue == param }?["schema"]
    #expect(try problems(good, schema) == [])
    #expect(try !problems(bad, schema).isEmpty)
  }
}
