import Testing

@testable import GatewayCore

/// Commands that were written, and come back to the queue because the link broke.
@Suite struct CommandReturnTests {
  private static func command(_ id: String, coalesce: String? = nil, line: UInt32? = nil) -> Command {
    let command = CommandQueueTests.command(id)
    command.coalescing = coalesce.map { Coalescing(user: 1, value: $0) }
    command.retry = line.map { Retry(again: 3, line: $0) }
    return command
  }

  @Test func theyStandWhereTheyStoodWhateverTheirOrderWas() throws {
    let commands = (0..<6).map { Self.command("c\($0)", line: UInt32($0 % 2)) }
    var queue = try CommandQueueTests.queue(commands)
    let bytes = queue.byteCount
    for place in [0, 1, 3] { _ = queue.remove(commands[place]) }
    queue.putBack([3, 0, 1].map { commands[$0] })
    #expect(queue.commands == commands)
    #expect(queue.byteCount == bytes)
    #expect((queue.firstPlace(inLine: 0), queue.firstPlace(inLine: 1)) == (commands[0].place, commands[1].place))
    var left: [Command] = []
    while let command = queue.popFirst() { left.append(command) }
    #expect(left == commands && queue.byteCount == 0 && queue.firstPlace(inLine: 0) == nil)
  }

  @Test func aNewerOneGivesWayToTheNextAndNotTheOneThatCameBack() throws {
    let old = Self.command("old", coalesce: "k")
    var queue = try CommandQueueTests.queue([old])
    _ = queue.popFirst()
    let newer = Self.command("newer", coalesce: "k")
    try queue.append(newer)
    queue.putBack([old])
    #expect(try queue.append(Self.command("newest", coalesce: "k")) == newer)
    #expect(queue.commands.map(\.id) == ["old", "newest"])
  }

  @Test func oneThatCameBackAloneGivesWay() throws {
    let old = Self.command("old", coalesce: "k")
    var queue = try CommandQueueTests.queue([old])
    _ = queue.popFirst()
    queue.putBack([old])
    #expect(try queue.append(Self.command("newer", coalesce: "k")) == old)
  }

  @Test func thousandsComeBackBeforeManyInTheirOrder() throws {
    let commands = (0..<20_000).map { Self.command("c\($0)") }
    var queue = try CommandQueueTests.queue(commands)
    let written = (0..<CommandFlow.handedOverLimit).compactMap { _ in queue.popFirst() }
    queue.putBack(written)
    #expect(queue.commands == commands)
  }
}
