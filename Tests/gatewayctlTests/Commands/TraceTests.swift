import Testing

@testable import gatewayctl

/// `trace` as JSON lines and as a person reads it.
@Suite struct TraceTests {
  private static let facts = [
    #"{"trace":"t1","time":1795232601218,"direction":"out","layer":"socketio","text":"EVENT chat (1 arg, 9 bytes) ack 7"}"#,
    #"{"trace":"t0","time":1795232601218,"direction":"in","layer":"engine","text":"of another"}"#,
    #"{"trace":"t1","time":1795232601219,"direction":"in","layer":"engine","text":"PING"}"#,
    #"{"trace":"t1","time":1795232601220,"text":"3 lines were dropped","dropped":3}"#,
  ]

  private func run(_ words: [String], facts: [String] = facts, terminal: Bool = false) throws -> ControlProgram.Outcome
  {
    let daemon = try FakeDaemon { daemon in
      let client = try daemon.accept()
      client.reply(try client.call("trace"), #"{"trace":"t1"}"#)
      for fact in facts { client.say(#"{"jsonrpc":"2.0","method":"trace","params":\#(fact)}"#) }
      try client.awaitEnd()
    }
    let outcome = try ControlProgram.run(
      ["trace", "chat"] + words, socket: daemon.path, terminal: terminal ? try PseudoTerminal() : nil)
    try daemon.finish()
    return outcome
  }

  @Test func linesOfOtherTracesAreLeftOut() throws {
    let outcome = try run(["-n", "2"])
    #expect(
      outcome.output == #"""
        {"time":1795232601218,"direction":"out","layer":"socketio","text":"EVENT chat (1 arg, 9 bytes) ack 7"}
        {"time":1795232601219,"direction":"in","layer":"engine","text":"PING"}

        """#)
    #expect(outcome.status == 0)
  }

  @Test func theTimeEndsItAndACountThatWasNotReachedIsATimeOut() throws {
    #expect(try run(["--for", "200ms"]).status == 0)
    let outcome = try run(["--for", "200ms", "-n", "3"])
    #expect(outcome.status == 124)
    #expect(outcome.errors.contains("3 packets were not shown"))
    #expect(outcome.errors.contains("2 of 3 packets came within 200ms"))
  }

  @Test func aPersonReadsLines() {
    let view = TraceView(palette: Palette(isColored: false))
    let line = view.line(
      RawJSONObject(Array(#"{"time":0,"direction":"in","layer":"engine","text":"PI\u001bNG","payload":"x"}"#.utf8))!)
    #expect(line.hasSuffix(" ← engine   PI\\u001bNG\n               x\n"))
    #expect(line.prefix(13).hasSuffix(".000 "))
  }
}
