import GatewayCore
import Testing

@testable import gatewayctl

@Suite struct RawJSONObjectTests {
  private func nested(_ levels: Int) -> String {
    String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
  }

  /// Answers of the daemon are nested more deeply than what programs write.
  @Test(arguments: [61, 64, 65, 1_000])
  func whatIsNestedDeeplyIsReadAsAnythingElse(_ levels: Int) throws {
    let deep = nested(levels)
    let object = try #require(RawJSONObject(Array(#" {"a" : "x","args":\#(deep),"n":7} "#.utf8)))
    #expect(object.string("a") == "x" && object.integer("n") == "7")
    #expect(object["args"] == Array(deep.utf8))
    #expect(object.elements("args") == [Array(deep.utf8.dropFirst().dropLast())])
    #expect(object.shallow["a"] == .string("x") && object.shallow["n"] == .number("7"))
    #expect((object.shallow["args"] == .null) == (levels > 64))
  }

  @Test func whatIsNestedDeeplyAndNoJSONIsNoObject() {
    let deep = nested(70)
    for text in ["[\(deep)]", #"{"a":\#(deep)"#, #"{"a":\#(deep)} x"#, #"{"a":\#(deep),"b":NaN}"#, #"{"a":\#(deep)]}"#]
    {
      #expect(RawJSONObject(Array(text.utf8)) == nil, "\(text)")
    }
    #expect(RawJSONObject.elements(of: Array(#"{"a":\#(deep)}"#.utf8)) == nil)
  }
}
