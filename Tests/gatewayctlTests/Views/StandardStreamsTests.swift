@testable import GatewayCore
import Glibc
import Testing

/// What becomes of a command whose output nobody reads any more, or that cannot be written.
@Suite struct StandardStreamsTests {
  /// Runs it, and lets the script go on when the reader of its standard output has gone.
  private func runUnread(
    _ words: [String], input: String = "", _ script: @escaping @Sendable (FakeClient, Moment) throws -> Void
  ) throws -> ControlProgram.Outcome {
    let gone = Moment()
    let daemon = try FakeDaemon { try script(try $0.accept(), gone) }
    let program = try ControlProgram(words, socket: daemon.path)
    program.closeOutput()
    gone.happen()
    program.type(input)
    let outcome = try program.finish()
    try daemon.finish()
    return outcome
  }

  private static let critical =
    #"{"daemon":{},"connections":[{"upstream":"chat","state":"disconnected","reason":"refused","needed":true}]}"#

  @Test func aReaderThatIsGoneDoesNotTurnCriticalIntoSuccess() throws {
    let outcome = try runUnread(["status", "--check"]) { client, gone in
      let call = try client.call("status")
      gone.await()
      client.reply(call, Self.critical)
    }
    #expect(outcome == .init(status: 2, output: "", errors: ""))
  }

  @Test func aReaderThatIsGoneDoesNotTurnAMissingRightIntoSuccess() throws {
    let outcome = try runUnread(["access", "--as", "ann", "--right", "send", "chat"]) { client, gone in
      let call = try client.call("access.explain")
      gone.await()
      client.reply(call, #"{"allowed":false,"rule":"none"}"#)
    }
    #expect(outcome == .init(status: 77, output: "", errors: ""))
  }

  @Test func aReaderThatIsGoneDoesNotEndAnExaminationInTheMiddle() throws {
    let outcome = try runUnread(["doctor", "chat"]) { client, gone in
      let call = try client.call("doctor")
      gone.await()
      // So much is written at once.
      let long = String(repeating: "x", count: 100_000)
      for (step, verdict, seen) in [("name", "ok", long), ("tcp", "failed", "It.")] {
        client.notify(
          "progress",
          #"{"id":\#(call.id),"args":[{"step":"\#(step)","verdict":"\#(verdict)","code":"\#(step).x","#
            + #""seen":"\#(seen)"}]}"#)
      }
      client.reply(call, #"{"verdict":"failed"}"#)
    }
    #expect(outcome.status == 69)
    #expect(outcome.errors.hasPrefix("gatewayctl: chat does not work: It."))
  }

  @Test func aReaderThatIsGoneDoesNotEndARequestBeforeItsAnswer() throws {
    let outcome = try runUnread(["request", "chat", "ask"]) { client, gone in
      let call = try client.call("request")
      gone.await()
      client.notify("progress", #"{"id":\#(call.id),"args":[1]}"#)
      client.fail(call, .ackLost)
    }
    #expect(outcome.status == 74)
    #expect(outcome.errors.hasPrefix("gatewayctl: It failed; "))
  }

  @Test func whatOnlyPrintsEndsQuietlyWithoutAReader() throws {
    let outcome = try runUnread(["status"]) { client, gone in
      let call = try client.call("status")
      gone.await()
      client.reply(call, Self.critical)
    }
    #expect(outcome == .init(status: 0, output: "", errors: ""))
  }

  @Test func linesThatAreNotSentBecauseNobodyReadsAreNoSuccess() throws {
    let outcome = try runUnread(["send", "--lines", "chat", "e"], input: "[1]\n[2]\n[3]\n") { client, gone in
      let first = try client.call("send")
      gone.await()
      client.reply(first, #"{"id":"s1","state":"queued"}"#)
      try client.awaitEnd()
    }
    #expect(
      outcome
        == .init(
          status: 74, output: "",
          errors: "gatewayctl: line 1 was sent, and standard output cannot be written: Broken pipe; "
            + "what was to be printed is lost (0 sent before it)\n"))
  }

  @Test func linesThatPrintNothingAreAllSentWithoutAReader() throws {
    let outcome = try runUnread(["send", "-q", "--lines", "chat", "e"], input: "[1]\n[2]\n") { client, gone in
      gone.await()
      for _ in 1...2 { client.reply(try client.call("send"), #"{"id":"s1","state":"queued"}"#) }
    }
    #expect(outcome == .init(status: 0, output: "", errors: ""))
  }
}
