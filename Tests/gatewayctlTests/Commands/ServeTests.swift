@testable import GatewayCore
import Glibc
import Testing

@testable import gatewayctl

/// `serve`, by the real binary. The fake daemon's end is the end of the program, by `--no-reconnect`.
@Suite struct ServeTests {
  private func serve(
    _ options: [String], _ command: [String], _ script: @escaping @Sendable (FakeClient) throws -> Void
  )
    throws -> ControlProgram.Outcome
  {
    let daemon = try FakeDaemon { daemon in
      let client = try daemon.accept()
      let call = try client.call("subscribe")
      #expect(call.line.hasSuffix(#""params":{"upstream":"chat","events":["load"],"state":true,"answer":true}}"#))
      client.begin(call)
      try script(client)
    }
    let outcome = try ControlProgram.run(
      ["serve", "--no-reconnect"] + options + ["chat", "load", "--"] + command, socket: daemon.path)
    try daemon.finish()
    return outcome
  }

  private func respond(_ client: FakeClient, _ expected: String) throws {
    let call = try client.call("respond")
    #expect(call.line.hasSuffix(#""params":\#(expected)}"#), "\(call.line)")
    client.reply(call, "{}")
  }

  @Test func theOutputIsTheAnswer() throws {
    let outcome = try serve([], ["cat"]) { client in
      client.event(11, "load", args: #"[1.0,"\u00e9"]"#, ack: "a1")
      try respond(client, #"{"ack":"a1","args":[[1.0,"\u00e9"]]}"#)
      client.event(12, "load", args: "[]")
      client.event(13, "load", args: "[2]", ack: "a3")
      try respond(client, #"{"ack":"a3","args":[[2]]}"#)
    }
    #expect(outcome.status == 69)
    #expect(outcome.output.isEmpty)
    #expect(outcome.errors.count(where: \.isNewline) == 1)
  }

  @Test func nothingPrintedIsAnAnswerWithoutArguments() throws {
    let outcome = try serve([], ["true"]) { client in
      client.event(11, "load", args: "[1]", ack: "a1")
      try respond(client, #"{"ack":"a1","args":[]}"#)
    }
    #expect(outcome.status == 69)
  }

  @Test func aFailureCanBeAnswered() throws {
    let outcome = try serve(["--error", "no.load"], ["sh", "-c", "echo 7; exit 3"]) { client in
      client.event(11, "load", args: "[1]", ack: "a1")
      try respond(client, #"{"ack":"a1","args":[7],"error":"no.load"}"#)
    }
    #expect(outcome.errors.contains("ended with exit code 3; answering with the error no.load"))
  }

  @Test func allArgumentsCanBePrinted() throws {
    let outcome = try serve(["--args"], ["sh", "-c", "printf '[1,\\n2]'"]) { client in
      client.event(11, "load", ack: "a1")
      try respond(client, #"{"ack":"a1","args":[1, 2]}"#)
    }
    #expect(outcome.status == 69)
  }

  @Test func aFailureIsAnsweredWithAnError() throws {
    let command = #"case $GATEWAY_SEQ in 11) echo 7; exit 3;; 12) echo hello;; 13) kill -9 $$;; *) echo 4;; esac"#
    let outcome = try serve([], ["sh", "-c", command]) { client in
      for seq in 11...14 { client.event(seq, "load", ack: "a\(seq)") }
      try respond(client, #"{"ack":"a11","args":[7],"error":"command_failed"}"#)
      try respond(client, #"{"ack":"a12","args":[],"error":"command_failed"}"#)
      try respond(client, #"{"ack":"a13","args":[],"error":"command_failed"}"#)
      try respond(client, #"{"ack":"a14","args":[4]}"#)
    }
    let lines = outcome.errors.split(separator: "\n")
    let answering = "; answering with the error command_failed where the upstream has errors"
    #expect(lines.count == 4)
    #expect(lines[0] == "gatewayctl: the command for event 11 ended with exit code 3\(answering)")
    #expect(lines[1].hasPrefix("gatewayctl: the command for event 12: what it printed is no JSON"))
    #expect(lines[1].hasSuffix("; one JSON value is needed, text in quotes, as 'jq -Rs .' prints it\(answering)"))
    #expect(lines[2] == "gatewayctl: the command for event 13 was killed by signal 9\(answering)")
  }

  @Test func anUpstreamWithoutErrorsIsNoReasonToComplainTwice() throws {
    for options in [[], ["-v"], ["--error", "no"]] {
      let outcome = try serve(options, ["false"]) { client in
        client.event(11, "load", ack: "a1")
        client.fail(try client.call("respond"), .invalidParams, "It has no errors")
        client.hangUp()
      }
      let isSaid = outcome.errors.contains("the answer to event 11 was not sent: It has no errors")
      #expect(isSaid == !options.isEmpty, "\(outcome)")
    }
  }

  @Test func aCommandThatCannotBeStartedIsAnsweredWithAnError() throws {
    let directory = TemporaryDirectory()
    let file = directory.file("file", Array("#!/nonexistent/interpreter\n".utf8))
    chmod(file, 0o755)
    let outcome = try serve([], [file]) { client in
      client.event(11, "load", ack: "a1")
      try respond(client, #"{"ack":"a1","args":[],"error":"command_failed"}"#)
    }
    #expect(outcome.errors.hasPrefix("gatewayctl: event 11: '\(file)' cannot be run: No such file"), "\(outcome)")
  }

  @Test func anAnswerThatFitsIntoNoLineIsAnError() throws {
    let hello = #"{"protocol":{"min":1,"max":1},"limits":{"line":4096}}"#
    let daemon = try FakeDaemon { daemon in
      let client = try daemon.accept(hello: hello)
      client.begin(try client.call("subscribe"))
      client.event(11, "load", ack: "a1")
      try respond(client, #"{"ack":"a1","args":[],"error":"command_failed"}"#)
    }
    let command = ["serve", "--no-reconnect", "chat", "load", "--", "sh", "-c", "printf '\"%05000d\"' 7"]
    let outcome = try ControlProgram.run(command, socket: daemon.path)
    #expect(outcome.errors.contains("the answer to event 11: the call would be a line of "), "\(outcome)")
    try daemon.finish()
  }

  @Test func aCommandThatFailsAnswersNothingWhereThatIsWanted() throws {
    let command = #"case $GATEWAY_SEQ in 11) echo '"x"'; exit 3;; 12) echo hello;; 13) kill -9 $$;; *) echo 4;; esac"#
    let outcome = try serve(["--no-error"], ["sh", "-c", command]) { client in
      for seq in 11...14 { client.event(seq, "load", ack: "a\(seq)") }
      try respond(client, #"{"ack":"a14","args":[4]}"#)
    }
    let lines = outcome.errors.split(separator: "\n")
    #expect(lines.count == 4)
    #expect(lines[0] == "gatewayctl: the command for event 11 ended with exit code 3; the server gets no answer")
    #expect(lines[1].hasPrefix("gatewayctl: the command for event 12: what it printed is no JSON"))
    #expect(lines[2] == "gatewayctl: the command for event 13 was killed by signal 9; the server gets no answer")
  }

  @Test func anAnswerThatComesTooLateIsReported() throws {
    let outcome = try serve([], ["cat"]) { client in
      client.event(11, "load", ack: "a1")
      client.fail(try client.call("respond"), .ackGone, "Nobody waits for it")
      client.hangUp()
    }
    #expect(outcome.errors.hasPrefix("gatewayctl: the answer to event 11 was not sent: Nobody waits for it\n"))
  }

  @Test func severalCommandsRunAtATime() throws {
    // Each command ends only after the other has begun: one alone would wait for ever.
    let directory = TemporaryDirectory()
    let (mine, other) = ("\(directory.path)/file", "\(directory.path)/other")
    let command =
      "if [ $GATEWAY_SEQ = 11 ]; then : >\(mine); while ! [ -e \(other) ]; do sleep 0.01; done; "
      + "else while ! [ -e \(mine) ]; do sleep 0.01; done; : >\(other); fi; echo $GATEWAY_SEQ"
    let outcome = try serve(["--parallel", "2"], ["sh", "-c", command]) { client in
      client.event(11, "load", ack: "a1")
      client.event(12, "load", ack: "a2")
      let answers = try [client.call("respond"), client.call("respond")].compactMap { $0.params["args"]?.text }
      #expect(answers.sorted() == ["[11]", "[12]"])
    }
    #expect(outcome.status == 69)
  }

  @Test func aRestartOfTheDaemonIsSurvived() throws {
    let daemon = try FakeDaemon { daemon in
      let before = try daemon.accept()
      before.begin(try before.call("subscribe"))
      before.hangUp()
      let after = try daemon.accept()
      let call = try after.call("subscribe")
      #expect(call.params["answer"]?.boolValue == true)
      #expect(call.params["since"]?.text == #"{"epoch":"e7","seq":10}"#)
      after.begin(call)
      after.event(11, "load", ack: "a1")
      let answer = try after.call("respond")
      after.reply(answer, "{}")
    }
    let program = try ControlProgram(["serve", "chat", "load", "--", "echo", "5"], socket: daemon.path)
    try program.awaitError(containing: "connected again where it was")
    try daemon.finish()
    program.interrupt()
    #expect(try program.finish().status == 130)
  }

  @Test func aCommandThatDoesNotExistIsAUsageError() throws {
    let outcome = try ControlProgram.run(["serve", "chat", "load", "--", "/nonexistent/x"], socket: "/nonexistent")
    #expect(outcome.status == 64)
    #expect(outcome.errors == "gatewayctl: '/nonexistent/x' cannot be run: No such file or directory; check its name\n")
  }
}
