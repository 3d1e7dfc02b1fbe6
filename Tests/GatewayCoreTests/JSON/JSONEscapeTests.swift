import Testing

@testable import GatewayCore

/// What needs no escape is passed over eight bytes at a time: whatever needs one must be seen at every place.
@Suite struct JSONEscapeTests {
  @Test(arguments: ["x", " ", "!", "#", "[", "]", "\u{7f}", "é"])
  func everyTextReadsBackAsItWas(filler: String) {
    for length in 0...40 {
      expectReadBack(String(repeating: filler, count: length))
      for place in 0..<length {
        for special in ["\"", "\\", "\u{1f}", "\u{0}", "\n", "\u{80}", "😀"] {
          expectReadBack(
            String(repeating: filler, count: place) + special
              + String(repeating: filler, count: length - place - 1))
        }
      }
    }
  }

  private func expectReadBack(_ text: String) {
    var writer = JSONWriter()
    writer.string(text)
    let written = writer.bytes
    #expect((try? JSONScanner.validate(written.span.bytes)) != nil)
    #expect(JSONScanner.decodeString(written.span.bytes, 0..<written.count) == text)
  }
}
