@testable import GatewayCore
import Glibc
import Testing

@testable import gatewayctl

/// Commands that are one call and one answer, by the real binary.
@Suite struct CallTests {
  private func run(_ words: [String], _ answer: @escaping @Sendable (FakeClient) throws -> Void) throws
    -> ControlProgram.Outcome
  {
    let daemon = try FakeDaemon { try answer(try $0.accept()) }
    let outcome = try ControlProgram.run(words, socket: daemon.path)
    try daemon.finish()
    return outcome
  }

  @Test func pingTellsHowLongItTook() throws {
    let outcome = try run(["ping"]) { $0.reply(try $0.call("ping"), "{}") }
    #expect(outcome.status == 0)
    #expect(try JSONValue.parse(Array(outcome.output.utf8).span.bytes)["rtt"]?.doubleValue ?? -1 >= 0)
    #expect(outcome.errors.isEmpty)
    let quiet = try run(["ping", "-q"]) { $0.reply(try $0.call("ping"), "{}") }
    #expect(quiet == .init(status: 0, output: "", errors: ""))
  }

  @Test func theWordsOfAnApplicationsErrorAreMembersOfTheErrorOfJSON() throws {
    @Sendable func fail(_ client: FakeClient) throws {
      client.fail(
        try client.call("request"), .requestFailed, "It answered with the error no.money.",
        data: #","error":"no.money","args":["5\u001b needed",1.0],"kwargs":{"k":[]}"#)
    }
    let json = try run(["--json", "request", "chat", "pay"], fail)
    #expect(json.status == 1 && json.output.isEmpty)
    #expect(
      json.errors == #"{"error":{"exit":1,"message":"It answered with the error no.money: "#
        + #"5\u001b needed, 1.0, {\"k\":[]}","error":"no.money","args":["5\u001b needed",1.0],"kwargs":{"k":[]}}}"#
        + "\n")
    let line = try run(["request", "chat", "pay"], fail)
    #expect(
      line.errors == #"gatewayctl: It answered with the error no.money: 5\u001b needed, 1.0, {"k":[]}"# + "\n")
  }

