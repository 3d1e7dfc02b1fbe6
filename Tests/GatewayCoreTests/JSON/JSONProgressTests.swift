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

  @Test func aMistakeIsKnownBeforeTheEnd() {
    var progress = JSONProgress(from: 1)
    let text = Array(#" {"a":1,,"b":"long enough to be sure"#.utf8)
    progress.advance(text.span.bytes)
    #expect(progress.outcome == .broken(.syntax(at: 8)))
  }
}
