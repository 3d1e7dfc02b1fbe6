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

  @Test func aTextOfNothingElseIsReplacedToItsEnd() {
    let text = String(repeating: "NaN", count: 1_000) + "-Infinity\"NaN\\\"NaN"
    let expected = String(repeating: "null", count: 1_001) + "\"NaN\\\"NaN"
    let found = NonNumbers.replaced(in: Array(text.utf8).span.bytes)
    #expect(found.map { String(decoding: $0, as: UTF8.self) } == expected)
  }

  @Test func whatStandsBeforeTheStartStays() {
    let found = NonNumbers.replaced(in: Array("NaN[NaN]".utf8).span.bytes, from: 3)
    #expect(found.map { String(decoding: $0, as: UTF8.self) } == "NaN[null]")
  }

  @Test(arguments: [
    ("[NaN]", true), ("[1,-Infinity , Infinity]", true), (#"{"a":NaN,"NaN":"Infinity"}"#, true), ("-Infinity", true),
    ("[-1,2]", false),
  ])
  func aTextInPiecesIsReadOverThem(_ text: String, _ expected: Bool) {
    let bytes = Array(text.utf8)
    for cut in 0...bytes.count {
      var progress = JSONProgress(from: 0, nonNumbers: true)
      progress.advance(bytes.span.bytes.extracting(0..<cut))
      progress.advance(bytes.span.bytes, isWhole: true)
      #expect(progress.outcome == .ended(at: bytes.count), "cut at \(cut)")
      #expect(progress.hasNonNumbers == expected)
    }
  }

  @Test(arguments: ["[Na]", "[-Infinit]", "[NaNNaN]", "[-NaN]", "[Inf"])
  func whatOnlyLooksLikeThemIsMalformed(_ text: String) {
    let bytes = Array(text.utf8)
    var progress = JSONProgress(from: 0, nonNumbers: true)
    progress.advance(bytes.span.bytes, isWhole: true)
    if case .broken = progress.outcome {} else { Issue.record("\(text): \(String(describing: progress.outcome))") }
  }

  private static let padding = String(repeating: "x", count: limit)
  private static let limit = NonNumbers.limit

  @Test func inAVeryLongEventTheyCostThatEventAndNotTheLink() throws {
    let rig = SocketIORig()
    let connection = rig.joined("/")
    try connection.send("ask", ack: 7)
    rig.transport.receive(#"42["e",NaN,"\#(Self.padding)"]"#, inPiecesOf: 65_536)
    rig.transport.receive(#"451-["f",NaN,"\#(Self.padding)",{"_placeholder":true,"num":0}]"#, inPiecesOf: 3)
    rig.transport.receive(binary: [1])
    rig.transport.receive(#"430[-Infinity,"\#(Self.padding)"]"#, inPiecesOf: 65_536)
    rig.transport.receive(#"42["g",NaN]"#)
    #expect(
      connection.log.take() == [
        .tooLong(#""e" of \#(Self.limit + 9) bytes"#), .tooLong(#""f" of \#(Self.limit + 43) bytes"#),
        .tooLong("7 of \(Self.limit + 12) bytes"), .event(#""g"(null)"#),
      ])
  }

  @Test func inAVeryLongMessageOfARouterTheyCostThatMessage() {
    let scene = WAMPScene.joined()
    scene.want("a.b")
    scene.receive("[33,1,70]")
    _ = scene.takeTold()
    scene.receive(#"[36,70,1,{},[NaN,"\#(Self.padding)"]]"#, inPiecesOf: 65_536)
    scene.receive(#"[36,70,2,{},[NaN]]"#)
    #expect(scene.takeTold() == [#"event "a.b" of \#(Self.limit + 8) bytes"#, #"event "a.b" [null]"#])
    #expect(scene.failure == nil)
  }

  @Test func inAVeryLongLineTheyCostThatLine() throws {
    let rig = DirectRig()
    let connection = try rig.open(DirectRig.lines)
    rig.transport.receive(#"{"body":[NaN,"\#(Self.padding)"],"type":"chat"}"#, inPiecesOf: 65_536)
    rig.transport.receive(#"{"body":[NaN],"type":"chat"}"#)
    #expect(
      connection.log.take() == [.tooLong(#""chat" of \#(Self.limit + 8) bytes"#), .event(#""chat"([null])"#)])
  }
}
