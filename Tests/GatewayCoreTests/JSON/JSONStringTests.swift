import Testing

@testable import GatewayCore

/// A string with these bytes between its quotes, judged.
private func judge(_ inside: [UInt8]) -> JSONError? {
  let text = [UInt8(ascii: "\"")] + inside + [UInt8(ascii: "\"")]
  do {
    _ = try JSONScanner.validate(text.span.bytes)
    return nil
  } catch { return error }
}

private func decode(_ text: String) -> String {
  JSONScanner.decodeString(Array(text.utf8).span.bytes, 0..<text.utf8.count)
}

private func isWellFormed(_ text: String) -> Bool {
  JSONScanner.decodeBytes(Array(text.utf8).span.bytes, 0..<text.utf8.count).wellFormed
}

private func means(_ text: String, _ expected: StaticString, _ range: Range<Int>? = nil) -> Bool {
  JSONScanner.stringEquals(Array(text.utf8).span.bytes, range ?? 0..<text.utf8.count, expected)
}

@Suite struct JSONStringTests {
  /// First and last of every row of the table of well-formed sequences, and noncharacters, which are characters here.
  @Test(
    arguments: [
      [0x7f], [0xc2, 0x80], [0xdf, 0xbf], [0xe0, 0xa0, 0x80], [0xe0, 0xbf, 0xbf], [0xe1, 0x80, 0x80],
      [0xec, 0xbf, 0xbf], [0xed, 0x80, 0x80], [0xed, 0x9f, 0xbf], [0xee, 0x80, 0x80], [0xef, 0xbf, 0xbd],
      [0xef, 0xbf, 0xbe], [0xef, 0xbf, 0xbf], [0xef, 0xb7, 0x90], [0xf0, 0x90, 0x80, 0x80], [0xf0, 0x9f, 0xbf, 0xbf],
      [0xf1, 0x80, 0x80, 0x80], [0xf3, 0xbf, 0xbf, 0xbf], [0xf4, 0x80, 0x80, 0x80], [0xf4, 0x8f, 0xbf, 0xbf],
    ] as [[UInt8]])
  func acceptsWellFormedUTF8(_ bytes: [UInt8]) {
    for before in 0..<10 {
      let inside = [UInt8](repeating: 0x61, count: before) + bytes
      #expect(judge(inside) == nil)
      #expect(judge(inside + bytes + [0x62]) == nil)
    }
  }

  @Test(
    arguments: [
      [0x80], [0xbf], [0xc0, 0x80], [0xc1, 0xbf], [0xc2], [0xc2, 0x7f], [0xc2, 0xc0], [0xdf], [0xe0, 0x80, 0x80],
      [0xe0, 0x9f, 0xbf], [0xe0, 0xa0], [0xe0, 0xa0, 0x7f], [0xe1, 0x80], [0xe1, 0x80, 0xc0], [0xe1, 0x7f, 0x80],
      [0xed, 0xa0, 0x80], [0xed, 0xaf, 0xbf], [0xed, 0xb0, 0x80], [0xed, 0xbf, 0xbf], [0xef, 0xbf],
      [0xf0, 0x80, 0x80, 0x80],
      [0xf0, 0x8f, 0xbf, 0xbf], [0xf0, 0x90, 0x80], [0xf0, 0x90, 0x80, 0x7f], [0xf0, 0x90, 0x7f, 0x80], [0xf1, 0x80],
      [0xf4, 0x90, 0x80, 0x80], [0xf4, 0xbf, 0xbf, 0xbf], [0xf5, 0x80, 0x80, 0x80], [0xf8, 0x88, 0x80, 0x80, 0x80],
      [0xfc, 0x84, 0x80, 0x80, 0x80, 0x80], [0xfe], [0xff], [0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80],
    ] as [[UInt8]])
  func refusesMalformedUTF8WhereItBegins(_ bytes: [UInt8]) {
    for before in 0..<10 {
      let inside = [UInt8](repeating: 0x61, count: before) + bytes
      #expect(judge(inside) == .utf8(at: before + 1))
      #expect(judge(inside + [0x61, 0x61, 0x61]) == .utf8(at: before + 1))
      #expect(judge([0xc3, 0xa9] + inside) == .utf8(at: before + 3))
    }
  }