  @Test func itSaysWhoItIs() throws {
    let daemon = try FakeDaemon { daemon in
      let client = try daemon.accept(hello: nil)
      let hello = try client.call("hello")
      #expect(
        hello.params
          == .object([
            .init("client", .string("gatewayctl/\(GatewayVersion.current)")), .init("protocol", .number("1")),
          ]))
      client.reply(hello, FakeClient.hello)
      client.reply(try client.call("ping"), "{}")
    }
    #expect(try ControlProgram.run(["ping"], socket: daemon.path).status == 0)
    try daemon.finish()
  }

  @Test(arguments: [
    (["send", "alpha", "e", "@wss://u:hunter2@h/x?t=tok3n"], "use --raw to send '@wss://h/x?t=***' as text"),
    (["send", "--wss://u:hunter2@h/x?t=tok3n"], "unknown option '--wss://h/x?***'"),
    (["subscribe", "alpha", "--record=wss://u:hunter2@h/x?t=tok3n"], "the file 'wss://h/x?t=***' cannot be written"),
  ])
  func aURLInAWrongPlaceKeepsItsSecrets(_ words: [String], _ said: String) throws {
    for words in [words, ["--json"] + words] {
      let outcome = try ControlProgram.run(words, socket: nil)
      #expect(outcome.status != 0 && outcome.errors.contains(said), "\(outcome)")
      #expect(!outcome.errors.contains("hunter2") && !outcome.errors.contains("tok3n"), "\(outcome)")
    }
  }

  @Test func aURLInThePlaceOfAMethodKeepsItsSecrets() throws {
    let outcome = try run(["call", "wss://u:hunter2@h"]) { client in
      let call = try client.call("wss://u:hunter2@h")
      client.fail(call, .methodNotFound, #"There is no method \"wss://u:hunter2@h\"."#)
    }
    #expect(outcome.errors.contains(#"There is no method "wss://h""#), "\(outcome)")
  }

  @Test func callPrintsTheRawResult() throws {
    let outcome = try run(["call", "clients.kick", #"{"client":"c7"}"#]) { client in
      let call = try client.call("clients.kick")
      #expect(call.line.hasSuffix(#""params":{"client":"c7"}}"#))
      client.reply(call, #"{"n":1.0,"é":"\u00e9"}"#)
    }
    #expect(outcome == .init(status: 0, output: #"{"n":1.0,"é":"\u00e9"}"# + "\n", errors: ""))
    let bad = try ControlProgram.run(["call", "ping", "{"], socket: "/nonexistent")
    #expect(bad.status == 65)
  }

  @Test(arguments: ["reconnect", "disconnect", "release"])
  func connectionsAreSteeredByURLOrName(_ method: String) throws {
    let named = try run([method, "chat", "--namespace", "/admin"]) { client in
      let call = try client.call(method)
      #expect(call.params == .object([.init("upstream", .string("chat")), .init("namespace", .string("/admin"))]))
      client.reply(call, #"{"state":"reconnecting"}"#)
    }
    #expect(named == .init(status: 0, output: #"{"state":"reconnecting"}"# + "\n", errors: ""))
    let url = try run([method, "https://chat.example/x"]) { client in
      let call = try client.call(method)
      #expect(call.params == .object([.init("url", .string("https://chat.example/x"))]))
      client.reply(call, #"{"state":"reconnecting"}"#)
    }
    #expect(url.status == 0)
  }

  @Test(arguments: LocalError.Kind.allCases)
  func everyErrorEndsWithOneLineAndItsExitCode(_ kind: LocalError.Kind) throws {
    let outcome = try run(["call", "status"]) { client in
      client.fail(try client.call("status"), kind, #"Two\nlines\u001b[31m"#)
    }
    #expect(outcome.status == ExitCode(kind).rawValue)
    #expect(outcome.output.isEmpty)
    #expect(outcome.errors.hasPrefix(#"gatewayctl: Two\u000alines\u001b[31m"#), "\(outcome)")
    #expect(outcome.errors.count(where: \.isNewline) == 1)
  }

  @Test func anErrorAboutTheLineEndsTheCall() throws {
    let outcome = try run(["ping"]) { client in
      _ = try client.call("ping")
      client.say(#"{"jsonrpc":"2.0","id":null,"error":{"code":-32012,"message":"Too long."}}"#)
    }
    #expect(outcome.status == 65)
  }

  @Test func aDaemonThatIsNotThereIsUnavailableAfterTheTimeLimit() throws {
    let outcome = try ControlProgram.run(["ping", "--timeout", "150ms"], socket: "/nonexistent/gatewayd.sock")
    #expect(outcome.status == 69)
    #expect(outcome.lines.isEmpty)
    #expect(
      outcome.errors.hasPrefix(
        "gatewayctl: no daemon answers at /nonexistent/gatewayd.sock: No such file or directory; "))
  }

  @Test(arguments: ["/etc/passwd", "/etc"])
  func aPathThatIsNoSocketIsSaidToBeNone(_ path: String) throws {
    let outcome = try ControlProgram.run(["ping"], socket: path)
    #expect(
      outcome
        == .init(
          status: 69, output: "", errors: "gatewayctl: \(path) is no socket; name gatewayd's with --socket PATH\n"))
  }

  @Test func aDaemonThatIsJustStartingIsWaitedFor() throws {
    let daemon = try FakeDaemon(listens: false) { daemon in
      usleep(150_000)  // The point of this test is that the program waits.
      try daemon.listen()
      let client = try daemon.accept()
      client.reply(try client.call("ping"), "{}")
    }
    #expect(try ControlProgram.run(["ping"], socket: daemon.path).status == 0)
    try daemon.finish()
  }

  @Test func aDaemonThatGoesInTheMiddleIsUnavailable() throws {
    let outcome = try run(["status"]) { client in
      _ = try client.call("status")
      client.hangUp()
    }
    #expect(outcome.status == 69)
    #expect(outcome.errors == "gatewayctl: the daemon closed the connection before it answered; try again\n")
  }

  @Test func aDaemonThatDoesNotAnswerIsATimeOut() throws {
    let outcome = try run(["status", "--timeout", "100ms"]) { client in
      _ = try client.call("status")
      try client.awaitEnd()
    }
    #expect(outcome.status == 124)
  }

  @Test func aDaemonThatIsStuckIsATimeOut() throws {
    let daemon = try FakeDaemon { try $0.accept(hello: nil).awaitEnd() }
    #expect(try ControlProgram.run(["ping", "--timeout", "100ms"], socket: daemon.path).status == 124)
    try daemon.finish()
  }

  @Test func anotherProtocolIsRecognised() throws {
    let web = try FakeDaemon { daemon in
      let client = try daemon.accept(hello: nil)
      client.say("HTTP/1.1 400 Bad Request\r")
      try client.awaitEnd()
    }
    #expect(try ControlProgram.run(["ping"], socket: web.path).status == 76)
    try web.finish()
    let newer = try FakeDaemon { daemon in
      let client = try daemon.accept(hello: #"{"server":"gatewayd/3","protocol":{"min":2,"max":3}}"#)
      try client.awaitEnd()
    }
    let outcome = try ControlProgram.run(["ping"], socket: newer.path)
    #expect(outcome.status == 76)
    #expect(outcome.errors.contains("the daemon speaks protocol 2 to 3, this gatewayctl 1"))
    try newer.finish()
    let strict = try FakeDaemon { daemon in
      let client = try daemon.accept(hello: nil)
      client.fail(try client.call("hello"), .invalidParams)
      try client.awaitEnd()
    }
    #expect(try ControlProgram.run(["ping"], socket: strict.path).status == 76)
    try strict.finish()
  }

  @Test func aSocketWithoutPermissionNamesItsGroup() throws {
    let error = SocketAccess.denied("/nonexistent")
    #expect(error.code == .permissionDenied)
    let directory = TemporaryDirectory()
    let path = directory.file("file", [])
    chmod(path, 0o660)
    #expect(SocketAccess.denied(path).message?.contains(SocketAccess.advice(mode: 0o660, group: getgid())) == true)
    let group = String(cString: getgrgid(1).pointee.gr_name)
    #expect(SocketAccess.advice(mode: 0o660, group: 1).contains("it is open to group '\(group)'"))
    chmod(path, 0o600)
    #expect(SocketAccess.denied(path).message?.contains("only its owner may use it") == true)
  }

  @Test func nobodyIsSentIntoTheGroupOfRoot() {
    #expect(
      SocketAccess.advice(mode: 0o660, group: 0)
        == "its group is that of root: use sudo, or name another group in socket.group of the daemon's configuration")
  }

  @Test func waitIsGivenTheTimeThatIsLeft() throws {
    let outcome = try run(["wait", "chat", "--timeout", "20s"]) { client in
      let call = try client.call("wait")
      #expect(call.params["state"]?.stringValue == "connected")
      #expect((15_000...20_000).contains(call.params["timeout"]?.integerValue ?? 0))
      client.reply(call, #"{"state":"connected"}"#)
    }
    #expect(outcome == .init(status: 0, output: #"{"state":"connected"}"# + "\n", errors: ""))
  }

  @Test func aDrainThatLeavesSomethingIsATimeOut() throws {
    for (left, status, words) in [
      (0, Int32(0), ""), (1, 124, "the time is over, and 1 send is left, and kept; "),
      (2, 124, "the time is over, and 2 sends are left, and kept; "),
    ] {
      let outcome = try run(["drain"]) { client in client.reply(try client.call("drain"), #"{"left":\#(left)}"#) }
      #expect(outcome.status == status)
      #expect(outcome.output == "{\"left\":\(left)}\n")
      #expect(words.isEmpty ? outcome.errors.isEmpty : outcome.errors.contains(words), "\(outcome)")
    }
  }

  @Test func reloadTellsEveryMistake() throws {
    let outcome = try run(["reload"]) { client in
      client.fail(
        try client.call("reload"), .invalidParams, "The new configuration has 2 problems.",
        data:
          #","problems":[{"file":"/etc/a.toml","line":3,"message":"one"},{"file":"/etc/a.toml","line":9,"message":"two"}]"#
      )
    }
    #expect(outcome.status == 78)
    #expect(
      outcome.errors == """
        gatewayctl: /etc/a.toml:3: one
        gatewayctl: /etc/a.toml:9: two
        gatewayctl: the configuration has 2 mistakes; correct it, the old one stays in force until then

        """)
    let missing = try run(["--json", "reload"]) { client in
      client.fail(
        try client.call("reload"), .invalidParams, "The new configuration has a problem.",
        data: #","problems":[{"file":"/etc/a.toml","line":0,"message":"does not exist"}]"#)
    }
    #expect(missing.errors.hasPrefix("gatewayctl: /etc/a.toml: does not exist\n"), "\(missing)")
    let many = try run(["reload"]) { client in
      client.fail(
        try client.call("reload"), .invalidParams, "The new configuration has 10 problems.",
        data:
          #","problems":[{"file":"/etc/a.toml","line":3,"message":"one"},{"file":"/etc/a.toml","line":0,"message":"9 more mistakes are not listed"}],"left_out":9"#
      )
    }
    #expect(many.errors.contains("/etc/a.toml: 9 more mistakes are not listed\n"), "\(many)")
    #expect(many.errors.contains("the configuration has 10 mistakes; "), "\(many)")
    let good = try run(["reload"]) { $0.reply(try $0.call("reload"), #"{"changed":["log"]}"#) }
    #expect(good == .init(status: 0, output: #"{"changed":["log"]}"# + "\n", errors: ""))
    let back = try run(["reload"]) { $0.reply(try $0.call("reload"), #"{"changed":["[fleet]"]}"#) }
    #expect(back.errors == "")
    let waiting = #"{"changed":["[fleet]"],"restart":["socket.mode","fleet.grace"]}"#
    let other = try run(["reload"]) { $0.reply(try $0.call("reload"), waiting) }
    #expect(
      other.errors == """
        gatewayctl: socket.mode, fleet.grace are used from the next start of the daemon on; restart it

        """)
    let warned = #"{"changed":["[access]"],"warnings":[{"file":"/etc/a.toml","line":3,"message":"one"}]}"#
    let doubtful = try run(["reload"]) { $0.reply(try $0.call("reload"), warned) }
    #expect(doubtful == .init(status: 0, output: warned + "\n", errors: "gatewayctl: /etc/a.toml:3: warning: one\n"))
  }

  @Test func listsAreOneObjectPerLine() throws {
    let connections = try run(["connections"]) { client in
      client.reply(try client.call("status"), #"{"daemon":{},"connections":[{"a":1.0},{"b":2}],"clients":[]}"#)
    }
    #expect(connections.lines == [#"{"a":1.0}"#, #"{"b":2}"#])
    let clients = try run(["clients"]) { $0.reply(try $0.call("clients.list"), #"{"clients":[{"client":"c1"}]}"#) }
    #expect(clients.lines == [#"{"client":"c1"}"#])
    let status = try run(["status", "chat"]) { client in
      let call = try client.call("status")
      #expect(call.params == .object([.init("upstream", .string("chat"))]))
      client.reply(call, #"{"daemon":{}, "connections":[]}"#)
    }
    #expect(status.lines == [#"{"daemon":{}, "connections":[]}"#])
  }

  @Test func interruptionIs130() throws {
    let daemon = try FakeDaemon { daemon in
      try daemon.accept(hello: nil).awaitEnd()
    }
    let program = try ControlProgram(["-v", "wait", "chat", "--timeout", "1m"], socket: daemon.path)
    try program.awaitError(containing: "waiting for")
    program.interrupt()
    #expect(try program.finish().status == 130)
    try daemon.finish()
  }

  @Test func helpAndVersionNeedNoDaemon() throws {
    let help = try ControlProgram.run(["help"], socket: nil)
    #expect(help.status == 0 && help.output.contains("Usage:"))
    #expect(try ControlProgram.run(["help", "config"], socket: nil).status == 64)
    #expect(try ControlProgram.run(["send", "--help"], socket: nil).output.hasPrefix("send: "))
    #expect(try ControlProgram.run(["version"], socket: nil).output == "gatewayctl \(GatewayVersion.current)\n")
    #expect(
      try ControlProgram.run(["--json", "version"], socket: nil).output == #"{"version":"\#(GatewayVersion.current)"}"#
        + "\n")
  }
}
