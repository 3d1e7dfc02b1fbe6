@testable import GatewayCore
import Testing

@testable import gatewayctl

@Suite struct PayloadArgumentsTests {
  private let files: [String: String] = [
    "good": "{\n  \"a\": [1,\r\n 2]\n}\n", "bad": "{\n  \"a\": tru\n}", "empty": "", "-": " [true] ", "data": "abc",
  ]

  private func array(_ words: String..., asText: Bool = false, binaries: [String] = []) throws(Failure) -> String {
    let bytes = try PayloadArguments.array(of: words, asText: asText, binaries: binaries) { name throws(Failure) in
      guard let text = files[name] else { throw Failure(.badInput, "no \(name)") }
      return Array(text.utf8)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test func aMessageIsAnEventWithItsArgumentsOrAnObject() throws {
    func message(_ word: String) throws(Failure) -> String {
      String(decoding: try PayloadArguments.message(word, of: .enter), as: UTF8.self)
    }
    #expect(try message(#"["join", {"room": 1.0}, 2]"#) == #"{"event":"join","args":[{"room": 1.0},2]}"#)
    #expect(try message(#" ["join"] "#) == #"{"event":"join","args":[]}"#)
    #expect(try message(#"{"event":"join","ack":true}"#) == #"{"event":"join","ack":true}"#)
    for wrong in ["join", "[]", "[1]", "1", "[\"join\""] {
      #expect(throws: Failure.self) { try message(wrong) }
    }
  }

  @Test func aMessageInAFileIsReadAndNeverShown() throws {
    func message(_ content: String) throws(Failure) -> String {
      let read = { (path: String) throws(Failure) -> [UInt8] in path == "login" ? Array(content.utf8) : [] }
      return String(decoding: try PayloadArguments.message("@login", of: .enter, read: read), as: UTF8.self)
    }
    #expect(try message("[\"login\",\n \"secret\"]\n") == #"{"event":"login","args":["secret"]}"#)
    let failure = #expect(throws: Failure.self) { try message("[4711]") }
    #expect(failure?.message == "login has no event at its beginning; write it as [\"EVENT\",ARG…]")
  }

  @Test func jsonStaysAsWrittenAndTheRestIsText() throws {
    #expect(try array("3", "1.50", "true", "null", "1e999") == "[3,1.50,true,null,1e999]")
    #expect(try array(#"{"b":1, "a":"\u00e9"}"#, #""3""#) == #"[{"b":1, "a":"\u00e9"},"3"]"#)
    #expect(try array("hello", "", "01", "NaN", "a\"b", "tru") == #"["hello","","01","NaN","a\"b","tru"]"#)
    #expect(try array() == "[]")
  }

  @Test func rawTakesEverythingAsText() throws {
    #expect(try array("3", "{", "@good", "-", asText: true) == #"["3","{","@good"," [true] "]"#)
  }

  @Test(arguments: [
    ("{\"a\":}", "argument 1 is no JSON: '}' stands at byte 6 where it may not; "),
    ("[1,2", "argument 1 is no JSON: it ends too early, at byte 5; "),
    ("\"abc", "argument 1 is no JSON: it ends too early, at byte 5; "),
    ("{'a':1}", "argument 1 is no JSON: ''' stands at byte 2 where it may not; "),
  ])
  func whatBeginsLikeJSONHasToBeJSON(_ word: String, _ expected: String) {
    do {
      _ = try array(word)
      Issue.record("accepted")
    } catch {
      #expect(error.code == .badInput)
      #expect(error.message == expected + "repair it, or use --raw to send it as text")
    }
  }

  @Test func filesAndStandardInputAreJSONOnOneLine() throws {
    #expect(try array("@good", "-") == #"[{   "a": [1,   2] },[true]]"#)
  }

  @Test func aBrokenFileIsRefusedWithItsLine() {
    #expect(
      throws: Failure(
        .badInput,
        "bad is no JSON: 't' stands at line 2, byte 8 where it may not; repair it, or use --raw to send '@bad' as text")
    ) { try array("@bad") }
    #expect(throws: Failure.self) { try array("@empty") }
    #expect(throws: Failure(.badInput, "no missing, or use --raw to send '@missing' as text")) {
      try array("@missing")
    }
  }

  @Test func standardInputCanBeReadOnce() {
    #expect(throws: Failure(.usage, "standard input can be read only once; use - for one argument")) {
      try array("-", "-")
    }
  }

  @Test func binariesFollowTheArguments() throws {
    #expect(try array("1", binaries: ["data", "empty"]) == #"[1,{"$bin":"YWJj"},{"$bin":""}]"#)
  }

  @Test func nestingLeavesRoomForTheRequestAroundIt() throws {
    let deepest = String(repeating: "[", count: 61) + String(repeating: "]", count: 61)
    #expect(try array(deepest) == "[\(deepest)]")
    #expect(throws: Failure.self) { try array("[\(deepest)]") }
  }
}
