import Testing

@testable import gatewayctl

/// What a person sees, by the real binary on a pseudo-terminal.
@Suite struct TerminalTests {
  private static let status = #"""
    {"daemon":{"version":"1.0.0","uptime":11520000,"pid":7,"rss":19000000,"longest_turn":1500,"state":"running"},"connections":[
    {"upstream":"chat","url":"https://chat.example","namespace":"/","state":"connected","leases":3,"queue":{"count":0},
    "in":{"events":12},"out":{"events":4},"rtt":0.84,"transport":"websocket","verified":true,
    "time":{"offset":-132,"error":4,"samples":7,"source":"request","followed":true}},
    {"upstream":null,"url":"https://b.example","namespace":"/x","state":"disconnected","reason":"refused",
    "detail":"bad \u001b[31mtoken","rule":"reconnect","why":"It is used.","attempt":2,"next":3500,"leases":1,"queue":{"count":5},
    "in":{"events":0},"out":{"events":0},"rtt":null,"transport":null,"verified":false}],
    "clients":[{"client":"c1","name":"backup","uid":1000,"pid":99,"subscriptions":1,"requests":0,"queue":{"count":0},
    "dropped":0}]}
    """#.replacing("\n", with: "")

  private func run(_ words: [String], _ method: String, environment: [String: String] = [:]) throws
    -> ControlProgram.Outcome
  {
    let daemon = try FakeDaemon { daemon in
      let client = try daemon.accept()
      client.reply(try client.call(method), method == "ping" ? "{}" : Self.status)
    }
    let outcome = try ControlProgram.run(
      words, socket: daemon.path, environment: environment, terminal: try PseudoTerminal())
    try daemon.finish()
    return outcome
  }

  @Test func statusIsATable() throws {
    let outcome = try run(["status", "--no-color"], "status")
    #expect(
      outcome.output.replacing("\r\n", with: "\n") == #"""
        gatewayd 1.0.0  running  up 3 h 12 min  pid 7  18.1 MiB  longest delay 1.5 ms

        UPSTREAM  URL                   STATE         FOR  USED BY  WAITING  IN  OUT  PING    TRANSPORT
        chat      https://chat.example  connected     -    3        0        12  4    0.8 ms  websocket
          events have the server's time, 132 ms behind this machine's (give or take 4 ms)
        -         https://b.example /x  disconnected  -    1        5        0   0    -       -
          refused: bad \u001b[31mtoken
          attempt 3 in 3 s
          the certificate is not verified

        CLIENT  NAME    UID   PID  FOR  SUBS  CALLS  UNREAD  DROPPED
        c1      backup  1000  99   -    1     0      0       0

        """#)
  }

  @Test func tablesFitTheTerminal() throws {
    let daemon = try FakeDaemon { daemon in
      let client = try daemon.accept()
      client.reply(try client.call("status"), Self.status)
    }
    let outcome = try ControlProgram.run(
      ["status", "--no-color"], socket: daemon.path, terminal: try PseudoTerminal(columns: 91))
    try daemon.finish()
    let lines = outcome.output.replacing("\r\n", with: "\n").split(separator: "\n")
    #expect(lines.allSatisfy { TextWidth.of(String($0)) <= 91 }, "\(outcome)")
    #expect(lines.contains { $0.hasPrefix("chat      https://ch…ample  connected ") }, "\(outcome)")
  }

  @Test func aFindingOfTheDoctorIsSaidOnce() throws {
    let finding =
      #"{"step":"tcp","verdict":"failed","code":"tcp.refused","seen":"It is so.","advice":"Do that.","took":3}"#
    let daemon = try FakeDaemon { daemon in
      let client = try daemon.accept()
      let call = try client.call("doctor")
      client.say(#"{"jsonrpc":"2.0","method":"progress","params":{"id":\#(call.id),"args":[\#(finding)]}}"#)
      client.reply(call, #"{"verdict":"failed","steps":[\#(finding)]}"#)
    }
    let outcome = try ControlProgram.run(
      ["doctor", "--no-color", "chat"], socket: daemon.path, terminal: try PseudoTerminal())
    try daemon.finish()
    #expect(outcome.errors == "gatewayctl: chat does not work: see the step 'tcp' above\n")
    #expect(outcome.output == "failed   tcp         It is so.\r\n                     Do that.\r\n")
  }

  @Test func statesAreColoured() throws {
    let outcome = try run(["connections"], "status", environment: ["TERM": "xterm"])
    #expect(outcome.output.contains("\u{1b}[32mconnected\u{1b}[0m"))
    #expect(outcome.output.contains("\u{1b}[31mdisconnected\u{1b}[0m"))
    #expect(try !run(["connections"], "status", environment: ["NO_COLOR": "1"]).output.contains("\u{1b}"))
  }

  @Test func jsonCanBeAskedForOnATerminal() throws {
    let outcome = try run(["status", "--json"], "status")
    #expect(outcome.output.hasPrefix(#"{"daemon":{"#))
  }

  @Test func theTableCanBeAskedForWithoutATerminal() throws {
    let shown = try run(["status", "--no-color"], "status").output.replacing("\r\n", with: "\n")
    let daemon = try FakeDaemon { daemon in
      let client = try daemon.accept()
      client.reply(try client.call("status"), Self.status)
    }
    let outcome = try ControlProgram.run(["status", "--table"], socket: daemon.path)
    try daemon.finish()
    #expect(outcome == .init(status: 0, output: shown, errors: ""))
    for other in ["--json", "--check"] {
      let outcome = try ControlProgram.run(["status", "--table", other], socket: daemon.path)
      #expect(outcome.status == 64 && outcome.errors.contains("--table and \(other) contradict each other"))
    }
  }

  @Test func confirmationsAreSentences() throws {
    let outcome = try run(["ping"], "ping")
    #expect(outcome.output.hasPrefix("the daemon answered in "))
    #expect(try run(["ping", "-q"], "ping").output.isEmpty)
  }

  @Test func eventsCannotSteerTheTerminal() throws {
    let daemon = try FakeDaemon { daemon in
      let client = try daemon.accept()
      client.begin(try client.call("subscribe"))
      client.event(11, args: "[\"\u{9b}31m\u{7f}ä\"]")
      try client.awaitEnd()
    }
    let outcome = try ControlProgram.run(
      ["subscribe", "-n1", "--args-only", "chat"], socket: daemon.path, terminal: try PseudoTerminal())
    #expect(outcome.output == #"["\u009b31m\u007fä"]"# + "\r\n")
    try daemon.finish()
  }
}
