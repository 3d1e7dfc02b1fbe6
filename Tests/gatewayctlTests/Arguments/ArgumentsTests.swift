import Testing

@testable import gatewayctl

@Suite struct ArgumentsTests {
  private func parse(_ line: String) throws(Failure) -> Arguments {
    try CommandTable.parser.parse(line.split(separator: " ").map(String.init))
  }

  private func message(_ line: String) -> String? {
    do {
      _ = try parse(line)
      return nil
    } catch {
      #expect(error.code == .usage)
      return error.message
    }
  }

  @Test(arguments: [
    "--timeout 2s -v subscribe -n 3 chat message", "subscribe chat message --count=3 --timeout=2s --verbose",
    "-vn3 subscribe --timeout 2s chat message", "-n 3 subscribe chat --timeout 2s -v message",
  ])
  func optionsStandAnywhere(_ line: String) throws {
    let arguments = try parse(line)
    #expect(arguments.command == .subscribe)
    #expect(arguments.operands == ["chat", "message"])
    #expect(arguments.value(.count) == "3")
    #expect(arguments.value(.timeout) == "2s")
    #expect(arguments.has(.verbose))
  }

  @Test func twoDashesEndTheOptions() throws {
    let arguments = try parse("serve chat load --parallel 2 -- cut -c 1-4 --json")
    #expect(arguments.operands == ["chat", "load", "cut", "-c", "1-4", "--json"])
    #expect(arguments.value(.parallel) == "2")
    #expect(!arguments.has(.json))
  }

  @Test func aNegativeNumberIsNoOption() throws {
    #expect(try parse("send chat move -5 -").operands == ["chat", "move", "-5", "-"])
  }

  @Test func stateIsAFlagForSubscribeAndNamesOneForWait() throws {
    #expect(try parse("--state subscribe chat").operands == ["chat"])
    #expect(try parse("subscribe --state chat").operands == ["chat"])
    #expect(try parse("wait --state disconnected chat").value(.state) == "disconnected")
    #expect(try parse("--state disconnected wait chat").value(.state) == "disconnected")
  }

  @Test func aRepeatedOptionCountsTheLastTimeButFilesAddUp() throws {
    let arguments = try parse("send --key a chat e --binary x --key b --binary y")
    #expect(arguments.value(.key) == "b")
    #expect(arguments.values(.binary) == ["x", "y"])
  }

  @Test(arguments: [
    ("sned chat x", "unknown command 'sned'; did you mean 'send'?"),
    ("stat", "unknown command 'stat'; did you mean 'status'?"),
    ("xyzzy", "unknown command 'xyzzy'; see 'gatewayctl help'"),
    ("send --namspace /a chat x", "unknown option '--namspace'; did you mean '--namespace'?"),
    ("ping --lines", "unknown option '--lines'; see 'gatewayctl help ping'"),
    ("--lines", "unknown option '--lines'; see 'gatewayctl help'"),
    ("http://ann:hunter2@h/?key=tok3n", "unknown command 'http://h/?key=***'; see 'gatewayctl help'"),
    ("record chat", "unknown command 'record'; write gatewayctl subscribe --record FILE URL"),
    (
      "send --token x chat say",
      #"unknown option '--token'; write --auth '{"token":"…"}', or --auth @FILE"#
    ),
    ("send --once chat x", "unknown option '--once'; write -n 1"),
    ("send -H a chat x", "unknown option '-H'; write --header"),
    (
      "wait chat ready",
      "too many arguments for 'wait'; for an event, 'gatewayctl subscribe -n 1 --for 1m URL EVENT'"
    ),
    ("send -x chat", "unknown option '-x'; write -- before arguments that begin with a dash"),
    ("send --lines=yes chat x", "--lines takes no value; write it without '='"),
    ("ping --timeout", "--timeout needs a value; write --timeout DUR"),
    ("", "no command given; see 'gatewayctl help'"),
    ("--json", "no command given; see 'gatewayctl help'"),
    ("send chat", "too few arguments for 'send'; usage: gatewayctl send [OPTION…] URL EVENT [ARG…]"),
    ("ping chat", "too many arguments for 'ping'; usage: gatewayctl ping [OPTION…]"),
  ])
  func mistakesAreNamedWithTheRemedy(_ line: String, _ expected: String) {
    #expect(message(line) == expected)
  }

  @Test func noFamiliarWordIsOneThatTheProgramHas() {
    #expect(FamiliarWords.commands.keys.filter { CommandName(rawValue: $0) != nil } == [])
    let options = CommandTable.specifications.flatMap(\.allOptions)
    let taken = Set(options.map(\.name.rawValue) + options.compactMap { $0.short.map(String.init) })
    #expect(FamiliarWords.options.keys.filter(taken.contains) == [])
  }

  @Test(arguments: CommandTable.later.map(\.name))
  func commandsOfLaterVersionsAreKnownByName(_ name: String) {
    let text = message("\(name) list --whatever")
    #expect(text?.hasPrefix("'\(name)' is not available in this version; ") == true)
  }

  @Test func helpCanBeAskedForEverywhere() throws {
    #expect(try parse("send --help") == Arguments(.help, operands: ["send"]))
    #expect(try parse("-h subscribe").operands == ["subscribe"])
    #expect(try parse("--help").command == .help)
    #expect(try parse("--version").command == .version)
  }

  @Test func optionValuesAreChecked() throws {
    let arguments = try parse("subscribe chat -n 0 --on-gap fial --timeout 5")
    #expect(throws: Failure(.usage, "--count: '0' is not accepted; write a whole number, at least 1")) {
      try arguments.count(.count, in: 1...(.max))
    }
    #expect(throws: Failure(.usage, "--on-gap: unknown value 'fial'; did you mean 'fail'?")) {
      try arguments.choice(.onGap, of: GapPolicy.self)
    }
    #expect(throws: Failure(.usage, "--timeout: '5' has no unit; write 5ms or 5s")) {
      try arguments.duration(.timeout)
    }
  }
}
