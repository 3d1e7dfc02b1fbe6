@testable import GatewayCore
import Glibc
import Testing

@testable import gatewayctl

/// `subscribe`, by the real binary.
@Suite struct SubscribeTests {
  private let first = #"{"event":"chat","args":[1.0],"seq":11,"epoch":"e7","time":1795232601218}"#

  @Test func eventsAreLinesAndCountEnds() throws {
    let daemon = try FakeDaemon { daemon in
      let client = try daemon.accept()
      let call = try client.call("subscribe")
      #expect(call.line.hasSuffix(#""params":{"upstream":"chat","events":["a*","b"],"state":true}}"#))
      client.begin(call)
      client.event(11, args: "[1.0]")
      client.event(12, "other", args: "[]")
      client.event(13)
      try client.awaitEnd()
    }
    let outcome = try ControlProgram.run(["subscribe", "-n", "2", "chat", "a*", "b"], socket: daemon.path)
    #expect(outcome.status == 0)
    #expect(outcome.lines == [first, #"{"event":"other","args":[],"seq":12,"epoch":"e7","time":1795232601218}"#])
    #expect(outcome.errors.isEmpty)
    try daemon.finish()
  }

  @Test func aSubscriptionThatComesBackEntersWhatItEntered() throws {
    let said =
      #""enter":[{"event":"join","args":["a"]},{"event":"feed","args":[]}],"leave":[{"event":"leave","args":["a"]}]"#
    let daemon = try FakeDaemon { daemon in
      for _ in 0..<2 {
        let client = try daemon.accept()
        let call = try client.call("subscribe")
        #expect(call.line.contains(said))
        client.begin(call)
        client.event(11)
      }
    }
    let outcome = try ControlProgram.run(
      ["subscribe", "-n2", "--enter", #"["join","a"]"#, "--enter", #"["feed"]"#, "--leave", #"["leave","a"]"#, "chat"],
      socket: daemon.path)
    #expect(outcome.status == 0)
    try daemon.finish()
  }

  @Test func onlyArgumentsAndStatesOnRequest() throws {
    let daemon = try FakeDaemon { daemon in
      let client = try daemon.accept()
      let call = try client.call("subscribe")
      #expect(call.params == .object([.init("url", .string("https://c.example")), .init("state", .bool(true))]))
      client.begin(call, state: "created")
      client.notify("state", #"{"subscription":"s1","state":"connected","epoch":"e9"}"#)
      client.event(11, args: "[1.0]")
      client.event(12)
      try client.awaitEnd()
    }
    let outcome = try ControlProgram.run(
      ["subscribe", "--state", "--args-only", "-n2", "https://c.example"], socket: daemon.path)
    #expect(
      outcome.lines == [
        #"{"state":"created","epoch":"e7"}"#, #"{"state":"connected","epoch":"e9"}"#, "[1.0]", "[]",
      ])
    try daemon.finish()
  }

  /// A host that has not read yet what its fleet has is in an epoch of its own.
  @Test func eventsHaveTheEpochOfTheSubscriptionAndNotThatOfAState() throws {
    let daemon = try FakeDaemon { daemon in
      let client = try daemon.accept()
      let call = try client.call("subscribe")
      client.begin(call)
      client.notify("state", #"{"subscription":"s1","state":"reconnecting","epoch":"e9"}"#)
      client.event(11, args: "[1.0]")
      try client.awaitEnd()
    }
    let outcome = try ControlProgram.run(["subscribe", "--since", "e7:10", "-n1", "chat"], socket: daemon.path)
    #expect(outcome.lines == [first])
    try daemon.finish()
  }

  @Test(arguments: [
    (["--since", "e:7:4100"], #"{"epoch":"e:7","seq":4100}"#, "since"), (["--last", "5"], "5", "last"),
  ])
  func theBeginningCanBeChosen(_ options: [String], _ value: String, _ key: String) throws {
    let daemon = try FakeDaemon { daemon in
      let client = try daemon.accept()
      let call = try client.call("subscribe")
      #expect(call.params[key]?.text == value)
      client.begin(call)
      client.event(11)
    }
    #expect(try ControlProgram.run(["subscribe", "-n1", "chat"] + options, socket: daemon.path).status == 0)
    try daemon.finish()
  }

  @Test func itResumesAfterARestartOfTheDaemon() throws {
    let daemon = try FakeDaemon { daemon in
      let before = try daemon.accept()
      before.begin(try before.call("subscribe"))
      before.event(11, args: "[1.0]")
      before.notify("goodbye", #"{"reason":"restart","reconnect_in":50}"#)
      daemon.stopListening()
      before.hangUp()
      try daemon.listen()
      let after = try daemon.accept()
      let call = try after.call("subscribe")
      #expect(call.params["since"]?.text == #"{"epoch":"e7","seq":11}"#)
      after.begin(call, seq: 12, recovered: true)
      after.event(12)
      try after.awaitEnd()
    }
    let outcome = try ControlProgram.run(["subscribe", "-n2", "chat"], socket: daemon.path)
    #expect(outcome.status == 0)
    #expect(outcome.lines.count == 2 && outcome.lines[0] == first)
    #expect(
      outcome.errors == """
        gatewayctl: the daemon closed the connection (restart); connecting again
        gatewayctl: connected again where it was

        """)
    try daemon.finish()
  }

  @Test func whatCannotBeResumedIsAGapWithANewEpoch() throws {
    let daemon = try FakeDaemon { daemon in
      let before = try daemon.accept()
      before.begin(try before.call("subscribe"))
      before.event(11, args: "[1.0]")
      before.hangUp()
      let after = try daemon.accept()
      let call = try after.call("subscribe")
      after.begin(call, epoch: "e8", seq: 0, recovered: false)
      after.notify("gap", #"{"subscription":"s1","epoch":"e8","reason":"upstream"}"#)
      after.event(1)
      after.hangUp()
      let last = try daemon.accept()
      let again = try last.call("subscribe")
      #expect(again.params["since"]?.text == #"{"epoch":"e8","seq":1}"#)
      last.begin(again)
      last.event(2)
      try last.awaitEnd()
    }
    let outcome = try ControlProgram.run(["subscribe", "-n3", "chat"], socket: daemon.path)
    #expect(outcome.lines.map { $0.contains(#""epoch":"e8""#) } == [false, true, true])
    #expect(
      outcome.errors.contains(
        "gatewayctl: gap: events may have been missed: the connection to the server was interrupted\n"))
    try daemon.finish()
  }

  @Test func aGapMayEndTheSubscription() throws {
    let daemon = try FakeDaemon { daemon in
      let client = try daemon.accept()
      client.begin(try client.call("subscribe"))
      client.event(11, args: "[1.0]")
      client.notify(
        "gap", #"{"subscription":"s1","epoch":"e7","from":12,"to":13,"count":2,"reason":"slow_consumer"}"#)
      client.event(14)
      try client.awaitEnd()
    }
    let outcome = try ControlProgram.run(["subscribe", "--on-gap", "fail", "chat"], socket: daemon.path)
    #expect(outcome.status == 74)
    #expect(outcome.lines == [first])
    #expect(outcome.errors.hasPrefix("gatewayctl: gap: 2 events missed, 12 to 13: "))
    try daemon.finish()
  }

  @Test func aResumeBehindAGapAsksForWhatFollowsIt() throws {
    let daemon = try FakeDaemon { daemon in
      let before = try daemon.accept()
      before.begin(try before.call("subscribe"))
      before.notify("gap", #"{"subscription":"s1","epoch":"e7","from":11,"to":20,"count":2,"reason":"slow_consumer"}"#)
      before.hangUp()
      let after = try daemon.accept()
      let call = try after.call("subscribe")
      #expect(call.params["since"]?.text == #"{"epoch":"e7","seq":20}"#)
      after.begin(call)
      after.event(21)
    }
    #expect(try ControlProgram.run(["subscribe", "-n1", "chat"], socket: daemon.path).status == 0)
    try daemon.finish()
  }

  @Test func theTimeIsUpBeforeTheCount() throws {
    let script: FakeDaemon.Script = { daemon in
      let client = try daemon.accept()
      client.begin(try client.call("subscribe"))
      client.event(11)
      try client.awaitEnd()
    }
    let counted = try FakeDaemon(script)
    let outcome = try ControlProgram.run(["subscribe", "-n", "2", "--for", "200ms", "chat"], socket: counted.path)
    #expect(outcome.status == 124)
    #expect(outcome.lines.count == 1)
    #expect(outcome.errors == "gatewayctl: 1 of 2 events came within 200ms; give it more with --for\n")
    try counted.finish()
    let uncounted = try FakeDaemon(script)
    #expect(try ControlProgram.run(["subscribe", "--for", "200ms", "chat"], socket: uncounted.path).status == 0)
    try uncounted.finish()
    #expect(try ControlProgram.run(["subscribe", "--for", "100ms", "chat"], socket: "/nonexistent").status == 69)
  }

  @Test func aDaemonThatNeverAnswersIsNoSuccessWhenTheTimeIsUp() throws {
    let daemon = try FakeDaemon { daemon in
      let client = try daemon.accept(hello: nil)
      _ = try client.call("hello")
      _ = try client.call("subscribe")
      try client.awaitEnd()
    }
    let outcome = try ControlProgram.run(["subscribe", "--for", "200ms", "chat"], socket: daemon.path)
    #expect(
      outcome
        == .init(
          status: 124, output: "",
          errors: "gatewayctl: the daemon did not answer 'subscribe' in time, and may still carry it out; "
            + "give it more with --for\n"))
    try daemon.finish()
  }

  @Test func aTimeLimitIsForReachingTheDaemon() throws {
    #expect(try ControlProgram.run(["subscribe", "--timeout", "100ms", "chat"], socket: "/nonexistent").status == 69)
    let daemon = try FakeDaemon { daemon in
      let client = try daemon.accept()
      _ = try client.call("subscribe")
      try client.awaitEnd()
    }
    #expect(try ControlProgram.run(["subscribe", "--timeout", "100ms", "chat"], socket: daemon.path).status == 124)
    try daemon.finish()
  }

  @Test func withoutReconnectingTheLossIsTheEnd() throws {
    let daemon = try FakeDaemon { daemon in
      let client = try daemon.accept()
      client.begin(try client.call("subscribe"))
      client.event(11, args: "[1.0]")
      client.hangUp()
    }
    let outcome = try ControlProgram.run(["subscribe", "--no-reconnect", "chat"], socket: daemon.path)
    #expect(outcome.status == 69)
    #expect(outcome.lines == [first])
    try daemon.finish()
  }

  @Test func refusalsAtTheBeginningAreFinal() throws {
    let daemon = try FakeDaemon { daemon in
      for kind in [LocalError.Kind.permissionDenied, .quotaExceeded, .upstreamUnknown] {
        let client = try daemon.accept()
        client.fail(try client.call("subscribe"), kind)
      }
    }
    let statuses = try (0..<3).map { _ in try ControlProgram.run(["subscribe", "chat"], socket: daemon.path).status }
    #expect(statuses == [77, 75, 69])
    try daemon.finish()
  }

  @Test func aDaemonThatIsStillStoppingIsTriedAgain() throws {
    let daemon = try FakeDaemon { daemon in
      var client = try daemon.accept()
      client.begin(try client.call("subscribe"))
      client.hangUp()
      client = try daemon.accept()
      client.fail(try client.call("subscribe"), .draining)
      client = try daemon.accept()
      client.begin(try client.call("subscribe"))
      client.event(11)
    }
    #expect(try ControlProgram.run(["subscribe", "-n1", "chat"], socket: daemon.path).status == 0)
    try daemon.finish()
  }

  @Test func beingKickedIsFinal() throws {
    let daemon = try FakeDaemon { daemon in
      let client = try daemon.accept()
      client.begin(try client.call("subscribe"))
      client.notify("goodbye", #"{"reason":"kicked","reconnect_in":null}"#)
      client.hangUp()
    }
    #expect(try ControlProgram.run(["subscribe", "chat"], socket: daemon.path).status == 1)
    try daemon.finish()
  }

  @Test func aReaderThatGoesAwayEndsItQuietly() throws {
    let daemon = try FakeDaemon { daemon in
      let client = try daemon.accept()
      client.begin(try client.call("subscribe"))
      client.event(11, args: "[1.0]")
      try client.awaitEnd()
    }
    let program = try ControlProgram(["subscribe", "chat"], socket: daemon.path)
    #expect(try program.line() == first)
    program.closeOutput()
    #expect(try program.finish() == .init(status: 0, output: "", errors: ""))
    try daemon.finish()
  }

  @Test func aRecordingWhoseReaderHasGoneIsNoSuccess() throws {
    let directory = TemporaryDirectory()
    let fifo = "\(directory.path)/file"
    try #require(mkfifo(fifo, 0o600) == 0)
    let reader = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    let daemon = try FakeDaemon { daemon in
      let client = try daemon.accept()
      let call = try client.call("subscribe")
      // The recording is open by now.
      close(reader)
      client.begin(call)
      client.event(11)
      try client.awaitEnd()
    }
    let outcome = try ControlProgram.run(["subscribe", "--record", fifo, "chat"], socket: daemon.path)
    #expect(outcome.status == 74)
    #expect(
      outcome.errors
        == "gatewayctl: the file '\(fifo)' cannot be written: Broken pipe; what was to be recorded is lost\n")
    try daemon.finish()
  }

  @Test func interruptionIs130() throws {
    let daemon = try FakeDaemon { daemon in
      let client = try daemon.accept()
      client.begin(try client.call("subscribe"))
      client.event(11, args: "[1.0]")
      try client.awaitEnd()
    }
    let program = try ControlProgram(["subscribe", "chat"], socket: daemon.path)
    _ = try program.line()
    program.interrupt()
    #expect(try program.finish().status == 130)
    try daemon.finish()
  }

  @Test func aCommandRunsForEachEvent() throws {
    let daemon = try FakeDaemon { daemon in
      let client = try daemon.accept()
      client.begin(try client.call("subscribe"))
      client.event(11, "a b", args: "[1.0]")
      client.event(12, "c")
      client.event(13, "d")
      try client.awaitEnd()
    }
    let command =
      #"read -r line; echo "$GATEWAY_EVENT|$GATEWAY_SEQ|$GATEWAY_EPOCH|$GATEWAY_TIME|$GATEWAY_URL|$line"; "#
      + #"test "$GATEWAY_SEQ" != 12"#
    let outcome = try ControlProgram.run(["subscribe", "-n3", "--exec", command, "chat"], socket: daemon.path)
    #expect(outcome.status == 0)
    #expect(outcome.lines.first == "a b|11|e7|1795232601218|chat|" + first.replacing(#""chat""#, with: #""a b""#))
    #expect(outcome.lines.count == 3)
    #expect(outcome.errors == "gatewayctl: the command for event 12 ended with exit code 1; going on\n")
    try daemon.finish()
  }

  @Test func whatIsTooLongForAnEnvironmentIsLeftOutOfItAndTheCommandRuns() throws {
    let name = String(repeating: "n", count: 200_000)
    let daemon = try FakeDaemon { daemon in
      let client = try daemon.accept()
      client.begin(try client.call("subscribe"))
      client.event(11, name)
      client.event(12)
      try client.awaitEnd()
    }
    let command = #"echo "${GATEWAY_EVENT-none} $GATEWAY_SEQ $HOME"; wc -c"#
    let outcome = try ControlProgram.run(
      ["subscribe", "-n2", "--exec", command, "chat"], socket: daemon.path,
      environment: ["GATEWAY_EVENT": "inherited", "HOME": "/home/ann"])
    #expect(outcome.errors.isEmpty)
    let sizes = [name, "chat"].enumerated().map { index, name in
      #"{"event":"\#(name)","args":[],"seq":\#(11 + index),"epoch":"e7","time":1795232601218}"#.utf8.count + 1
    }
    #expect(outcome.lines == ["none 11 /home/ann", "\(sizes[0])", "chat 12 /home/ann", "\(sizes[1])"])
    try daemon.finish()
  }

  // A sanitizer keeps what is freed for a while.
  @Test(.enabled(if: getenv("GATEWAY_SANITIZE") == nil))
  func theMemoryOfExecDoesNotGrowWithItsEvents() throws {
    let kwargs = #"{"k":"\#(String(repeating: "x", count: 90_000))"}"#
    let daemon = try FakeDaemon { daemon in
      let client = try daemon.accept()
      client.begin(try client.call("subscribe"))
      for number in 1...160 {
        client.notify(
          "event",
          #"{"subscription":"s1","seq":\#(number),"time":1,"event":"e","args":[],"kwargs":\#(kwargs)}"#)
      }
      try client.awaitEnd()
    }
    let outcome = try ControlProgram.run(
      ["subscribe", "-n160", "--exec", "exec grep RssAnon /proc/$PPID/status", "chat"], socket: daemon.path)
    let sizes = outcome.lines.compactMap { line in Int(line.filter(\.isNumber)) }
    #expect(sizes.count == 160)
    // In KiB. What waits for its turn was read at the beginning.
    #expect((sizes.last ?? 0) - (sizes.first ?? 0) < 6_000)
    try daemon.finish()
  }

  @Test func aCommandIsNotLeftBehindWhenTheDaemonGoes() throws {
    let daemon = try FakeDaemon { daemon in
      let client = try daemon.accept()
      client.begin(try client.call("subscribe"))
      client.event(11)
    }
    let outcome = try ControlProgram.run(
      ["subscribe", "--no-reconnect", "--exec", "sleep 0.3; echo done", "chat"], socket: daemon.path)
    #expect(outcome.status == 69)
    #expect(outcome.lines == ["done"])
    try daemon.finish()
  }

  @Test func aCommandMayIgnoreItsInput() throws {
    let large = "[\"" + String(repeating: "x", count: 500_000) + "\"]"
    let daemon = try FakeDaemon { daemon in
      let client = try daemon.accept()
      client.begin(try client.call("subscribe"))
      client.event(11, args: large)
      client.event(12, args: large)
      try client.awaitEnd()
    }
    let outcome = try ControlProgram.run(
      ["subscribe", "-n2", "--exec", "test $GATEWAY_SEQ = 11 || wc -c", "chat"], socket: daemon.path)
    #expect(outcome.status == 0)
    let line = #"{"event":"chat","args":\#(large),"seq":12,"epoch":"e7","time":1795232601218}"#
    #expect(outcome.output == "\(line.utf8.count + 1)\n")
    try daemon.finish()
  }

  @Test(arguments: [
    ["-n", "0"], ["--since", "e7"], ["--since", ":7"], ["--since", "e7:x"], ["--since", "e:1", "--last", "2"],
    ["--since", "e7:9007199254740992"], ["--since", String(repeating: "e", count: 129) + ":7"],
    ["--on-gap", "stop"], ["--for", "3"],
  ])
  func mistakesInOptionsAreUsageErrors(_ options: [String]) throws {
    #expect(try ControlProgram.run(["subscribe", "chat"] + options, socket: "/nonexistent").status == 64)
  }
}
