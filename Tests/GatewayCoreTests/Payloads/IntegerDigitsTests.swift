import Testing

@testable import GatewayCore

/// Integers that Python does not read.
struct IntegerDigitsTests {
  private static func digits(_ count: Int) -> String { String(repeating: "7", count: count) }

  static let texts: [(String, Bool)] = [
    ("[\(digits(4300))]", false), ("[\(digits(4301))]", true), ("[-\(digits(4300))]", false),
    ("[-\(digits(4301))]", true), (#"{"a":[1,{"b": \#(digits(9000)) }]}"#, true), (digits(4301), true),
    (#"["\#(digits(9000))"]"#, false), (#"["a\"\#(digits(9000))",1]"#, false), (#"{"\#(digits(9000))":1}"#, false),
    (#"["\#(digits(9000))",\#(digits(4301))]"#, true), ("[\(digits(9000)).5]", false), ("[0.\(digits(9000))]", false),
    ("[1e\(digits(9000))]", false), ("[\(digits(9000))E-5]", false), ("[\(digits(4000)),\(digits(4000))]", false),
    (String(repeating: " ", count: 9000), false),
  ]

  @Test(arguments: texts)
  func onlyAnIntegerOfMoreThan4300DigitsIsOne(_ text: String, _ expected: Bool) {
    let bytes = Array(text.utf8)
    #expect(IntegerDigits.exceedLimit(in: bytes.span.bytes, 0..<bytes.count) == expected)
    // Wherever it lies to the places that are looked at.
    for shift in [1, 17, 4299] {
      let shifted = [UInt8](repeating: UInt8(ascii: " "), count: shift) + bytes
      #expect(IntegerDigits.exceedLimit(in: shifted.span.bytes, shift..<shifted.count) == expected, "by \(shift)")
      #expect(IntegerDigits.exceedLimit(in: shifted.span.bytes, 0..<shifted.count) == expected, "from \(shift) before")
    }
  }

  private static let long = Array("[1,\(digits(5000))]".utf8)

  @Test func aSendOrAnAnswerThatWouldMakeARouterEndTheSessionIsRefused() {
    let keywords = Array(#"{"a":\#(Self.digits(5000))}"#.utf8)
    for draft in [
      MessageDraft(event: "a.b", args: Self.long), MessageDraft(event: "a.b", args: Self.long, purpose: .call),
      MessageDraft(event: "a.b", args: Array("[]".utf8), kwargs: keywords),
    ] { #expect(throws: MessageProblem.self) { try WAMPDraft.message(draft) } }
    #expect(throws: MessageProblem.self) { try WAMPDraft.answer(AnswerDraft(args: Self.long)) }
  }

  @Test func aSendThatWouldMakeAServerOfLinesEndTheConnectionIsRefused() throws {
    let connection = try DirectRig().open(DirectRig.lines)
    #expect(throws: MessageProblem.self) { try connection.send("chat", "[\(Self.digits(5000))]") }
    try connection.send("chat", #"["\#(Self.digits(5000))"]"#)
  }
}
