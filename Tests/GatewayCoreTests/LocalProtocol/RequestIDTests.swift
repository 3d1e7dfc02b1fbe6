import Testing

@testable import GatewayCore

@Suite struct RequestIDTests {
  private static func id(_ text: String) -> RequestID? {
    let bytes = Array(text.utf8)
    return RequestID(bytes.span.bytes, 0..<bytes.count)
  }

  @Test(arguments: ["0", "-0", "7", "-7", "9007199254740991", "-9007199254740991", #""""#, #""a""#, #""\u0061""#])
  func anIDIsEchoedAsItWasWritten(_ text: String) throws {
    let id = try #require(Self.id(text))
    var writer = JSONWriter()
    id.write(into: &writer)
    #expect(writer.bytes == Array(text.utf8))
    var raw: [UInt8] = []
    raw.append(room: id.room) { id.write(into: &$0) }
    #expect(raw == Array(text.utf8))
  }

  @Test func whatAnIDMeansTellsItFromOthersAndNotHowItWasWritten() {
    #expect(Self.id("0") == Self.id("-0") && Self.id(#""a""#) == Self.id(#""\u0061""#))
    #expect(Self.id("7") != Self.id(#""7""#) && Self.id("7") != Self.id("8"))
    #expect(Self.id("0")?.text == [] && Self.id("-0")?.text == Array("-0".utf8))
  }

  @Test func spellingsOfATextThatUnicodeHoldsToBeOneAreDifferentIDs() throws {
    let ids = try ["\"\u{e9}\"", "\"e\u{301}\"", #""\u00e9""#].map { try #require(Self.id($0)) }
    #expect(ids[0] != ids[1] && ids[0] == ids[2])
    #expect(Set(ids).count == 2)
  }

  @Test(arguments: ["null", "1.0", "9007199254740992", "[1]", #""\ud800""#])
  func whatIsNoIDIsNone(_ text: String) {
    #expect(Self.id(text) == nil)
  }
}
