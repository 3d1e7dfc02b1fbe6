import Testing

@testable import GatewayCore

/// The whole text judged, as a value that can be compared.
private func judge(_ bytes: [UInt8], depth: Int = 64) -> Result<Range<Int>, JSONError> {
  do { return .success(try JSONScanner.validate(bytes.span.bytes, depth: depth)) } catch { return .failure(error) }
}

private func judge(_ text: String, depth: Int = 64) -> Result<Range<Int>, JSONError> {
  judge(Array(text.utf8), depth: depth)
}

@Suite struct JSONScannerTests {
  @Test(arguments: [
    "null", "true", "false", "0", "-0", "-1", "1", "10", "1234567890", "0.0", "-0.0", "0.5", "1.25", "100.001",
    "1e1", "1E1", "1e+1", "1e-1", "0e0", "0E+00", "1.5e300", "-1.5E-300", "1e99999",
    "123456789012345678901234567890.123456789", "\"\"", "\"a\"", "\" \"", "\"/\"", "\"'\"", "\"\u{7f}\"",
    "\"\u{2028}\u{2029}\"", "\"\u{feff}\"", #""\"""#, #""\\""#, #""\/""#, #""\b\f\n\r\t""#, #""\u0000""#,
    #""\u00e9\u00E9""#, #""\uD83D\uDE00""#, #""\ud83d""#, #""\ude00\ud83d""#, #""\\u0041""#, #""\\""#, "[]", "[ ]",
    "[\t\n\r ]", "[1]", "[1,2]", "[ 1 , 2 ]", "[[]]", "[[],[]]", "[{},[],\"\",null]", "{}", "{ }", #"{"":0}"#,
    #"{"a":1}"#, #"{"a":1,"b":2}"#, #"{ "a" : 1 , "b" : { } }"#, #"{"a":{"b":{"c":[]}}}"#, #"[{"a":[{}]},2]"#,
    "{\n\t\"a\"\r:\n[\t1\t]\r}",
  ])
  func acceptsWhatTheGrammarAllows(_ text: String) {
    #expect(judge(text) == .success(0..<text.utf8.count))
    #expect(judge(" \t\r\n" + text + "\n\r\t ") == .success(4..<4 + text.utf8.count))
  }

  /// Each with the offset at which it stops being JSON.
  @Test(arguments: [
    ("", 0), (" ", 1), ("\u{feff}null", 0), ("nul", 0), ("nulll", 4), ("Null", 0), ("NULL", 0), ("true false", 5),
    ("truefalse", 4), ("tru", 0), ("fals", 0), ("undefined", 0), ("NaN", 0), ("Infinity", 0), ("-Infinity", 1),
    ("'a'", 0), ("a", 0), (",", 0), (":", 0), ("]", 0), ("}", 0), ("//", 0), ("/* */ 1", 0), ("1 // x", 2),
    ("#", 0), ("\0", 0), ("1\0", 1), ("\u{b}1", 0), ("\u{c}1", 0), ("\u{a0}1", 0), ("\u{2003}1", 0),
  ])
  func refusesWhatIsNoValue(_ text: String, _ at: Int) {
    #expect(judge(text) == .failure(.syntax(at: at)))
  }

  @Test(arguments: [
    ("-", 1), ("+1", 0), ("01", 1), ("-01", 2), ("00", 1), ("1.", 2), (".5", 0), ("-.5", 1), ("1.e1", 2), ("1e", 2),
    ("1e+", 3), ("1e-", 3), ("1E", 2), ("1e1.5", 3), ("1.5.5", 3), ("1ee1", 2), ("--1", 1), ("1-1", 1), ("0x1F", 1),
    ("1_000", 1), ("1,000", 1), ("- 1", 1), ("1a", 1), ("0b1", 1), ("1e１", 2), ("１", 0), ("-a", 1), ("1.-5", 2),
  ])
  func refusesMalformedNumbers(_ text: String, _ at: Int) {
    #expect(judge(text) == .failure(.syntax(at: at)))
  }

  @Test(arguments: [
    ("[", 1), ("[1", 2), ("[1,", 3), ("[1,]", 3), ("[,1]", 1), ("[,]", 1), ("[1,,2]", 3), ("[1 2]", 3), ("[1:2]", 2),
    ("[1}", 2), ("[1]]", 3), ("[][]", 2), ("[1,2", 4), ("[\"a\"", 4), ("[1;2]", 2), ("[...]", 1), ("[[1]", 4),
    ("{", 1), ("{]", 1), ("{1:2}", 1), ("{a:1}", 1), ("{'a':1}", 1), ("{\"a\"", 4), ("{\"a\":", 5), ("{\"a\":1", 6),
    ("{\"a\"}", 4), ("{\"a\":}", 5), ("{\"a\":1,}", 7), ("{,}", 1), ("{,\"a\":1}", 1), ("{\"a\":1 \"b\":2}", 7),
    ("{\"a\" 1}", 5), ("{\"a\",1}", 4), ("{\"a\"::1}", 5), ("{\"a\":1:2}", 6), ("{\"a\":1,,\"b\":2}", 7),
    ("{\"a\":1]", 6), ("{\"a\":1}}", 7), ("{\"a\":1}{", 7), ("{\"a\":1},", 7), ("{null:1}", 1), ("{[]:1}", 1),
    ("{\"a\":b}", 5), ("[{\"a\":1]", 7), ("{\"a\":[}", 6), ("{\"a\":1 /*x*/}", 7),
  ])
  func refusesMalformedContainers(_ text: String, _ at: Int) {
    #expect(judge(text) == .failure(.syntax(at: at)))
  }

