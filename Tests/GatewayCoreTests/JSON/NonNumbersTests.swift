import Testing

@testable import GatewayCore

/// `NaN` and the infinities, which JSON does not have and Python's encoder writes.
struct NonNumbersTests {
  static let replaced: [(String, String?)] = [
    ("[NaN]", "[null]"), ("[-Infinity,Infinity]", "[null,null]"),
    (#"{"a":NaN,"NaN":"Infinity"}"#, #"{"a":null,"NaN":"Infinity"}"#),
    (#"["a\"NaN",1]"#, nil), ("[1,2]", nil), ("[Na]", nil), ("[-Infinit", nil), (#"["\"#, nil), ("", nil),
  ]

  @Test(arguments: replaced)
  func theyBecomeNullOutsideOfStrings(_ text: String, _ expected: String?) {
    let found = NonNumbers.replaced(in: Array(text.utf8).span.bytes)
    #expect(found.map { String(decoding: $0, as: UTF8.self) } == expected)
  }

  @Test func whatStandsBeforeTheStartStays() {
    let found = NonNumbers.replaced(in: Array("NaN[NaN]".utf8).span.bytes, from: 3)
    #expect(found.map { String(decoding: $0, as: UTF8.self) } == "NaN[null]")
  }
}
