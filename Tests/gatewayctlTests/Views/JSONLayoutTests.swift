import Testing

@testable import gatewayctl

/// JSON on several lines.
@Suite struct JSONLayoutTests {
  private func laidOut(_ json: String, colored: Bool = false, escaped: Bool = false) -> String {
    JSONLayout(palette: Palette(isColored: colored), isEscaped: escaped).text(Array(json.utf8))
  }

  @Test func membersAndElementsStandOnLinesOfTheirOwn() {
    #expect(
      laidOut(#"{"a":[1,[],{ },"x"],"b" : {"c":null}}"#) == """
        {
          "a": [
            1,
            [],
            {},
            "x"
          ],
          "b": {
            "c": null
          }
        }
        """)
  }

  @Test(arguments: ["1.50", "-0.0e+10", "true", #""\u0041\" , : { \\""#, "12345678901234567890123"])
  func numbersAndStringsStayAsTheyAre(_ json: String) {
    #expect(laidOut(json) == json)
    #expect(laidOut("[\(json)]") == "[\n  \(json)\n]")
  }

  @Test func keysStringsAndNumbersHaveColours() {
    #expect(
      laidOut(#"{"k":["s",1,null]}"#, colored: true)
        == "{\n  \u{1b}[1m\"k\"\u{1b}[0m: [\n    \u{1b}[32m\"s\"\u{1b}[0m,\n    \u{1b}[33m1\u{1b}[0m,\n    "
        + "\u{1b}[2mnull\u{1b}[0m\n  ]\n}")
  }

  @Test func controlCharactersAreWrittenOutOnATerminal() {
    #expect(laidOut("[\"\u{9b}\u{202e}\"]", escaped: true) == "[\n  \"\\u009b\\u202e\"\n]")
  }
}