  /// What opens and closes one level, at each depth up to the limit.
  @Test(arguments: [("[", "]"), ("{\"a\":", "}"), ("[1,", "]"), ("{\"a\":1,\"b\":", "}")], [1, 2, 63, 64])
  func allowsExactlyTheAskedDepth(_ level: (open: String, close: String), _ depth: Int) {
    func nested(_ levels: Int) -> String {
      String(repeating: level.open, count: levels) + "1" + String(repeating: level.close, count: levels)
    }
    #expect(judge(nested(depth), depth: depth) == .success(0..<nested(depth).utf8.count))
    #expect(judge(nested(depth + 1), depth: depth) == .failure(.depth(at: depth * level.open.utf8.count)))
  }

  @Test(arguments: [("[", "]"), ("{", "}")])
  func anEmptyContainerIsALevelToo(_ innermost: (open: String, close: String)) {
    func nested(_ levels: Int) -> String {
      String(repeating: "[", count: levels) + innermost.open + innermost.close + String(repeating: "]", count: levels)
    }
    #expect(judge(nested(63)) == .success(0..<128))
    #expect(judge(nested(64)) == .failure(.depth(at: 64)))
  }

  @Test func neverAllowsMoreThanSixtyFourLevels() {
    let text = String(repeating: "[", count: 65) + String(repeating: "]", count: 65)
    #expect(judge(text, depth: 64) == .failure(.depth(at: 64)))
    #expect(judge(text, depth: 1_000) == .failure(.depth(at: 64)))
    #expect(judge(text, depth: .max) == .failure(.depth(at: 64)))
    #expect(judge("[]", depth: -1) == .failure(.depth(at: 0)))
    #expect(judge("1", depth: 0) == .success(0..<1))
  }

  @Test func siblingsDoNotAddToTheDepth() {
    let text = "[" + Array(repeating: "[{\"a\":[]},[]]", count: 100).joined(separator: ",") + "]"
    #expect(judge(text, depth: 4) == .success(0..<text.utf8.count))
    #expect(judge(text, depth: 3).isDepthFailure)
  }

  @Test func everyBeginningOfAnObjectIsASyntaxErrorAtItsEnd() {
    let text = Array(#"{"key":[true,false,null,-1.5e+7,"é\u00e9\n😀",{"":{}}],"k2":"0123456789abcdef"}"#.utf8)
    #expect(judge(text) == .success(0..<text.count))
    for count in 0..<text.count {
      guard case .failure(let error) = judge(Array(text[..<count])) else {
        Issue.record("accepted after \(count) bytes")
        continue
      }
      #expect(error.offset <= count)
    }
  }

  @Test func everySingleByteInsideAStringIsJudgedAlone() {
    for byte in UInt8.min...UInt8.max {
      for position in [1, 7, 8, 9, 15, 16] {
        var text = [UInt8(ascii: "\"")] + [UInt8](repeating: 0x61, count: 20) + [UInt8(ascii: "\"")]
        text[position] = byte
        let expected: Result<Range<Int>, JSONError> =
          switch byte {
          case ..<0x20: .failure(.syntax(at: position))
          case UInt8(ascii: "\""): .failure(.syntax(at: position + 1))
          case UInt8(ascii: "\\"): .failure(.syntax(at: position))
          case 0x80...: .failure(.utf8(at: position))
          default: .success(0..<22)
          }
        #expect(judge(text) == expected, "byte \(byte) at \(position)")
      }
    }
  }

  @Test func scanValueStopsBehindTheFirstValue() throws {
    let text = Array("xx[1] ,\"a\"tail".utf8)
    func scan(from start: Int) throws(JSONError) -> [Range<Int>] {
      var at = start
      let range = try JSONScanner.scanValue(text.span.bytes, &at)
      return [range, start..<at]
    }
    #expect(try scan(from: 2) == [2..<5, 2..<5])
    #expect(try scan(from: 7) == [7..<10, 7..<10])
    #expect(throws: JSONError.syntax(at: 0)) { try scan(from: 0) }
    #expect(throws: JSONError.syntax(at: text.count)) { try scan(from: text.count) }
  }

  @Test(arguments: [("[", "]"), ("{\"a\":", "}"), ("[{},", " , \"]\" ]")])
  func whatIsNestedTooDeeplyIsReadToItsEnd(_ open: String, _ close: String) {
    func isJSON(_ text: String) -> Bool {
      let bytes = Array(text.utf8)
      return JSONScanner.isJSON(atAnyDepth: bytes.span.bytes)
    }
    for levels in [1, 2, 62, 63, 64, 65, 66, 127, 128, 129, 193, 1_000] {
      let opened = String(repeating: open, count: levels)
      let closed = String(repeating: close, count: levels)
      for value in ["1", "[]", "{}", "\"]\"", "[{\"\":[]},2]"] {
        #expect(isJSON(opened + value + closed))
        #expect(isJSON(" [" + opened + value + closed + ", {\"\":[]} , 3 ] "))
      }
      for broken in ["", "NaN", "1,", "]", "}", "\"", "\"\u{1}\"", ":"] where broken != "" || open != "[" {
        #expect(!isJSON(opened + broken + closed), "\(broken) in \(levels) levels")
      }
      #expect(!isJSON(opened + "1" + closed + close))
      #expect(!isJSON(opened + "1" + closed.dropLast()))
      #expect(!isJSON(opened + "1" + closed + "1"))
      #expect(!isJSON(opened))
    }
  }
}

extension Result<Range<Int>, JSONError> {
  fileprivate var isDepthFailure: Bool { if case .failure(.depth) = self { true } else { false } }
}
