@testable import GatewayCore
import Testing

/// `status --check`, by the real binary.
@Suite struct StatusTests {
  private func check(
    _ words: [String] = [], _ script: @escaping @Sendable (FakeClient) throws -> Void
  ) throws -> ControlProgram.Outcome {
    let daemon = try FakeDaemon { try script(try $0.accept()) }
    let outcome = try ControlProgram.run(["status", "--check"] + words, socket: daemon.path)
    try daemon.finish()
    return outcome
  }

  private static func down(_ name: String) -> String {
    #"{"daemon":{},"connections":[{"upstream":"\#(name)","state":"disconnected","reason":"refused","needed":true}]}"#
  }

  @Test func aDaemonThatGoesAwayBeforeItAnswersIsCritical() throws {
    let outcome = try check { client in
      _ = try client.call("status")
      client.hangUp()
    }
    #expect(outcome.status == 2)
    #expect(outcome.output.hasPrefix("GATEWAYD CRITICAL: the daemon closed the connection before it answered"))
    #expect(outcome.errors.isEmpty)
  }

  @Test func aDaemonThatGoesAwayBetweenTwoAnswersIsCritical() throws {
    let outcome = try check(["a", "b"]) { client in
      client.reply(try client.call("status"), #"{"daemon":{},"connections":[]}"#)
      _ = try client.call("status")
      client.hangUp()
    }
    #expect(outcome.status == 2)
  }

  @Test func aDaemonThatDoesNotAnswerInTimeIsCritical() throws {
    let outcome = try check(["--timeout", "100ms"]) { client in
      _ = try client.call("status")
      try client.awaitEnd()
    }
    #expect(outcome.status == 2)
  }

  @Test(arguments: [LocalError.Kind.upstreamUnknown, .permissionDenied])
  func whatTheDaemonDoesNotTellIsUnknown(_ kind: LocalError.Kind) throws {
    let outcome = try check(["chat"]) { $0.fail(try $0.call("status"), kind) }
    #expect(outcome.status == 3)
    #expect(outcome.output.hasPrefix("GATEWAYD UNKNOWN: It failed; "))
  }

  @Test func anUpstreamThatIsUnknownHidesNoOtherThatIsDown() throws {
    let outcome = try check(["nowhere", "chat"]) { client in
      client.fail(try client.call("status"), .upstreamUnknown)
      let call = try client.call("status")
      #expect(call.params["upstream"] == .string("chat"))
      client.reply(call, Self.down("chat"))
    }
    #expect(outcome.status == 2)
    #expect(outcome.output.hasPrefix("GATEWAYD CRITICAL: chat is down (refused); It failed; "))
  }

  @Test func credentialsFromStandardInputGoWithEachURL() throws {
    let auth = JSONValue.object([.init("token", .string("t"))])
    let daemon = try FakeDaemon { daemon in
      let client = try daemon.accept()
      for url in ["https://a.example", "https://b.example"] {
        let call = try client.call("status")
        #expect(call.params == .object([.init("url", .string(url)), .init("auth", auth)]))
        client.reply(call, #"{"daemon":{},"connections":[]}"#)
      }
    }
    let outcome = try ControlProgram.run(
      ["status", "--check", "https://a.example", "https://b.example", "--auth", "-"], socket: daemon.path,
      input: #"{"token":"t"}"#)
    #expect(outcome.status == 3)
    #expect(outcome.errors.isEmpty)
    try daemon.finish()
  }
}
