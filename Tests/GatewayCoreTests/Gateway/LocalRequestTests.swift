import Testing

@testable import GatewayCore

/// A line understood, or why not.
private func parse(_ line: String) throws(LocalRequestFailure) -> LocalRequest {
  try LocalRequest.parse(Array(line.utf8).span.bytes)
}

/// The call of one method with these params.
private func call(_ method: String, _ params: String) throws(LocalRequestFailure) -> any LocalCall {
  try parse(#"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":\#(params)}"#).call
}

private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

private let chat = CallTarget(name: .upstream("chat"))

@Suite struct LocalRequestTests {
  @Test(
    arguments: [
      ("hello", "{}", HelloCall(client: nil, version: nil)),
      ("hello", #"{"client":"backup.sh/2","protocol":1}"#, HelloCall(client: "backup.sh/2", version: 1)),
      ("ping", "{}", PingCall()), ("reload", "{}", ReloadCall()), ("rpc.discover", "{}", DiscoverCall()),
      ("clients.list", "{}", ClientsListCall()), ("upstreams.list", "{}", UpstreamsListCall()),
      ("clients.kick", #"{"client":"c17"}"#, ClientsKickCall(client: "c17")),
      ("unsubscribe", #"{"subscription":"s1"}"#, UnsubscribeCall(subscription: "s1")),
      ("credit", #"{"subscription":"s1","n":5}"#, CreditCall(subscription: "s1", count: 5)),
      ("status", "{}", StatusCall(target: nil)), ("status", #"{"upstream":"chat"}"#, StatusCall(target: chat)),
      (
        "status", #"{"url":"https://h/admin","namespace":"/admin"}"#,
        StatusCall(target: CallTarget(name: .url("https://h/admin"), namespace: "/admin"))
      ),
      ("reconnect", #"{"upstream":"chat"}"#, ReconnectCall(target: chat)),
      ("disconnect", #"{"upstream":"chat"}"#, DisconnectCall(target: chat)),
      ("release", #"{"upstream":"chat"}"#, ReleaseCall(target: chat)),
      (
        "wait", #"{"upstream":"chat","state":"connected","timeout":0}"#,
        WaitCall(target: chat, state: .connected, timeout: .zero)
      ),
      ("rpc.cancel", #"{"id":7}"#, CancelCall(id: RequestID(value: .integer(7), text: bytes("7")))),
      ("rpc.cancel", #"{"id":"x"}"#, CancelCall(id: RequestID(value: .string("x"), text: bytes(#""x""#)))),
      ("respond", #"{"ack":"a81"}"#, RespondCall(ack: "a81", args: bytes("[]"))),
      ("respond", #"{"ack":"a81","args":[ 1.0 ]}"#, RespondCall(ack: "a81", args: bytes("[ 1.0 ]"))),
    ] as [(String, String, any LocalCall)])
  func readsTheCall(_ method: String, _ params: String, _ expected: any LocalCall) throws {
    #expect(try call(method, params).isEqual(to: expected))
  }

  @Test func readsASubscribeWithEverything() throws {
    var expected = SubscribeCall(
      target: CallTarget(name: .url("wss://h/x"), namespace: "/x", auth: bytes(#"{"token": "t"}"#)))
    expected.events = ["chat", "room:*", "a\\*é"]
    expected.resume = .since(epoch: "e7", sequence: 9_007_199_254_740_991)
    expected.strict = true
    expected.options.state = true
    expected.options.answer = true
    expected.options.queue = 1
    expected.options.onSlow = .pause
    expected.options.credit = 0
    expected.subscription = "mine"
    #expect(
      try call(
        "subscribe",
        #"""
        {"url":"wss://h/x","namespace":"/x","auth":{"token": "t"},"events":["chat","room:*","a\\*\u00e9"],
        "since":{"seq":9007199254740991,"epoch":"e7"},"strict":true,"state":true,"answer":true,"queue":1,
        "on_slow":"pause","credit":0,"subscription":"mine"}
        """#) as? SubscribeCall == expected)
  }

  @Test func readsASubscribeWithNothing() throws {
    #expect(try call("subscribe", #"{"upstream":"chat"}"#) as? SubscribeCall == SubscribeCall(target: chat))
    var last = SubscribeCall(target: chat)
    last.resume = .last(20)
    #expect(try call("subscribe", #"{"upstream":"chat","last":20}"#) as? SubscribeCall == last)
  }

  @Test func readsASendWithEverything() throws {
    let expected = SendParameters(
      target: chat, event: "message", args: bytes(#"[1.50,{"b":1,"b":2},"é"]"#), delivery: .acked, ttl: .seconds(60),
      timeout: .milliseconds(1), noQueue: true, volatile: true, compress: false, key: "k")
    let params =
      #"{"upstream":"chat","event":"message","args":[1.50,{"b":1,"b":2},"é"],"delivery":"acked","ttl":60000,"#
      + #""timeout":1,"no_queue":true,"volatile":true,"compress":false,"key":"k"}"#
    #expect((try call("send", params) as? SendCall)?.parameters == expected)
  }

  @Test func readsASendWithNothing() throws {
    #expect(
      try call("send", #"{"upstream":"chat","event":"e","no_queue":false,"volatile":false}"#)
        .isEqual(
          to: SendCall(parameters: SendParameters(target: chat, event: "e", args: bytes("[]"), delivery: .accepted))))
  }

  @Test func aRequestIsAckedAndHasTenSeconds() throws {
    func expected(_ timeout: Duration) -> RequestCall {
      RequestCall(
        parameters: SendParameters(
          target: chat, event: "e", args: bytes("[]"), delivery: .acked, timeout: timeout))
    }
    #expect(try call("request", #"{"upstream":"chat","event":"e"}"#) as? RequestCall == expected(.seconds(10)))
    #expect(try call("request", #"{"upstream":"chat","event":"e","timeout":0}"#) as? RequestCall == expected(.zero))
  }

  @Test(arguments: [
    ("7", RequestID.Value.integer(7)), ("0", .integer(0)), ("-0", .integer(0)),
    ("9007199254740991", .integer(9_007_199_254_740_991)), ("-9007199254740991", .integer(-9_007_199_254_740_991)),
    (#""""#, .string("")), (#""a""#, .string("a")), (#""\u0061\n""#, .string("a\n")), (#""7""#, .string("7")),
    ("\"" + String(repeating: "x", count: 128) + "\"", .string(String(repeating: "x", count: 128))),
    (#""\#(String(repeating: "\\u0041", count: 128))""#, .string(String(repeating: "A", count: 128))),
  ])
  func theIdIsKeptAsItWasWritten(_ text: String, _ value: RequestID.Value) throws {
    let request = try parse(#"{"jsonrpc":"2.0","id":\#(text),"method":"ping"}"#)
    #expect(request.id?.value == value)
    var echo = JSONWriter()
    request.id?.write(into: &echo)
    #expect(echo.bytes == bytes(text))
  }

  @Test func withoutAnIdItIsANotification() throws {
    #expect(
      try parse(#"{"jsonrpc":"2.0","method":"rpc.cancel","params":{"id":3}}"#)
        == LocalRequest(id: nil, call: CancelCall(id: RequestID(value: .integer(3), text: []))))
  }

  @Test(arguments: [
    #"{"jsonrpc":"2.0","id":1,"method":"credit","params":{"subscription":"s1","n":5}}"#,
    #"{"params":{"n":5,"subscription":"s1"},"method":"credit","id":1,"jsonrpc":"2.0"}"#,
    "\t{ \"jsonrpc\" : \"2.0\" ,\r\"id\" : 1 , \"method\" : \"credit\" , \"params\" : { \"subscription\" : \"s1\" , \"n\" : 5 } } ",
    #"{"json\u0072pc":"2.\u0030","\u0069d":1,"method":"cr\u0065dit","p\u0061rams":{"\u006e":5,"subscripti\u006fn":"\u00731"}}"#,
    #"{"jsonrpc":"2.0","id":1,"method":"credit","params":{"subscription":"s1","n":5},"trace":{"a":1,"a":2},"x":[]}"#,
  ])
  func orderSpaceEscapesAndForeignMembersDoNotMatter(_ line: String) throws {
    let expected = LocalRequest(
      id: RequestID(value: .integer(1), text: bytes("1")), call: CreditCall(subscription: "s1", count: 5))
    #expect(try parse(line) == expected)
  }

  @Test func paramsMayBeAbsent() throws {
    #expect(try parse(#"{"jsonrpc":"2.0","id":1,"method":"status"}"#).call as? StatusCall == StatusCall(target: nil))
  }

  @Test func payloadsAreCarriedVerbatim() throws {
    let args = #"[ 1.0e+00,-0,"\u00e9\/\ud83d",{ "z":1, "a":{"a":1,"a":[ ]} },123456789012345678901234567890 ]"#
    let line = #"{"jsonrpc":"2.0","id":1,"method":"send","params":{"upstream":"chat","event":"e","args":\#(args)}}"#
    #expect(
      try parse(line).call.isEqual(
        to: SendCall(
          parameters: SendParameters(target: chat, event: "e", args: bytes(args), delivery: .accepted))))
  }

  @Test func aLineMayBeSixtyFourLevelsDeep() throws {
    func send(_ levels: Int) throws(LocalRequestFailure) -> any LocalCall {
      let args = String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
      return try call("send", #"{"upstream":"chat","event":"e","args":\#(args)}"#)
    }
    #expect(throws: Never.self) { try send(62) }
    #expect(throws: LocalRequestFailure.self) { try send(63) }
  }
}
