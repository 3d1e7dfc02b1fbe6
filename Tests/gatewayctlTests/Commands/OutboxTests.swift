@testable import GatewayCore
import Testing

/// `outbox`, by the real binary.
@Suite struct OutboxTests {
  /// Nothing listens there: a command that asks the daemon ends with another code.
  private func refused(_ words: [String]) throws -> String {
    let outcome = try ControlProgram.run(words + ["--timeout", "100ms"], socket: "/nonexistent")
    #expect(outcome.status == 64 && outcome.output.isEmpty, "\(words): \(outcome)")
    return outcome.errors
  }

  @Test(arguments: [
    ["outbox", "purge", "--namespace", "/other"], ["outbox", "cancel", "s1", "--namespace", "/elsewhere"],
    ["outbox", "retry", "s1", "--namespace", "/"], ["outbox", "list", "--namespace", "/"],
    ["outbox", "--namespace", ""], ["status", "--namespace", "/typo"], ["status", "--check", "--namespace", "/typo"],
    ["fleet", "--namespace", "/"], ["fleet", "leave", "--namespace", "/a"],
    ["fleet", "forget", "edge-1", "--namespace", "/a"],
  ])
  func aNamespaceWithoutItsUpstreamIsRefusedAndNotLeftOut(_ words: [String]) throws {
    let errors = try refused(words)
    #expect(errors.hasPrefix("gatewayctl: --namespace goes with an upstream, and none is named; "), "\(errors)")
  }

  @Test(arguments: [["--auth", "{}"], ["--path", "/x/"], ["--insecure"]])
  func whatElseSaysSomethingOfAServerIsRefusedWithoutOne(_ option: [String]) throws {
    let errors = try refused(["outbox", "purge"] + option)
    #expect(errors == "gatewayctl: \(option[0]) goes with an upstream, and none is named; add --upstream URL\n")
  }

  @Test(arguments: ["", ",", "queued,", ",lost", "queued,,lost"])
  func anEmptyStateIsRefusedAndDoesNotMeanEveryState(_ states: String) throws {
    for verb in ["list", "cancel", "retry", "purge"] {
      let errors = try refused(["outbox", verb, "s1", "--state", states])
      #expect(errors.hasPrefix("gatewayctl: --state: unknown value ''; write queued, "), "\(errors)")
    }
  }

  @Test(arguments: ["cancel", "retry", "purge"])
  func aCountIsRefusedByWhatListsNothing(_ verb: String) throws {
    let errors = try refused(["outbox", verb, "s1", "-n", "5"])
    #expect(
      errors
        == "gatewayctl: outbox \(verb): -n goes with list alone; name ids, or choose with --upstream and --state\n")
  }

  @Test func whatNarrowsAPurgeIsSent() throws {
    let daemon = try FakeDaemon { daemon in
      let client = try daemon.accept()
      let call = try client.call("outbox.purge")
      #expect(
        call.params
          == .object([
            .init("upstream", .string("chat")), .init("namespace", .string("/other")),
            .init("ids", .array([.string("s1")])), .init("states", .array([.string("queued"), .string("lost")])),
          ]))
      client.reply(call, #"{"count":1}"#)
    }
    let outcome = try ControlProgram.run(
      ["outbox", "purge", "s1", "--upstream", "chat", "--namespace", "/other", "--state", "queued,lost"],
      socket: daemon.path)
    #expect(outcome == .init(status: 0, output: #"{"count":1}"# + "\n", errors: ""))
    try daemon.finish()
  }
}