  @Test func agreesWithTheStandardLibraryOnEveryTwoBytePair() {
    for first in UInt8(0x80)...UInt8.max {
      for second in UInt8(0x80)...UInt8.max {
        let valid = String(validating: [first, second], as: UTF8.self) != nil
        #expect((judge([first, second]) == nil) == valid)
      }
    }
  }

  @Test func agreesWithTheStandardLibraryOnEveryBeginningOfThreeBytes() {
    for first in UInt8(0xe0)...0xf7 {
      for second in UInt8.min...UInt8.max where second != 0x22 && second != 0x5c && second >= 0x20 {
        for tail in [[0x80], [0xbf], [0x80, 0x80], [0xbf, 0xbf], [0xc0], [0x80, 0x7f]] as [[UInt8]] {
          let bytes = [first, second] + tail
          #expect((judge(bytes) == nil) == (String(validating: bytes, as: UTF8.self) != nil), "\(bytes)")
        }
      }
    }
  }

  @Test(arguments: [
    #"\"#, #"\a"#, #"\'"#, #"\0"#, #"\x41"#, #"\U0041"#, #"\u"#, #"\u0"#, #"\u00"#, #"\u004"#, #"\u004g"#, #"\u 041"#,
    #"\u+041"#, #"\uD83D\u"#, #"\ "#, #"\é"#,
  ])
  func refusesUnknownEscapes(_ inside: String) {
    guard case .syntax = judge(Array(inside.utf8)) else {
      Issue.record("accepted \(inside)")
      return
    }
  }

  @Test(arguments: [
    (#""""#, ""), (#""plain""#, "plain"), (#""é😀""#, "é😀"), (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
    (#""\u0041\u00e9\u20AC""#, "Aé€"), (#""\ud83d\uDE00!""#, "😀!"), (#""\u0000""#, "\0"), (#""a\\u0041""#, "a\\u0041"),
    (#""\uffff\uFFFE""#, "\u{ffff}\u{fffe}"), (#""\udbff\udfff""#, "\u{10ffff}"), (#""\ud800\udc00""#, "\u{10000}"),
  ])
  func decodesEscapes(_ text: String, _ meaning: String) {
    #expect(Array(decode(text).utf8) == Array(meaning.utf8))
  }

  @Test(arguments: [
    (#""\ud83d""#, "\u{fffd}"), (#""\ude00""#, "\u{fffd}"), (#""\ud83dx""#, "\u{fffd}x"),
    (#""\ud83d\n""#, "\u{fffd}\n"),
    (#""\ud83d\ud83d\ude00""#, "\u{fffd}😀"), (#""\ude00\ud83d""#, "\u{fffd}\u{fffd}"),
    (#""\ud83d\u0041""#, "\u{fffd}A"),
    (#""\ud83d\\ude00""#, "\u{fffd}\\ude00"),
  ])
  func aLoneSurrogateBecomesTheReplacementCharacter(_ text: String, _ meaning: String) {
    #expect(decode(text) == meaning)
    #expect(!isWellFormed(text))
  }

  @Test func aReplacementCharacterThatWasWrittenIsWellFormed() {
    #expect(isWellFormed("\"\u{fffd}\\ufffd\""))
  }

  @Test(arguments: [
    (#""id""#, true), (#""\u0069d""#, true), (#""i\u0064""#, true), (#""\u0069\u0064""#, true), (#""Id""#, false),
    (#""i""#, false), (#""idx""#, false), (#""""#, false), (#""i\\u0064""#, false), (#""\ud800""#, false),
    (#""\u0069""#, false), (#""\u0069dx""#, false),
  ])
  func comparesTheMeaningOfAString(_ text: String, _ same: Bool) {
    #expect(means(text, "id") == same)
  }

  @Test func rangesThatAreNoStringsAreNeverReadOutOfBounds() {
    let bytes = Array("\"a\"".utf8)
    for range in [0..<0, 0..<1, 0..<2, 2..<3, 3..<3, 5..<9, 0..<100] {
      _ = JSONScanner.decodeString(bytes.span.bytes, range)
      #expect(!means("\"a\"", "something else", range))
    }
  }
}
