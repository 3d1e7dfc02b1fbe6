import Testing

@testable import GatewayCore

/// What a client is told about a line that was not understood.
private struct Refusal: Equatable {
  var kind: LocalError.Kind
  var id: String?
  var answered: Bool
}

private func echo(_ id: RequestID) -> String {
  var writer = JSONWriter()
  id.write(into: &writer)
  return String(decoding: writer.bytes, as: UTF8.self)
}

private func refusal(_ line: [UInt8]) -> Refusal? {
  do {
    _ = try LocalRequest.parse(line.span.bytes)
    return nil
  } catch {
    return Refusal(
      kind: error.error.kind, id: error.id.map(echo), answered: error.answered)
  }
}

private func refusal(_ line: String) -> Refusal? { refusal(Array(line.utf8)) }

@Suite struct LocalRequestEnvelopeTests {
  @Test(arguments: [
    "", " ", "{", "}", "hello", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"",
    #"{"jsonrpc":"2.0","id":1,"method":"ping"}}"#,
    #"{"jsonrpc":"2.0",}"#, #"{"jsonrpc":"2.0",,"id":1,"method":"ping"}"#, #"{"jsonrpc":"2.0","#,
    #"{"jsonrpc":"2.0","id":1,"method":"ping"} x"#, #"{"jsonrpc":"2.0","id":01,"method":"ping"}"#,
    #"{"jsonrpc":"2.0","id":1,"method":"ping","params":{]}"#,
    #"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a"}}"#,
    #"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":tru}}"#, "{'id':1}", "nul", "\"", "{\"a\":\"\u{1}\"}",
    #"{"jsonrpc":"2.0","id":1,"method":"ping","x":\#(String(repeating: "[", count: 64) + String(repeating: "]", count: 64))}"#,
  ])
  func textThatIsNoJSONIsAParseError(_ line: String) {
    #expect(refusal(line) == Refusal(kind: .parseError, id: nil, answered: true))
  }

