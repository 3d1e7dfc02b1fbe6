import Testing

@testable import GatewayCore

/// What is nested as deeply as it may be is within the levels that clients have to read.
@Suite struct LineDepthTests {
  private let argument = Self.nested(LineDepth.argumentLimit)
  private let id = RequestID(value: .integer(7), text: Array("7".utf8))

  private static func nested(_ levels: Int) -> [UInt8] {
    [UInt8](repeating: UInt8(ascii: "["), count: levels) + [UInt8](repeating: UInt8(ascii: "]"), count: levels)
  }

  private func levels(_ line: [UInt8]) -> Int {
    var (level, most) = (0, 0)
    for byte in line {
      if byte == UInt8(ascii: "[") || byte == UInt8(ascii: "{") { level += 1 }
      if byte == UInt8(ascii: "]") || byte == UInt8(ascii: "}") { level -= 1 }
      most = max(most, level)
    }
    return most
  }

  private func errorLevels(_ error: LocalError) -> Int { levels(LocalReply.error(id, error, limit: 1 << 20)) }

  @Test func aNotificationHasAsManyAsALineOfAProgram() {
    var line = LocalNotification.eventHead(subscription: "s")
    let keywords = Array(#"{"k":"#.utf8) + argument + Array("}".utf8)
    LocalNotification.eventTail(
      seq: 1, time: 1, name: Array("\"e\"".utf8).span.bytes, arguments: argument.span.bytes,
      kwargs: keywords.span.bytes, ack: nil, into: &line)
    #expect(levels(line) == LineDepth.limit)
    let part = RemoteAnswer(argument, kwargs: keywords)
    #expect(levels(LocalNotification.progress(id, part)) == LineDepth.limit)
  }

  @Test func anErrorHasNoMoreThanAnAnswerMayHave() {
    let keywords = Array(#"{"k":"#.utf8) + argument + Array("}".utf8)
    let failed = RemoteError("no", RemoteAnswer(argument, kwargs: keywords))
    #expect(errorLevels(LocalError(failed, limit: 1 << 20)) == LineDepth.limit + 1)
    let specification = UpstreamSpecification(
      name: "chat", url: UpstreamURL(scheme: "http", host: "h"), namespace: "/", settings: UpstreamSettings(),
      owner: nil)
    let refused = UpstreamFailure(
      .refused, "refused", serverMessage: "no", serverData: Self.nested(JSONScanner.depthLimit))
    #expect(errorLevels(LocalError(refused: refused, by: specification)) == LineDepth.limit + 3)
    #expect(LineDepth.limit + 3 <= LineDepth.answerLimit)
  }
}
