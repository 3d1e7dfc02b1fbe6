import Testing

@testable import GatewayCore

@Suite struct RememberingFilterTests {
  private static func event(_ name: String) -> EventHistory.Content {
    let name = Array("\"\(name)\"".utf8)
    var tail: [UInt8] = []
    _ = LocalNotification.eventTail(
      seq: 1, time: 2, name: name.span.bytes, arguments: Array("3".utf8).span.bytes, kwargs: nil, ack: nil, into: &tail)
    return .event(tail)
  }

  @Test(arguments: [["a.*", "b"], ["*7"], [], nil] as [[String]?])
  func itAnswersAsTheFilterDoesHoweverOftenItIsAsked(_ events: [String]?) throws {
    let filter = try EventFilter(events)
    var remembering = RememberingFilter(filter)
    // More names than are remembered, a long one, and one in other letters of JSON.
    let names =
      (0..<5_000).map { "a.\($0)" } + ["a", "b", String(repeating: "b", count: 1_000), #"\u0062"#, #"a\u002e1"#]
    for name in names + names {
      let content = Self.event(name)
      let answer = remembering.passes(content)
      #expect(answer == content.matches(filter))
    }
    for hole in [EventHistory.Content.hole(.expired, name: nil), .hole(.tooLarge, name: "b")] {
      let answer = remembering.passes(hole)
      #expect(answer == hole.matches(filter))
    }
  }
}
