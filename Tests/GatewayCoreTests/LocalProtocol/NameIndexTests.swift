import Testing

@testable import GatewayCore

private func find(_ text: String, in index: NameIndex, before: String = "", behind: String = "") -> Int? {
  let bytes = Array((before + text + behind).utf8)
  let start = before.utf8.count
  return index.find(bytes.span.bytes, start..<start + text.utf8.count)
}

@Suite struct NameIndexTests {
  private static let names =
    ParameterName.allCases.map(\.text)
    + ["a", "ab", "exactly8", "exactlyNine"[...], "0123456789abcdef"]
    .map { String($0) }

  @Test func findsEveryNameAtItsPosition() {
    let index = NameIndex(Self.names)
    for (position, name) in Self.names.enumerated() {
      #expect(find("\"\(name)\"", in: index) == position)
      #expect(find("\"\(name)\"", in: index, before: "{ ", behind: ":null,\"more\":true}") == position)
    }
  }

  @Test func findsNamesThatAreWrittenWithEscapes() {
    let index = NameIndex(Self.names)
    for (position, name) in Self.names.enumerated() {
      let escaped = name.utf8.map { "\\u00" + String($0, radix: 16) }.joined()
      #expect(find("\"\(escaped)\"", in: index) == position)
    }
    #expect(find(#""a\u0062""#, in: index) == Self.names.firstIndex(of: "ab"))
    #expect(find(#""a\u0000""#, in: index) == nil)
  }

  @Test func findsNothingElse() {
    let index = NameIndex(Self.names)
    for name in [
      "", "b", "A", "abc", "exactly8x", "exactly", "0123456789abcdefg", "0123456789abcde", "Event", " event", "event ",
      "a\0", "é", "ev\u{0}nt", "0123456789abcdef0123456789abcdef", #"\ud800"#, #"\\u0061"#,
    ] {
      #expect(find("\"\(name)\"", in: index) == nil, "\(name)")
    }
  }
}
