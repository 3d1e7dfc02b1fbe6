@testable import GatewayCore
import Testing

@testable import gatewayctl

/// `send` and `request`, by the real binary.
@Suite struct SendTests {
  @Test func sendPrintsItsResultIntoAPipe() throws {
    let daemon = try FakeDaemon { daemon in
      let client = try daemon.accept()
      let call = try client.call("send")
      let params = #"{"url":"https://c.example","event":"move","args":[3,"up",{"x":1.0}],"delivery":"accepted","#
      #expect(call.line.contains(params + #""ttl":60000,"no_queue":true,"compress":false,"key":"k1"}"#), "\(call.line)")
      client.reply(call, #"{"id":"x","state":"accepted"}"#)
    }
    let outcome = try ControlProgram.run(
      [
        "send", "https://c.example", "move", "3", "up", #"{"x":1.0}"#, "--ttl", "1m", "--no-queue", "--no-compress",
        "--key", "k1",
      ],
      socket: daemon.path)
    #expect(outcome == .init(status: 0, output: #"{"id":"x","state":"accepted"}"# + "\n", errors: ""))
    try daemon.finish()
  }

  @Test func sendTellsTheResultWhenAsked() throws {
    let daemon = try FakeDaemon { daemon in
      for _ in 0..<2 {
        let client = try daemon.accept()
        client.reply(try client.call("send"), #"{"id":"x","state":"accepted"}"#)
      }
    }
    let quiet = try ControlProgram.run(["send", "-q", "chat", "e"], socket: daemon.path)
    #expect(quiet == .init(status: 0, output: "", errors: ""))
    let verbose = try ControlProgram.run(["send", "-v", "chat", "e"], socket: daemon.path)
    let result = #"{"id":"x","state":"accepted"}"# + "\n"
    #expect(verbose == .init(status: 0, output: result, errors: "gatewayctl: accepted as x\n"))
    try daemon.finish()
  }

  @Test func theDaemonIsToldHowLongToWaitForTheServer() throws {
    let daemon = try FakeDaemon { daemon in
      var client = try daemon.accept()
      let send = try client.call("send")
      #expect(send.params["delivery"]?.stringValue == "acked")
      #expect((4_000...5_000).contains(send.params["timeout"]?.integerValue ?? 0))
      client.fail(send, .ackTimeout)
      client = try daemon.accept()
      let request = try client.call("request")
      #expect((9_000...10_000).contains(request.params["timeout"]?.integerValue ?? 0))
      #expect(request.params["delivery"] == nil)
      client.fail(request, .upstreamRefused)
    }
    #expect(try ControlProgram.run(["send", "--delivery", "acked", "chat", "e"], socket: daemon.path).status == 124)
    #expect(try ControlProgram.run(["request", "chat", "e"], socket: daemon.path).status == 73)
    try daemon.finish()
  }

  @Test func keywordArgumentsAreAnObject() throws {
    let daemon = try FakeDaemon { daemon in
      let client = try daemon.accept()
      let call = try client.call("send")
      #expect(call.line.contains(#""args":[1],"kwargs":{"b":1.50},"delivery""#), "\(call.line)")
      client.reply(call, #"{"id":"x","state":"accepted"}"#)
    }
    let arguments = ["send", "-q", "--kwargs", #"{"b":1.50}"#, "chat", "e", "1"]
    #expect(try ControlProgram.run(arguments, socket: daemon.path).status == 0)
    try daemon.finish()
    let outcome = try ControlProgram.run(["send", "--kwargs", "[1]", "chat", "e"], socket: daemon.path)
    #expect(outcome.status == 65 && outcome.errors.contains("no JSON object"))
  }

  @Test func partsOfTheAnswerArePrintedBeforeIt() throws {
    let daemon = try FakeDaemon { daemon in
      let client = try daemon.accept()
      let call = try client.call("request")
      client.notify("progress", #"{"id":\#(call.id),"args":[1,"a"]}"#)
      client.notify("progress", #"{"id":9999,"args":["other"]}"#)
      client.notify("progress", #"{"id":\#(call.id),"args":[],"kwargs":{"x":2}}"#)
      client.reply(call, #"{"args":[3],"kwargs":{"y":4}}"#)
    }
    let outcome = try ControlProgram.run(["request", "chat", "e"], socket: daemon.path)
    #expect(outcome == .init(status: 0, output: "1\n\"a\"\n{\"x\":2}\n3\n{\"y\":4}\n", errors: ""))
    try daemon.finish()
  }

  @Test func requestPrintsEachArgumentOfTheAnswer() throws {
    let daemon = try FakeDaemon { daemon in
      for args in [#"[{"name":"ann"},1.0,"\u00e9"]"#, "[]"] {
        let client = try daemon.accept()
        client.reply(try client.call("request"), #"{"args":\#(args)}"#)
      }
    }
    let full = try ControlProgram.run(["request", "chat", "whoami"], socket: daemon.path)
    #expect(full == .init(status: 0, output: #"{"name":"ann"}"# + "\n1.0\n" + #""\u00e9""# + "\n", errors: ""))
    #expect(
      try ControlProgram.run(["request", "chat", "x"], socket: daemon.path) == .init(status: 0, output: "", errors: ""))
    try daemon.finish()
  }

  @Test func inputThatIsNoJSONIsRefusedBeforeAnythingIsSent() throws {
    let outcome = try ControlProgram.run(["send", "chat", "e", #"{"a""#], socket: "/nonexistent")
    #expect(outcome.status == 65)
    #expect(outcome.errors.contains("argument 1 is no JSON: it ends too early, at byte 5"))
    #expect(try ControlProgram.run(["send", "chat", "e", "@/nonexistent"], socket: nil).status == 65)
    #expect(try ControlProgram.run(["send", "--delivery", "eternal", "chat", "e"], socket: nil).status == 64)
    #expect(try ControlProgram.run(["send", "--delivery", "bogus", "chat", "e"], socket: nil).status == 64)
  }

  @Test func aFileCanBeSentAsBinary() throws {
    let directory = TemporaryDirectory()
    let file = directory.file("file", [0, 255, 10])
    let daemon = try FakeDaemon { daemon in
      let client = try daemon.accept()
      let call = try client.call("send")
      #expect(call.line.contains(#""args":["a",{"$bin":"AP8K"}]"#))
      client.reply(call, #"{"id":"x","state":"accepted"}"#)
    }
    #expect(try ControlProgram.run(["send", "chat", "e", "--binary", file, "a"], socket: daemon.path).status == 0)
    try daemon.finish()
  }

  @Test func aFileThatFitsIntoNoLineIsNamedBeforeAnythingIsWritten() throws {
    let directory = TemporaryDirectory()
    let file = directory.file("file", [UInt8](repeating: 0x61, count: 4_000))
    let hello = #"{"server":"gatewayd/1.0.0","protocol":{"min":1,"max":1},"limits":{"line":4096}}"#
    let calls: [(words: [String], input: String, name: String, size: Int)] = [
      (["send", "chat", "e", "--text", file], "", "the file '\(file)'", 4_000),
      (["request", "chat", "e", "--binary", file], "", "the file '\(file)'", 4_000),
      (["send", "--raw", "chat", "e", "-"], String(repeating: "b", count: 4_001), "standard input", 4_001),
      (["call", "send", "-"], "{\"event\":\"\(String(repeating: "c", count: 4_090))\"}", "standard input", 4_102),
    ]
    let daemon = try FakeDaemon { daemon in
      for _ in calls { try daemon.accept(hello: hello).awaitEnd() }
      let client = try daemon.accept(hello: hello)
      client.reply(try client.call("send"), #"{"id":"x","state":"accepted"}"#)
    }
    for call in calls {
      let outcome = try ControlProgram.run(call.words, socket: daemon.path, input: call.input)
      #expect(outcome.status == 65)
      let beginning = "gatewayctl: \(call.name) has \(call.size) bytes, and the call would be a line of "
      #expect(outcome.errors.hasPrefix(beginning), "\(outcome)")
      #expect(outcome.errors.hasSuffix("takes 4096; \(advice)\n"), "\(outcome)")
    }
    // All that stands around the text of a file that just fits.
    let fitting = directory.file("other", [UInt8](repeating: 0x61, count: 3_900))
    let outcome = try ControlProgram.run(["send", "-q", "chat", "e", "--text", fitting], socket: daemon.path)
    #expect(outcome == .init(status: 0, output: "", errors: ""))
    try daemon.finish()
  }

  private let advice = "send it in smaller parts, or raise limits.line in the daemon's configuration"

  @Test func aLineOfManyThatIsTooLongIsNamedByItsNumber() throws {
    let hello = #"{"protocol":{"min":1,"max":1},"limits":{"line":4096}}"#
    let daemon = try FakeDaemon { daemon in
      let client = try daemon.accept(hello: hello)
      client.reply(try client.call("send"), #"{"id":"x","state":"accepted"}"#)
      try client.awaitEnd()
    }
    let long = "[\"\(String(repeating: "a", count: 5_000))\"]"
    let outcome = try ControlProgram.run(
      ["send", "--lines", "chat", "e"], socket: daemon.path, input: "[1]\n\(long)\n")
    #expect(outcome.status == 65)
    #expect(outcome.errors.hasPrefix("gatewayctl: line 2: the call would be a line of "), "\(outcome)")
    #expect(outcome.errors.hasSuffix("\(advice) (1 sent before it)\n"), "\(outcome)")
    try daemon.finish()
  }

  @Test func linesAreSentOneByOne() throws {
    let daemon = try FakeDaemon { daemon in
      let client = try daemon.accept()
      for args in ["[1]", #"["a", 2]"#] {
        let call = try client.call("send")
        #expect(call.line.contains(#""args":\#(args),"#))
        client.reply(call, #"{"id":"x","state":"accepted"}"#)
      }
      try client.awaitEnd()
    }
    let outcome = try ControlProgram.run(
      ["send", "--lines", "chat", "e"], socket: daemon.path, input: "[1]\n\n  [\"a\", 2]\r\n{\"no\":1}\n[3]\n")
    #expect(outcome.status == 65)
    #expect(
      outcome.errors
        == "gatewayctl: line 4: it is no JSON array; write [ and ] around the arguments (2 sent before it)\n")
    try daemon.finish()
  }

  @Test func linesGoOnAfterARestartInBetween() throws {
    let restarted = Moment()
    let daemon = try FakeDaemon { daemon in
      let first = try daemon.accept()
      first.reply(try first.call("send"), #"{"id":"x","state":"accepted"}"#)
      first.hangUp()
      restarted.happen()
      let second = try daemon.accept()
      let call = try second.call("send")
      #expect(call.line.contains(#""args":[2]"#))
      second.reply(call, #"{"id":"y","state":"accepted"}"#)
    }
    let program = try ControlProgram(["send", "-v", "--lines", "chat", "e"], socket: daemon.path)
    program.type("[1]\n")
    try program.awaitError(containing: "accepted as x")
    restarted.await()
    program.type("[2]\n")
    try program.awaitError(containing: "accepted as y")
    #expect(try program.finish().status == 0)
    try daemon.finish()
  }

  @Test(arguments: [
    ["send", "--lines", "--kwargs", "-", "chat", "e"], ["send", "--raw", "--kwargs", "-", "chat", "e", "-"],
    ["send", "--lines", "--auth", "-", "http://chat.example", "e"],
    ["replay", "--auth", "-", "-", "http://chat.example"],
  ])
  func whatStandardInputIsReadForTwiceIsNotLeftOut(_ words: [String]) throws {
    let outcome = try ControlProgram.run(words + ["--timeout", "100ms"], socket: "/nonexistent", input: "{}\n")
    #expect(outcome.status == 64 && outcome.output.isEmpty, "\(outcome)")
    #expect(outcome.errors.hasPrefix("gatewayctl: standard input can be read only once; "))
  }

  @Test func linesTakeNoOtherArguments() throws {
    #expect(try ControlProgram.run(["send", "--lines", "chat", "e", "1"], socket: nil).status == 64)
    #expect(try ControlProgram.run(["send", "--lines", "--raw", "chat", "e"], socket: nil).status == 64)
  }
}
