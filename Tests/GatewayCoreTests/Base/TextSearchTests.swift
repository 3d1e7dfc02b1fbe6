import Testing

@testable import GatewayCore

@Suite struct TextSearchTests {
  @Test(arguments: [
    ("http://a", "://", 4), ("aab", "ab", 1), ("ab", "ab", 0), ("äöü", "ö", 2), ("::a::b", "::", 0),
    ("x\r\ny", "\ny", 2),
  ])
  func findsTheFirstPlace(_ text: String, _ wanted: String, _ place: Int) {
    let found = text.firstRange(ofText: wanted)
    #expect(found.map { text.utf8.distance(from: text.startIndex, to: $0.lowerBound) } == place)
    #expect(found.map { String(text[$0].utf8) == String(wanted.utf8) } == true)
    #expect("__\(text)".dropFirst(2).contains(text: wanted))
  }

  @Test(arguments: [("", "a"), ("a", "ab"), ("abab", "aa"), ("aaaa", "b")])
  func findsNothing(_ text: String, _ wanted: String) {
    #expect(text.firstRange(ofText: wanted) == nil && !text.contains(text: wanted))
  }
}
