import Testing

@testable import GatewayCore

/// Texts that others chose are cut by bytes, never within a character.
struct ShownTextTests {
  @Test func textThatFitsStaysAsItIs() {
    #expect("".shortened(to: 0) == "")
    #expect("abc".shortened(to: 3) == "abc")
    #expect("ä€😀".shortened(to: 9) == "ä€😀")
  }

  @Test func noCharacterIsCutInTheMiddle() {
    let text = "aä€😀z"
    for limit in 0..<text.utf8.count {
      let cut = text.shortened(to: limit)
      #expect(cut.hasSuffix("…") && cut.utf8.count <= limit + 3)
      #expect(text.utf8.starts(with: cut.utf8.dropLast(3)))
      #expect(!cut.unicodeScalars.contains("\u{FFFD}"))
      #expect(String(shortening: Array(text.utf8).span.bytes, to: limit) == cut)
    }
  }

  @Test func oneCharacterOfManyBytesIsCutByItsBytes() {
    // One letter with a million accents is one character of two megabytes.
    let text = "e" + String(repeating: "\u{301}", count: 1 << 20)
    #expect(text.count == 1)
    #expect(text.shortened(to: 100).utf8.count == 102)
  }

  @Test func bytesThatAreNoTextAreCutToo() {
    let bytes = [UInt8](repeating: 0x80, count: 1_000)
    #expect(String(shortening: bytes.span.bytes, to: 10) == String(repeating: "\u{FFFD}", count: 7) + "…")
  }

  @Test func ofAJSONStringOnlyTheBeginningIsDecoded() {
    for piece in ["a", "ä", "😀", #"\u00e4"#, #"\ud83d\ude00"#, #"\n"#, #"\ud83d"#] {
      let raw = Array(("\"" + String(repeating: piece, count: 500) + "\"").utf8)
      let whole = JSONScanner.decodeString(raw.span.bytes, 0..<raw.count)
      for limit in [0, 1, 2, 3, 50, 99, 5_000] {
        let cut = JSONScanner.decodeString(raw.span.bytes, 0..<raw.count, shortenedTo: limit)
        #expect(cut == whole.shortened(to: limit), "\(piece) \(limit)")
      }
    }
  }

  @Test func controlCharactersAndLineEndsAreWrittenOut() {
    #expect("a\u{1b}[1mb\n\u{202e}\u{e0041}ä".escapingControls() == #"a\u001b[1mb\u000a\u202e\udb40\udc41ä"#)
    #expect("plain äöü".escapingControls() == "plain äöü")
  }

  @Test func aMistakeIsOneLineWhateverItsFileIsCalled() {
    let problem = ConfigurationProblem(file: "/a\u{1b}[31m\nx", line: 3, message: "y\u{7}")
    #expect(problem.description == #"/a\u001b[31m\u000ax:3: y\u0007"#)
  }

  @Test func controlCharactersAndLineEndsBecomeSpaces() {
    #expect("a\u{1b}[1mb\nc\u{85}d\u{2028}e".singleLine == "a [1mb c d e")
    #expect("plain äöü".singleLine == "plain äöü")
  }
}
