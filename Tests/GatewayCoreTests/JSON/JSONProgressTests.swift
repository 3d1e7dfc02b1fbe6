import Testing

@testable import GatewayCore

@Suite struct JSONProgressTests {
  private static func expected(_ text: [UInt8], depth: Int) -> JSONProgress.Outcome {
    var at = 0
    do { return .ended(at: try JSONScanner.scanValue(text.span.bytes, &at, depth: depth).upperBound) } catch {
      return .broken(error)
    }
  }

  private static func outcome(_ text: [UInt8], cuts: [Int], depth: Int) -> JSONProgress.Outcome? {
    var progress = JSONProgress(from: 0, depth: depth)
    for cut in cuts {
      let come = Array(text[..<cut])
      progress.advance(come.span.bytes)
    }
    progress.advance(text.span.bytes, isWhole: true)
    return progress.outcome
  }

  @Test(arguments: [
    #"{"a":[1,-2.5e+10,{"b":"c\n\u00e9\\\""}],"d":{},"e":[],"f":null,"g":true , "h" : false}"#, "[]", "[ ]", "{ }",
    #""grüße 日本語 🐧 und mehr""#, "[0,-0,0.0,10,1e5,1E-5,-0.25]", "12345678901234567890", "[[[[[1]]]]]",
    #"{"a":1}x"#, "[1,]", "[,1]", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, "{1:2}", "[1 2]", "[1}", "[01]", "[-]", "[1.]",
    "[1e]", "[1e+]", "[.5]", "[-01]", "[tru]", "[nulll]", #"["\x"]"#, #"["\u12g4"]"#, "[\"a\nb\"]", "[\"a\u{1}\"]", "[",
    "{", #"["abc"#, #"{"abc"#, #"{"abc":"#, #"{"abc":1"#, "[1,", "12e", "-", "t", "\"", "", "[[[[[[[[[1]]]]]]]]]",
    #"{"a":{"b":{"c":{"d":{"e":1}}}}}"#, "[1]  ", "[-12,00]", "[1.5.5]", "[1e5e5]", "[--1]",
  ])
  func aValueInPiecesIsJudgedAsAWholeOne(_ text: String) {
    let bytes = Array(text.utf8)
    for depth in [64, 5] {
      let expected = Self.expected(bytes, depth: depth)
      #expect(Self.outcome(bytes, cuts: [], depth: depth) == expected)
      #expect(Self.outcome(bytes, cuts: Array(0...bytes.count), depth: depth) == expected)
      for cut in 0...bytes.count {
        #expect(Self.outcome(bytes, cuts: [cut], depth: depth) == expected, "cut at \(cut)")
      }
    }
  }

  @Test(
    arguments: [
      [0x22, 0xc3, 0x28, 0x22], [0x22, 0xe2, 0x82, 0x22], [0x22, 0xff, 0x22], [0x22, 0xf0, 0x9f, 0x90, 0xa7, 0x22],
      [0x22, 0xed, 0xa0, 0x80, 0x22], [0x22, 0xc0, 0x80, 0x22], [0x22, 0xe2, 0x82, 0xac, 0xe2, 0x82],
    ] as [[UInt8]])
  func charactersThatAreCutAreNotTakenForMalformedOnes(_ bytes: [UInt8]) {
    let expected = Self.expected(bytes, depth: 64)
    for cut in 0...bytes.count { #expect(Self.outcome(bytes, cuts: [cut], depth: 64) == expected, "cut at \(cut)") }
    #expect(Self.outcome(bytes, cuts: Array(0...bytes.count), depth: 64) == expected)
  }

  @Test(arguments: [
    "[]", "{}", "[ ]", #"[1, [2,[3]] ,"four" , {"five":[6]},null,-7.5]"#, #"{"a":1,"b" : {"c":[{}]} ,"d":"e\"" }"#,
    #" [true,{"a":[1,2]},"x"] "#,
  ])
  func theElementsOfAValueInPiecesStandWhereTheyStandInAWholeOne(_ text: String) throws {
    let bytes = Array(text.utf8)
    let span = bytes.span.bytes
    var expected: [JSONProgress.Element] = []
    var at = 0
    JSONScanner.skipWhitespace(span, &at)
    if bytes[at] == UInt8(ascii: "[") {
      try JSONScanner.scanArray(span, &at) { expected.append(.init(key: nil, value: $0)) }
    } else {
      try JSONScanner.scanObject(span, &at) { expected.append(.init(key: $0, value: $1)) }
    }
    for size in 1...bytes.count {
      var long = LongText(from: 0, elements: 4)
      for end in stride(from: size, to: bytes.count, by: size) { long.advance(span.extracting(0..<end)) }
      long.advance(span, isWhole: true)
      let known = try long.outline(span)
      #expect(known.elements == Array(expected.prefix(4)), "pieces of \(size)")
      #expect(known.count == expected.count && known.range.upperBound == at)
    }
  }

  /// Also where the levels have more than one word of bits.
  @Test(arguments: [3, 4, 63, 64, 65, 66, 127, 128, 129, 200])
  func theElementsOfATextThatIsTooDeepAreFoundWhereThatIsAskedFor(_ levels: Int) throws {
    let open = (1..<levels).map { $0.isMultiple(of: 3) ? "{\"a\":" : "[" }
    let close = (1..<levels).reversed().map { $0.isMultiple(of: 3) ? "}" : "]" }
    let deep = open.joined() + "1" + close.joined()
    let text = "{\"x\":\(deep),\"y\":\(deep),\"id\":7}"
    let bytes = Array(text.utf8)
    for size in [1, 7, bytes.count] {
      var long = LongText(from: 0, depth: 3, elements: 4, takesDeeper: true)
      for end in stride(from: size, to: bytes.count, by: size) { long.advance(bytes.span.bytes.extracting(0..<end)) }
      long.advance(bytes.span.bytes, isWhole: true)
      let known = try long.outline(bytes.span.bytes)
      #expect(known.isTooDeep == (levels > 3))
      #expect(known.elements.map(\.value.lowerBound) == [5, 5 + deep.utf8.count + 5, bytes.count - 2])
      #expect(known.range == 0..<bytes.count)
    }
    var wrong = bytes
    let firstClose = 5 + open.joined().utf8.count + 1
    wrong[firstClose] ^= UInt8(ascii: "]") ^ UInt8(ascii: "}")
    var long = LongText(from: 0, depth: 3, elements: 4, takesDeeper: true)
    long.advance(wrong.span.bytes, isWhole: true)
    #expect(throws: JSONError.syntax(at: firstClose)) { try long.outline(wrong.span.bytes) }
  }

  @Test(arguments: ["[1] x", "[1]]", "[1", "{\"a\" 1}"])
  func aLongTextThatIsNotOneValueIsBroken(_ text: String) {
    let bytes = Array(text.utf8)
    var long = LongText(from: 0, elements: 4)
    long.advance(bytes.span.bytes, isWhole: true)
    #expect(throws: JSONError.self) { try long.outline(bytes.span.bytes) }
  }

  @Test func aMistakeIsKnownBeforeTheEnd() {
    var progress = JSONProgress(from: 1)
    let text = Array(#" {"a":1,,"b":"long enough to be sure"#.utf8)
    progress.advance(text.span.bytes)
    #expect(progress.outcome == .broken(.syntax(at: 8)))
  }
}
