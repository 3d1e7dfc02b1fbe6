import Testing

@testable import GatewayCore

/// The error of a call, and nil for a call that is accepted.
private func failure(_ method: String, _ params: String) -> LocalError? {
  let line = Array(#"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":\#(params)}"#.utf8)
  do {
    _ = try LocalRequest.parse(line.span.bytes)
    return nil
  } catch {
    #expect(error.answered && error.id?.value == .integer(1))
    return error.error
  }
}

/// The param that an InvalidParams error is about.
private func blamed(_ method: String, _ params: String) -> String? {
  guard let error = failure(method, params), error.kind == .invalidParams else { return nil }
  guard case .string(let name) = error.facts.first(where: { $0.name == "param" })?.value else { return nil }
  return name
}

/// For every param of every method a value that is allowed.
private func example(_ parameter: LocalParameter) -> String {
  switch parameter.kind {
  case .strings where parameter.name == .states: #"["queued","lost"]"#
  case .boolean: "true"
  case .integer(let bounds): "\(bounds.lowerBound)"
  case .duration: "5000"
  case .string: "\"/x\""
  case .choice(let words): "\"\(words[0])\""
  case .strings: #"["a","b*"]"#
  case .array: "[1]"
  case .object: #"{"a":1}"#
  case .options: #"{"path":"/chat/"}"#
  case .messages: #"[{"event":"join","args":[{"room":"a"}],"kwargs":{},"ack":true}]"#
  case .position: #"{"epoch":"e7","seq":1}"#
  case .part: #"{"id":"p","at":0,"of":3,"data":"[1]"}"#
  case .requestID: "3"
  }
}

/// Values that a param of this kind must not have.
private func counterexamples(_ kind: ParameterKind) -> [String] {
  let texts = [#""x""#, #""\ud800""#]
  let others = ["null", "1", "1.5", "true", "[]", "{}", #"[1]"#, #"{"a":1}"#]
  switch kind {
  case .boolean: return texts + others.filter { $0 != "true" }
  case .integer(let bounds):
    return texts + others.filter { $0 != "1" }
      + ["\(bounds.lowerBound - 1)", "\(bounds.upperBound + 1)", "1.0", "1e1", "99999999999999999999", "-1"]
  case .duration: return texts + others.filter { $0 != "1" } + ["-1", "0.5", "1e3", "315360000001", "\"1s\""]
  case .string(let bounds):
    return others + [
      #""""#, #""\ud800""#, #""a\udc00""#, "\"" + String(repeating: "x", count: bounds.upperBound + 1) + "\"",
      "\"" + String(repeating: "\\u0041", count: bounds.upperBound + 1) + "\"",
    ]
  case .choice: return texts + others + [#""""#, "\"CONNECTED\""]
  case .strings(let counts, let lengths):
    return texts + others + [
      #"["a",1]"#, #"["a",null]"#, #"[""]"#, #"["\ud800"]"#, #"[["a"]]"#,
      "[\"" + String(repeating: "x", count: lengths.upperBound + 1) + "\"]",
      "[" + Array(repeating: "\"a\"", count: counts.upperBound + 1).joined(separator: ",") + "]",
    ]
  case .array: return texts + others.filter { !$0.hasPrefix("[") }
  case .object: return texts + others.filter { !$0.hasPrefix("{") }
  case .options:
    return texts + others.filter { $0 != "{}" } + [
      #"{"path":1}"#, #"{"headers":[]}"#, #"{"headers":{"A":1}}"#, #"{"path":"/a/","path":"/a/"}"#,
      #"{"tls":{"ca":"/ca.pem"}}"#, #"{"tls":{"verify":"no"}}"#,
    ]
  case .messages(let counts, _):
    return texts + others + [
      #"[{"args":[]}]"#, #"[{"event":1}]"#, #"[{"event":""}]"#, #"[{"event":"\ud800"}]"#, #"[{"event":"e","args":{}}]"#,
      #"[{"event":"e","kwargs":[]}]"#, #"[{"event":"e","ack":1}]"#, #"[{"event":"e","event":"f"}]"#,
      #"[{"event":"e","room":"a"}]"#, #"[{"event":"e"},1]"#,
      "[" + Array(repeating: #"{"event":"e"}"#, count: counts.upperBound + 1).joined(separator: ",") + "]",
    ]
  case .position:
    return texts + others.filter { $0 != #"{"a":1}"# } + [
      #"{"epoch":"e7"}"#, #"{"seq":1}"#, #"{"epoch":7,"seq":1}"#, #"{"epoch":"e7","seq":-1}"#,
      #"{"epoch":"e7","seq":1.0}"#, #"{"epoch":"e7","seq":"1"}"#, #"{"epoch":"","seq":1}"#,
      #"{"epoch":"e7","seq":1,"seq":2}"#, #"{"epoch":"e7","seq":9007199254740992}"#,
    ]
  case .part:
    return texts + others + [
      #"{"at":0,"of":3,"data":"[1]"}"#, #"{"id":1,"at":-1,"of":3,"data":"[1]"}"#,
      #"{"id":1,"at":0,"of":2,"data":"[1]"}"#,
      #"{"id":1,"at":1,"of":3,"data":"[1]"}"#, #"{"id":1,"at":0,"of":3,"data":""}"#,
      #"{"id":1,"at":0,"of":3,"data":[1]}"#,
      #"{"id":1,"at":0,"of":9,"data":"\ud800"}"#, #"{"id":1,"at":0,"of":3,"data":"[1]","data":"[2]"}"#,
      #"{"id":1,"at":0,"of":3,"data":"[1]","more":1}"#, #"{"id":[],"at":0,"of":3,"data":"[1]"}"#,
      #"{"id":1,"at":0,"of":999999,"data":""# + String(repeating: "x", count: MessagePart.limit + 1) + #""}"#,
    ]
  case .requestID: return [#""\ud800""#] + others.filter { $0 != "1" } + ["9007199254740992"]
  }
}

/// A call with params that go together, one of them perhaps replaced, added or removed.
private struct Params {
  var members: [(name: String, value: String)] = []

  init(of method: LocalMethod, with name: ParameterName? = nil) {
    let needsTarget = method.parameters.contains { $0.name == .upstream } && method.name != "status"
    if name == .url || name == .auth || name == .options {
      members.append(("url", "\"https://h\""))
    } else if name == .connection {
      // It stands for what names an upstream.
    } else if needsTarget || name == .namespace {
      members.append(("upstream", "\"chat\""))
    }
    // What undoes a message stands beside it.
    if name == .leave { members.append(("enter", #"[{"event":"join"}]"#)) }
    // Of these two exactly one.
    if name != .user, method.parameters.contains(where: { $0.name == .uid }) { members.append(("uid", "1")) }
    for parameter in method.parameters where parameter.isRequired || parameter.name == name {
      set(parameter.name.text, example(parameter))
    }
  }

  mutating func set(_ name: String, _ value: String) {
    members.removeAll { $0.name == name }
    members.append((name, value))
  }

  var text: String { "{" + members.map { "\"\($0.name)\":\($0.value)" }.joined(separator: ",") + "}" }
}

@Suite struct LocalRequestParametersTests {
  @Test(arguments: ["subscribe", "history"]) func namesOfEventsAreBoundedAllTogether(_ method: String) {
    func call(_ length: Int) -> String? {
      let names = (0..<128).map { "\"\($0)\(String(repeating: "x", count: length))\"" }
      return blamed(method, "{\"upstream\":\"a\",\"events\":[\(names.joined(separator: ","))]}")
    }
    #expect(call(1_000) == nil)
    #expect(call(1_020) == "events")
  }

  @Test(arguments: MethodTable.methods.map(\.name))
  func whatTheTableAllowsIsAccepted(_ name: String) throws {
    let method = try #require(MethodTable.methods.first { $0.name == name })
    #expect(failure(name, Params(of: method).text) == nil)
    for parameter in method.parameters {
      #expect(failure(name, Params(of: method, with: parameter.name).text) == nil, "\(parameter.name)")
    }
  }

  @Test(arguments: MethodTable.methods.map(\.name))
  func everyParamOfTheWrongKindIsNamed(_ name: String) throws {
    let method = try #require(MethodTable.methods.first { $0.name == name })
    for parameter in method.parameters {
      for value in counterexamples(parameter.kind) {
        var params = Params(of: method, with: parameter.name)
        params.set(parameter.name.text, value)
        #expect(blamed(name, params.text) == parameter.name.text, "\(params.text)")
      }
    }
  }

  @Test(arguments: MethodTable.methods.map(\.name))
  func everyMissingParamIsNamed(_ name: String) throws {
    let method = try #require(MethodTable.methods.first { $0.name == name })
    for parameter in method.parameters where parameter.isRequired {
      var params = Params(of: method)
      params.members.removeAll { $0.name == parameter.name.text }
      #expect(blamed(name, params.text) == parameter.name.text)
    }
  }

  @Test(arguments: MethodTable.methods.map(\.name))
  func everyParamThatIsGivenTwiceIsNamed(_ name: String) throws {
    let method = try #require(MethodTable.methods.first { $0.name == name })
    for parameter in method.parameters {
      var params = Params(of: method, with: parameter.name)
      params.members.append((parameter.name.text, example(parameter)))
      #expect(blamed(name, params.text) == parameter.name.text)
      params.members[params.members.count - 1].name =
        "\\u00" + String(parameter.name.text.utf8.first ?? 0, radix: 16) + parameter.name.text.dropFirst()
      #expect(blamed(name, params.text) == parameter.name.text)
    }
  }

  @Test(arguments: MethodTable.methods.map(\.name))
  func everyForeignParamIsNamed(_ name: String) throws {
    let method = try #require(MethodTable.methods.first { $0.name == name })
    let own = Set(method.parameters.map(\.name.text))
    let foreign = ParameterName.allCases.map(\.text).filter { !own.contains($0) }
    for foreign in foreign + ["", "nonsense", "EVENT", "a param whose name is rather long"] {
      var params = Params(of: method)
      params.set(foreign, "1")
      #expect(blamed(name, params.text) == foreign)
    }
  }

  @Test(arguments: [
    ("send", #"{"upstream":"c","evnt":"e"}"#, #""send" has no param "evnt"; did you mean "event"?"#),
    (
      "send", #"{"upstream":"c","event":"e","no-queue":true}"#,
      #""send" has no param "no-queue"; did you mean "no_queue"?"#
    ),
    ("ping", #"{"x":1}"#, #""ping" has no param "x"; it takes none."#),
    ("credit", #"{"zzzzz":1}"#, #""credit" has no param "zzzzz"; it takes subscription, n."#),
    ("send", #"{"upstream":"c"}"#, #""send" needs the param "event"."#),
    ("unsubscribe", "{}", #""unsubscribe" needs the param "subscription"."#),
    ("send", #"{"event":"e"}"#, #""send" needs "upstream" or "url"."#),
    (
      "send", #"{"upstream":"c","url":"https://h","event":"e"}"#, #""send" takes either "upstream" or "url", not both."#
    ),
    (
      "send", #"{"upstream":"c","event":"e","auth":{}}"#,
      #"The param "auth" goes with "url" only; "c" has its own credentials."#
    ),
    (
      "send", #"{"url":"https://h","event":"e","auth":{"t":"\#(String(repeating: "x", count: 16 << 10))"}}"#,
      #"The param "auth" may have 16384 bytes at most."#
    ),
    (
      "subscribe", #"{"upstream":"c","last":1,"since":{"epoch":"e","seq":1}}"#,
      #""subscribe" takes either "since" or "last", not both."#
    ),
    (
      "subscribe", #"{"upstream":"c","since":{"epoch":"e","sq":1}}"#,
      #"The param "since" of "subscribe" must be an object {"epoch":string,"seq":whole number}, without "sq"."#
    ),
    ("credit", #"{"subscription":"s","n":1,"n":2}"#, #"The param "n" of "credit" is given twice."#),
    (
      "send", #"{"upstream":"c","event":"e","delivery":"sometime"}"#,
      #"The param "delivery" of "send" must be "accepted" or "durable" or "sent" or "acked"."#
    ),
    (
      "send", #"{"upstream":"c","event":"e","ttl":1.5}"#,
      #"The param "ttl" of "send" must be a whole number of milliseconds from 0 to 315360000000."#
    ),
    ("send", #"{"upstream":"c","event":"e","args":{}}"#, #"The param "args" of "send" must be an array."#),
    (
      "subscribe", #"{"upstream":"c","queue":0}"#,
      #"The param "queue" of "subscribe" must be a whole number from 1 to 1000000000."#
    ),
    ("status", #"{"namespace":"/"}"#, #""status" needs "upstream" or "url"."#),
    ("wait", #"{"upstream":"c","state":"connected"}"#, #""wait" needs the param "timeout"."#),
  ])
  func theMessageSaysWhatToDo(_ method: String, _ params: String, _ message: String) {
    #expect(failure(method, params)?.kind == .invalidParams)
    #expect(failure(method, params)?.message == message)
  }

  @Test(arguments: [
    ("snd", #"There is no method "snd"; did you mean "send"?"#),
    ("publish!", #"There is no method "publish!"; "rpc.discover" lists all."#),
  ])
  func anUnknownMethodIsNamedWithTheNearest(_ method: String, _ message: String) {
    #expect(failure(method, "{}") == LocalError(.methodNotFound, message, [.init("method", .string(method))]))
  }

  @Test func stateThatNoSendHasIsRefusedWithTheOnesThereAre() throws {
    let error = try #require(failure("outbox.list", #"{"states":["queued","flying"]}"#))
    #expect(error.message.contains("\"queued\", ") && error.message.contains("\"lost\""))
  }

  @Test func endlessNamesAreShownShortened() throws {
    let name = String(repeating: "n", count: 100_000)
    let error = try #require(failure("ping", #"{"\#(name)":1}"#))
    #expect(error.message.utf8.count < 200)
    #expect(error.facts == [.init("param", .string(String(repeating: "n", count: 64) + "…"))])
  }

  /// Everything but what belongs to later versions.
  @Test func theTableIsComplete() {
    #expect(
      MethodTable.methods.map { "\($0.name) \($0.right?.rawValue ?? "-")" }.sorted() == [
        "access.explain admin", "clients.kick admin", "clients.list status", "credit subscribe", "disconnect admin",
        "doctor send",
        "drain admin", "fleet.forget admin", "fleet.leave admin", "fleet.list status", "fleet.move admin", "hello -",
        "history subscribe",
        "metrics admin", "outbox.cancel send", "outbox.list status",
        "outbox.purge send",
        "outbox.retry send",
        "ping -",
        "reconnect admin", "release admin", "reload admin", "request request", "respond send", "rpc.cancel -",
        "rpc.discover -", "send send", "stats status", "status status", "subscribe subscribe", "trace admin",
        "unsubscribe subscribe", "untrace admin", "upstreams.list -",
        "wait subscribe",
      ])
  }
}
