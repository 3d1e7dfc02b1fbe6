import Testing

@testable import GatewayCore

private func parse(_ text: String, depth: Int = 64) throws(JSONError) -> JSONValue {
  try JSONValue.parse(Array(text.utf8).span.bytes, depth: depth)
}

@Suite struct JSONValueTests {
  @Test func readsEveryKindOfValue() throws {
    #expect(
      try parse(#" {"a":[null,true,false,-1.50e+3,"\u0041\n"],"b":{},"a":[]} "#)
        == .object([
          .init("a", .array([.null, .bool(true), .bool(false), .number("-1.50e+3"), .string("A\n")])),
          .init("b", .object([])), .init("a", .array([])),
        ]))
  }

  @Test(arguments: [
    "null", "true", "false", "0", "-0", "1.50", "1E+2", "123456789012345678901234567890", #""""#, #""aé😀""#, "[]", "{}",
    #"[1,[2,[3]],{"a":{"b":[]}}]"#, #"{"z":1,"a":2,"z":3}"#, #""\"\\\n\r\t\u0000\u0008\u001f""#,
  ])
  func writesWhatItRead(_ text: String) throws {
    #expect(try parse(text).text == text)
  }

  @Test(arguments: [
    "", "[1,]", "{\"a\"}", "nul", "1 2", "\"\u{1}\"", "[1 2]", "{\"a\":1,}", "\"\\x\"", "01", "1.", "}",
  ])
  func refusesExactlyWhatTheScannerRefuses(_ text: String) throws {
    let bytes = Array(text.utf8)
    let error = try #require(throws: JSONError.self) { try JSONScanner.validate(bytes.span.bytes) }
    #expect(throws: error) { try parse(text) }
  }

  @Test func keepsTheSameDepth() throws {
    let text = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
    #expect(try parse(text).text == text)
    #expect(throws: JSONError.depth(at: 64)) { try parse("[" + text + "]") }
    #expect(throws: JSONError.depth(at: 5)) { try parse(#"{"a":{}}"#, depth: 1) }
  }

  @Test func offersItsParts() throws {
    let value = try parse(#"{"s":"x","i":-7,"d":1.5,"b":true,"n":null,"a":[1,2],"i2":1e2,"s":"last"}"#)
    #expect(value["s"]?.stringValue == "last")
    #expect(value["i"]?.integerValue == -7)
    #expect(value["i"]?.doubleValue == -7)
    #expect(value["d"]?.doubleValue == 1.5)
    #expect(value["d"]?.integerValue == nil)
    #expect(value["i2"]?.integerValue == nil)
    #expect(value["i2"]?.doubleValue == 100)
    #expect(value["b"]?.boolValue == true)
    #expect(value["n"]?.isNull == true)
    #expect(value["a"]?[1] == .number("2"))
    #expect(value["a"]?[2] == nil)
    #expect(value["a"]?[-1] == nil)
    #expect(value["none"] == nil)
    #expect(value.members?.count == 8)
    #expect(value.elements == nil)
    #expect(value[0] == nil)
    #expect(JSONValue.null["a"] == nil)
    #expect(JSONValue.null.stringValue == nil)
    #expect(JSONValue.null.boolValue == nil)
    #expect(try parse("9223372036854775808").integerValue == nil)
  }

  @Test func aLongTextBecomesNoTreeUnlessThatIsAskedFor() throws {
    let text = Array("[\(String(repeating: "0,", count: JSONValue.textLimit))0]".utf8)
    #expect(throws: JSONError.tooLong(limit: JSONValue.textLimit)) { try JSONValue.parse(text.span.bytes) }
    #expect(try JSONValue.parse(text.span.bytes, limit: .max).elements?.count == JSONValue.textLimit + 1)
  }
}
