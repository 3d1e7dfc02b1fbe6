import Testing

@testable import GatewayCore

/// The text of every range.
private func texts(_ bytes: [UInt8], _ ranges: [Range<Int>]) -> [String] {
  ranges.map { String(decoding: bytes[$0], as: UTF8.self) }
}

private func members(_ text: String, depth: Int = 64, refuseDuplicates: Bool = false) throws(JSONError) -> [String] {
  let bytes = Array(text.utf8)
  var ranges: [Range<Int>] = []
  var at = 0
  try JSONScanner.scanObject(bytes.span.bytes, &at, depth: depth, refuseDuplicates: refuseDuplicates) {
    ranges += [$0, $1]
  }
  return texts(bytes, ranges) + [String(decoding: bytes[at...], as: UTF8.self)]
}

private func elements(_ text: String, depth: Int = 64) throws(JSONError) -> [String] {
  let bytes = Array(text.utf8)
  var ranges: [Range<Int>] = []
  var at = 0
  try JSONScanner.scanArray(bytes.span.bytes, &at, depth: depth) { ranges.append($0) }
  return texts(bytes, ranges) + [String(decoding: bytes[at...], as: UTF8.self)]
}

private func integer(_ text: String) -> Int64? {
  JSONScanner.integer(Array(text.utf8).span.bytes, 0..<text.utf8.count)
}

@Suite struct JSONScannerMembersTests {
  @Test func handsOutEveryMemberVerbatim() throws {
    #expect(
      try members(#"{ "a" : 1.50 ,"b":[ 1 , 2 ],"\u0061":{"x":"y"} , "":null}rest"#)
        == [#""a""#, "1.50", #""b""#, "[ 1 , 2 ]", #""\u0061""#, #"{"x":"y"}"#, #""""#, "null", "rest"])
    #expect(try members("{}") == [""])
    #expect(try members("{ \n }x") == ["x"])
  }

  @Test func handsOutEveryElementVerbatim() throws {
    #expect(try elements(#"[ 1e0 ,[ ],"\n", {"a":1} ]rest"#) == ["1e0", "[ ]", #""\n""#, #"{"a":1}"#, "rest"])
    #expect(try elements("[]") == [""])
    #expect(try elements("[ \t ]x") == ["x"])
  }

  @Test(arguments: [
    ("[]", JSONError.syntax(at: 0)), ("", .syntax(at: 0)), ("{", .syntax(at: 1)), (#"{"a":1"#, .syntax(at: 6)),
    (#"{"a":1,}"#, .syntax(at: 7)), (#"{"a":[[]]}"#, .depth(at: 6)), ("{\"a\u{1}\":1}", .syntax(at: 3)),
  ])
  func objectsAreScannedStrictly(_ text: String, _ error: JSONError) {
    #expect(throws: error) { try members(text, depth: 2) }
  }

  @Test(arguments: [
    ("{}", JSONError.syntax(at: 0)), ("", .syntax(at: 0)), ("[", .syntax(at: 1)), ("[1", .syntax(at: 2)),
    ("[1,]", .syntax(at: 3)), ("[[[]]]", .depth(at: 2)),
  ])
  func arraysAreScannedStrictly(_ text: String, _ error: JSONError) {
    #expect(throws: error) { try elements(text, depth: 2) }
  }

  @Test func theContainerItselfCountsAsALevel() throws {
    #expect(throws: JSONError.depth(at: 0)) { try members("{}", depth: 0) }
    #expect(throws: JSONError.depth(at: 0)) { try elements("[]", depth: 0) }
    #expect(try elements("[1]", depth: 1) == ["1", ""])
    #expect(throws: JSONError.depth(at: 1)) { try elements("[[]]", depth: 1) }
  }

  /// Each with the offset of the second use.
  @Test(arguments: [
    (#"{"a":1,"a":2}"#, 7), (#"{"a":1,"b":2,"a":3}"#, 13), (#"{"a":1,"\u0061":2}"#, 7),
    (#"{"\u00e9":1,"é":2}"#, 12), (#"{"\ud83d\ude00":1,"😀":2}"#, 18), (#"{"":1,"":2}"#, 6), (#"{"\/":1,"/":2}"#, 8),
    (#"{"\n":1,"\u000A":2}"#, 8),
  ])
  func aKeyThatMeansTheSameIsADuplicate(_ text: String, _ at: Int) throws {
    #expect(throws: JSONError.duplicateKey(at: at)) { try members(text, refuseDuplicates: true) }
    #expect(try !members(text).isEmpty)
  }

  @Test(arguments: [
    #"{"a":1,"A":2}"#, #"{"a":{"x":1,"x":2}}"#, #"{"a":1,"a ":2}"#, "{\"é\":1,\"e\u{301}\":2}", #"{"a":1,"\\u0061":2}"#,
    #"{"a":[{"a":1}]}"#,
  ])
  func keysThatDifferAreNoDuplicates(_ text: String) throws {
    #expect(try !members(text, refuseDuplicates: true).isEmpty)
  }

  @Test func manyKeysAreComparedQuickly() throws {
    let text = "{" + (0..<100_000).map { "\"k\($0)\":0" }.joined(separator: ",") + ",\"k0\":0}"
    #expect(throws: JSONError.self) { try members(text, refuseDuplicates: true) }
  }

  @Test func theBodyMayStopTheScan() {
    let bytes = Array("[1,2,3]".utf8)
    var at = 0
    var seen = 0
    #expect(throws: JSONError.syntax(at: 77)) {
      try JSONScanner.scanArray(bytes.span.bytes, &at) { _ throws(JSONError) in
        seen += 1
        if seen == 2 { throw .syntax(at: 77) }
      }
    }
    #expect(seen == 2)
  }

  @Test(arguments: [
    ("0", 0), ("-0", 0), ("7", 7), ("-7", -7), ("9007199254740991", 9_007_199_254_740_991),
    ("9223372036854775807", Int64.max), ("-9223372036854775808", Int64.min),
  ])
  func readsPlainIntegers(_ text: String, _ value: Int64) {
    #expect(integer(text) == value)
  }

  @Test(arguments: [
    "1.0", "1e2", "0.5", "9223372036854775808", "-9223372036854775809", "99999999999999999999999999", "\"1\"", "true",
    "null", "[]", "{}", "-", "",
  ])
  func everythingElseIsNoPlainInteger(_ text: String) {
    #expect(integer(text) == nil)
  }
}
