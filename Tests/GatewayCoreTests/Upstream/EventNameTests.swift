import Testing

@testable import GatewayCore

/// Names that no program may send are told as gaps when a server does.
@Suite struct EventNameTests {
  @Test(arguments: [("a", 1), (#"\u0061"#, 1), ("ä", 2), (#"\ud83d\ude00"#, 4)])
  func whatItSaysCountsAndNotHowItIsWritten(piece: String, bytes: Int) {
    let fitting = EventName.limit / bytes
    for (count, isTooLong) in [(1, false), (fitting, false), (fitting + 1, true), (20 * EventName.limit, true)] {
      let raw = Array(("\"" + String(repeating: piece, count: count) + "\"").utf8)
      #expect(EventName.isTooLong(raw.span.bytes) == isTooLong, "\(piece) \(count)")
    }
  }
}
