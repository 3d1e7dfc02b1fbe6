import Testing

@testable import gatewayctl

/// `doctor`: findings as they come, and the exit code of the first failure.
@Suite struct DoctorTests {
  private func run(
    _ step: String, _ code: String, _ verdict: String = "failed", of server: String = "chat",
    advice: String = "Do that."
  ) throws -> ControlProgram.Outcome {
    let finding =
      #"{"step":"\#(step)","verdict":"\#(verdict)","code":"\#(code)","seen":"It is so.","advice":"\#(advice)","took":3}"#
    let daemon = try FakeDaemon { daemon in
      let client = try daemon.accept()
      let call = try client.call("doctor")
      client.say(#"{"jsonrpc":"2.0","method":"progress","params":{"id":99,"args":[{"step":"of another call"}]}}"#)
      client.say(#"{"jsonrpc":"2.0","method":"progress","params":{"id":\#(call.id),"args":[\#(finding)]}}"#)
      client.reply(call, #"{"verdict":"\#(verdict)","steps":[\#(finding)]}"#)
    }
    let outcome = try ControlProgram.run(["doctor", server], socket: daemon.path)
    try daemon.finish()
    return outcome
  }

  @Test func eachFindingIsALineAndAFailureAnError() throws {
    let outcome = try run("tcp", "tcp.refused")
    #expect(
      outcome.output
        == #"{"step":"tcp","verdict":"failed","code":"tcp.refused","seen":"It is so.","advice":"Do that.","took":3}"#
        + "\n")
    #expect(outcome.errors == "gatewayctl: chat does not work: It is so. Do that.\n")
  }

  @Test(arguments: [
    ("tcp", "tcp.refused", 69), ("name", "name.unknown", 69), ("tls", "tls.expired", 69), ("tcp", "tcp.silent", 124),
    ("http", "http.slow", 124), ("sticky", "sticky.time", 124), ("name", "name.turn", 124),
    ("http", "http.web_page", 76),
    ("http", "http.path", 76),
    ("http", "http.busy", 69), ("http", "http.forbidden", 73), ("engine", "engine.none", 76),
    ("auth", "auth.refused", 73),
    ("auth", "auth.missing", 69), ("namespace", "namespace.unknown", 73), ("namespace", "namespace.failed", 69),
    ("auth", "auth.unusable", 69), ("proxy", "proxy.file", 69), ("handshake", "handshake.http", 76),
    ("handshake", "handshake.incompatible", 76), ("handshake", "handshake.failed", 69),
    ("handshake", "handshake.forbidden", 73), ("handshake", "handshake.busy", 69),
    ("handshake", "handshake.server_error", 69),
  ])
  func theCodeOfTheFailureDecides(_ step: String, _ code: String, _ exit: Int32) throws {
    #expect(try run(step, code).status == exit)
  }

  @Test func aWarningIsNoFailure() throws {
    #expect(try run("sticky", "sticky.lost", "warning").status == 0)
  }

  @Test func adviceAboutAURLNamesOptionsAndAboutAnUpstreamSettings() throws {
    let advice = "Give them with `auth`, or set `lines.login`."
    #expect(
      try run("auth", "auth.refused", advice: advice).errors.hasSuffix("Give them with `auth`, or set `lines.login`.\n")
    )
    let ofURL = try run("auth", "auth.refused", of: "http://chat.example", advice: advice)
    #expect(ofURL.errors.hasSuffix("Give them with --auth, or set `lines.login`.\n"))
  }

  @Test func aCredentialInTheURLIsNotPrinted() throws {
    let outcome = try run("tcp", "tcp.refused", of: "http://ann:hunter2@127.0.0.1:9/adm?key=tok3n")
    #expect(outcome.errors == "gatewayctl: http://127.0.0.1:9/adm?key=*** does not work: It is so. Do that.\n")
  }

  @Test func aPersonReadsColumns() throws {
    var view = DoctorView(palette: Palette(isColored: false))
    #expect(view.lines(try finding("tcp")) == "ok       tcp         Fine.\n")
  }

  private func finding(_ step: String) throws -> RawJSONObject {
    try #require(
      RawJSONObject(Array(#"{"step":"\#(step)","verdict":"ok","code":"ok","seen":"Fine.","advice":null}"#.utf8)))
  }

  @Test func theLongestNameOfAFleetsStepsMovesNoColumn() throws {
    var view = DoctorView(palette: Palette(isColored: false))
    let lines = try ["fleet.redis", "fleet.replicas", "tcp"].map { view.lines(try finding($0)) }
    #expect(
      lines == [
        "ok       fleet.redis    Fine.\n", "ok       fleet.replicas Fine.\n", "ok       tcp            Fine.\n",
      ])
  }
}
