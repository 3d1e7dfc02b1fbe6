import Testing

@testable import GatewayClient

@Suite struct JSONReaderTests {
  @Test(arguments: [
    "null", "true", "false", "0", "-0", "123456789012345678901234567890", "1.50", "1e+20", "-0.5E-3", #""""#, #""a b""#,
    "[]", "[1,[2,[]]]", "{}", #"{"b":1,"a":2,"b":3}"#, #"{"$bin":"AQ=="}"#,
  ])
  func whatIsReadIsWrittenAsItWas(text: String) throws {
    #expect(try JSON(text: text).description == text)
  }

  @Test func escapesAreCharacters() throws {
    #expect(try JSON(text: #""\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00""#).string == "\"\\/\u{8}\u{c}\n\r\té😀")
    #expect(try JSON(text: #""a\ud800b\udc00""#).string == "a\u{FFFD}b\u{FFFD}")
    #expect(JSON.string("\"\\\n\u{1}\u{1f}é").description == #""\"\\\n\u0001\u001fé""#)
  }

  @Test(arguments: [
    "", " ", "nul", "truex", "01", "-", "1.", ".5", "1e", "+1", "NaN", #"""#, #""\x""#, #""\u12g4""#, "\"\n\"", "[1,]",
    "[1 2]",
    "[", "]", "{\"a\"}", "{\"a\":}", "{a:1}", "{\"a\":1,}", "1 2", "'a'",
  ])
  func whatIsNoJSONIsRefused(text: String) {
    #expect(throws: GatewayError.self) { try JSON(text: text) }
  }

  @Test func everyCutIsRefusedAndNothingTraps() throws {
    let text = Array(#" {"a" : [1.5e-3, "\u00e9\n", {"b": null}], "c": true} "#.utf8)
    _ = try JSON(text: text)
    for end in 0..<text.count - 1 { #expect(throws: GatewayError.self) { try JSON(text: text[..<end]) } }
  }

  @Test func whatIsNestedTooDeeplyIsRefused() throws {
    let text = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
    #expect(try JSONReader.depth(of: Array(text.utf8)) == 64)
    #expect(throws: GatewayError.self) { try JSON(text: "[\(text)]") }
    #expect(throws: GatewayError.self) { try JSON(text: String(repeating: "[", count: 1_000_000)) }
  }

  /// An event of the history stands two levels further in than one that comes.
  @Test(arguments: [(66, true), (68, true), (69, false)])
  func anAnswerMayBeNestedMoreDeeply(levels: Int, isRead: Bool) {
    let args = String(repeating: "[", count: levels - 4) + String(repeating: "]", count: levels - 4)
    let line = #"{"result":{"events":[{"args":\#(args)}]}}"#
    let event = (try? RawObject(Array(line.utf8)))?.object("result")?.objects("events")?.first
    #expect(event?.text("args") == (isRead ? Array(args.utf8) : nil))
  }

  @Test func numbersAreIntegersWhereTheyAreWhole() throws {
    #expect(try JSON(text: "1.0").int == 1 && JSON(text: "1e3").int == 1_000)
    #expect(try JSON(text: "1.5").int == nil && JSON(text: "9223372036854775808").int == nil)
    #expect(JSONNumber(.nan) == nil && JSONNumber("01") == nil && JSONNumber("-1.5e7")?.double == -1.5e7)
  }

  @Test(arguments: 0..<70) func bytesComeBackThroughBase64(count: Int) {
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 97) }
    var text: [UInt8] = []
    Base64.encode(bytes, to: &text)
    #expect(text.count == (count + 2) / 3 * 4)
    #expect(Base64.decode(String(decoding: text, as: UTF8.self)) == bytes)
  }

  @Test(arguments: ["A", "AA", "AAA", "A===", "AA=A", "AA*=", "=AAA"]) func whatIsNoBase64IsNone(text: String) {
    #expect(Base64.decode(text) == nil)
  }
}
