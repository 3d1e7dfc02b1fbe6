import Testing

@testable import GatewayClient

@Suite struct ArgumentsTests {
  @Test func valuesOfAnyTypesAreWrittenAsThePayloadsOfTheProtocol() throws {
    let arguments = try Arguments(encoding: "hi", 9_007_199_254_740_993, [UInt8]([1, 2]), ["$bin": "x"], Int?.none)
    #expect(arguments.description == #"["hi",9007199254740993,{"$bin":"AQI="},{"$$bin":"x"},null]"#)
    let (text, number, bytes, marked, none) = try arguments.decode(
      String.self, Int.self, [UInt8].self, [String: String].self, Int?.self)
    #expect(text == "hi" && number == 9_007_199_254_740_993 && bytes == [1, 2] && none == nil)
    #expect(marked == ["$bin": "x"])
  }

  @Test func whatLooksLikeBytesWithoutBeingItStaysAsItIs() {
    let arguments = Arguments(
      unchecked: Array(#"[{"$bin":"?"},{"$bin":1},{"$$$bin":1},{"x$bin":1},{"$bin":"AQ==","a":1}]"#.utf8))
    let keys = arguments.values.map { $0.members?.first?.key }
    #expect(keys == ["$bin", "$bin", "$$bin", "x$bin", "$bin"])
  }

  @Test func aTextOfOnesOwnIsCheckedAndStaysInOneLine() throws {
    let arguments = try Arguments(text: "[1.50,\r\n  {\"b\":1, \"a\":2}]\n".utf8)
    #expect(arguments.description == "[1.50,    {\"b\":1, \"a\":2}] ")
    for wrong in ["{}", "1", "[1", "[1]]", "[\"a\nb\"]", "", "[\"\u{1}\"]"] {
      #expect(throws: GatewayError.self, "\(wrong)") { try Arguments(text: wrong.utf8) }
    }
    #expect(throws: GatewayError.self) { try Arguments(text: [0x5B, 0x22, 0xFF, 0x22, 0x5D]) }
  }

  @Test func whatIsNestedDeeperThanALineMayBeIsRefusedHere() throws {
    func nested(_ levels: Int) -> JSON { levels == 0 ? 1 : [nested(levels - 1)] }
    #expect(try Arguments([nested(61)]).count == 1)
    #expect(throws: GatewayError.self) { try Arguments([nested(62)]) }
  }

  @Test func aMissingArgumentIsAnErrorUnlessItsTypeIsOptional() throws {
    let arguments = try Arguments(["a"])
    #expect(throws: DecodingError.self) { try arguments.decode(String.self, Int.self) }
    #expect(try arguments.decode(String.self, Int?.self).1 == nil)
    #expect(arguments[0] == "a" && arguments[1] == nil)
  }
}