  @Test func malformedUTF8IsAParseError() {
    let line = Array(#"{"jsonrpc":"2.0","id":1,"method":"ping","x":""#.utf8) + [0xc0, 0x80] + Array("\"}".utf8)
    #expect(refusal(line) == Refusal(kind: .parseError, id: nil, answered: true))
    #expect(refusal([0xff]) == Refusal(kind: .parseError, id: nil, answered: true))
  }

  @Test(arguments: [
    // A batch, whatever is in it.
    "[]", "[", " [{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", "[1,2",
    // No object.
    "1", "\"ping\"", "null", "true",
    // No version, or another.
    "{}", #"{"id":1,"method":"ping"}"#, #"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
    #"{"jsonrpc":2.0,"id":1,"method":"ping"}"#, #"{"jsonrpc":12.03,"id":1,"method":"ping"}"#,
    #"{"jsonrpc":null,"id":1,"method":"ping"}"#, #"{"jsonrpc":"2","id":1,"method":"ping"}"#,
    #"{"jsonrpc":["2.0"],"id":1,"method":"ping"}"#,
    // No id that could be echoed.
    #"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, #"{"jsonrpc":"2.0","id":1.0,"method":"ping"}"#,
    #"{"jsonrpc":"2.0","id":1e2,"method":"ping"}"#, #"{"jsonrpc":"2.0","id":0.5,"method":"ping"}"#,
    #"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, #"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
    #"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#, #"{"jsonrpc":"2.0","id":9007199254740992,"method":"ping"}"#,
    #"{"jsonrpc":"2.0","id":-9007199254740992,"method":"ping"}"#, #"{"jsonrpc":"2.0","id":"\ud800","method":"ping"}"#,
    #"{"jsonrpc":"2.0","id":99999999999999999999999,"method":"ping"}"#,
    #"{"jsonrpc":"2.0","id":-9223372036854775808,"method":"ping"}"#,
    #"{"jsonrpc":"2.0","id":"\#(String(repeating: "x", count: 129))","method":"ping"}"#,
    #"{"jsonrpc":"2.0","id":"\#(String(repeating: "é", count: 65))","method":"ping"}"#,
    // No method, or no name of one.
    #"{"jsonrpc":"2.0","id":1}"#, #"{"jsonrpc":"2.0","id":1,"method":1}"#, #"{"jsonrpc":"2.0","id":1,"method":null}"#,
    #"{"jsonrpc":"2.0","id":1,"method":["ping"]}"#, #"{"jsonrpc":"2.0","method":1,"params":"bar"}"#,
    #"{"jsonrpc":"2.0","id":1,"result":{}}"#,
    // A key twice.
    #"{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"ping"}"#, #"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
    #"{"jsonrpc":"2.0","id":1,"method":"ping","\u0069d":1}"#,
    #"{"jsonrpc":"2.0","id":1,"method":"ping","method":"ping"}"#,
    #"{"jsonrpc":"2.0","id":1,"method":"ping","params":{},"params":{}}"#,
    #"{"jsonrpc":"2.0","id":1,"method":"ping","params":[],"params":{}}"#,
    #"{"jsonrpc":"2.0","id":1,"method":"ping","x":1,"y":2,"x":3}"#,
  ])
  func whatIsNoRequestObjectIsAnInvalidRequest(_ line: String) {
    #expect(refusal(line) == Refusal(kind: .invalidRequest, id: nil, answered: true))
  }

  @Test(arguments: [
    "", "snd", "Ping", "ping ", "PING", "outbox", "outbox.lists", "draining", "metric", "rpc.",
    "subscribe\\u0000", "a name that is much longer than the name of any method",
  ])
  func unknownMethodsAreAnsweredToTheirId(_ method: String) {
    #expect(
      refusal(#"{"jsonrpc":"2.0","id":"x","method":"\#(method)","params":{"anything":1}}"#)
        == Refusal(kind: .methodNotFound, id: "\"x\"", answered: true))
    #expect(
      refusal(#"{"jsonrpc":"2.0","method":"\#(method)"}"#) == Refusal(kind: .methodNotFound, id: nil, answered: false))
  }

  @Test(arguments: ["[]", "[1]", "null", "1", "true", "\"x\""])
  func paramsMustBeAnObject(_ params: String) {
    #expect(
      refusal(#"{"jsonrpc":"2.0","id":1,"method":"ping","params":\#(params)}"#)
        == Refusal(kind: .invalidParams, id: "1", answered: true))
    #expect(
      refusal(#"{"jsonrpc":"2.0","method":"ping","params":\#(params)}"#)
        == Refusal(kind: .invalidParams, id: nil, answered: false))
  }

  @Test func errorsOfAnObjectThatComesBeforeItsMethodAreFoundToo() {
    #expect(
      refusal(#"{"params":{"nonsense":1},"method":"ping","id":5,"jsonrpc":"2.0"}"#)
        == Refusal(kind: .invalidParams, id: "5", answered: true))
  }

  @Test func aSyntaxErrorBehindAnInvalidRequestIsAParseError() {
    #expect(
      refusal(#"{"id":1,"id":2,"#) == Refusal(kind: .parseError, id: nil, answered: true))
  }

  @Test func foreignMembersAreIgnoredButNotTwice() {
    let members = (0..<64).map { "\"k\($0)\":0" }.joined(separator: ",")
    #expect(refusal("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\(members)}") == nil)
    #expect(
      refusal("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\(members.dropLast(8)),\"k0\":0}")
        == Refusal(kind: .invalidRequest, id: nil, answered: true))
  }

  @Test func everyBeginningOfALineIsRefused() {
    let line = Array(
      #"{"jsonrpc":"2.0","id":"é\n","method":"send","params":{"upstream":"chat","event":"e","args":[1,{"a":[]}]}}"#.utf8
    )
    #expect(refusal(line) == nil)
    for count in 0..<line.count {
      #expect(refusal(Array(line[..<count])) == Refusal(kind: .parseError, id: nil, answered: true))
    }
  }
}

@Test func aLineOfUnknownMembersIsNotRemembered() {
  func line(_ members: Int) -> [UInt8] {
    Array((#"{"jsonrpc":"2.0","id":1,"method":"ping""# + (0..<members).map { #","k\#($0)":0"# }.joined() + "}").utf8)
  }
  func refusal(_ line: [UInt8]) -> LocalError? {
    do {
      _ = try LocalRequest.parse(line.span.bytes)
      return nil
    } catch { return error.error }
  }
  #expect(refusal(line(64)) == nil)
  let error = refusal(line(65))
  #expect(error?.kind == .invalidRequest)
  #expect(error?.message == "The request object has more than 64 members that mean nothing here.")
  #expect(refusal(line(100_000)) == error)
}
