import Testing

@testable import GatewayCore

@Suite struct JSONLineFormTests {
  private func fits(_ text: String, _ form: JSONLineForm) -> Bool { form.fits(Array(text.utf8).span.bytes, depth: 3) }

  @Test(arguments: [#""""#, #""a""#, #""é\n\"""#]) func string(_ text: String) {
    #expect(fits(text, .string) && fits(text, .value) && fits(text, .elements) && !fits(text, .object))
  }

  @Test(arguments: ["", "a", #"""#, #""a"#, #""a"b"#, #""a","b""#, "\"a\nb\"", #""a" x"#, "1"])
  func noString(_ text: String) { #expect(!fits(text, .string)) }

  @Test(arguments: ["{}", #"{"a":[1,{"b":null}]}"#, "{ } "]) func object(_ text: String) {
    #expect(fits(text, .object) && fits(text, .value) && fits(text, .elements) && !fits(text, .string))
  }

  @Test(arguments: ["", "{", "[]", "{}{}", "{},{}", "{\n}", #"{"a":1,}"#]) func noObject(_ text: String) {
    #expect(!fits(text, .object))
  }

  @Test(arguments: ["", "1", " 1 , 2", #""a",[],{"b":1},true"#]) func elements(_ text: String) {
    #expect(fits(text, .elements))
  }

  @Test(arguments: [",", "1,", ",1", "1 2", "1]", "[1", "1\n", "1,\r2", "[1,\n2]", "nan", "1,,2"])
  func noElements(_ text: String) { #expect(!fits(text, .elements) && !fits(text, .value)) }

  @Test func whatIsNoUTF8IsNothing() {
    for form in [JSONLineForm.string, .object, .value, .elements] {
      let text: [UInt8] = [0x22, 0xff, 0x22]
      let fits = form.fits(text.span.bytes, depth: 3)
      #expect(!fits)
    }
  }

  @Test func eachValueMayHaveSoManyLevels() {
    #expect(fits("[[[]]]", .value) && fits("[[[]]],[[[]]]", .elements) && !fits("[[[[]]]]", .elements))
  }
}
