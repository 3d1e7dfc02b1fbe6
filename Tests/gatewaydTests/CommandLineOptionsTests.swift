import Testing

@testable import gatewayd

/// The daemon's command line.
struct CommandLineOptionsTests {
  private func message(_ arguments: String...) -> String? {
    do throws(StartFailure) {
      _ = try CommandLineOptions.parse(arguments)
      return nil
    } catch {
      return error.status == .usage ? error.message : "not a usage error"
    }
  }

  @Test func nothingMeansRun() throws {
    #expect(try CommandLineOptions.parse([]) == CommandLineOptions())
  }

  @Test func everyOptionIsUnderstood() throws {
    var wanted = CommandLineOptions()
    wanted.mode = .checkConfiguration
    wanted.configuration = "/a=b"
    wanted.socket = "-s"
    wanted.user = true
    #expect(
      try CommandLineOptions.parse(["--config=/a=b", "--socket", "-s", "--user", "--check-config"]) == wanted)
  }

  @Test func askingForHelpOrVersionWinsOverChecking() throws {
    #expect(try CommandLineOptions.parse(["--version", "--check-config"]).mode == .version)
    #expect(try CommandLineOptions.parse(["--check-config", "-h"]).mode == .help)
  }

  @Test func anUnknownOptionIsNamedWithTheNearestOne() {
    #expect(message("--sokcet") == "unknown option --sokcet: did you mean --socket?\n\(CommandLineOptions.usage)")
    #expect(message("--frobnicate") == "unknown option --frobnicate\n\(CommandLineOptions.usage)")
  }

  @Test func aMissingOrSuperfluousValueIsNamed() {
    #expect(message("--config") == "--config needs a value\n\(CommandLineOptions.usage)")
    #expect(message("--socket=") == "--socket needs a value\n\(CommandLineOptions.usage)")
    #expect(message("--user=yes") == "--user takes no value\n\(CommandLineOptions.usage)")
  }

  @Test func anythingButAnOptionIsRefused() {
    #expect(message("start")?.contains("\u{201C}start\u{201D}") == true)
    #expect(message("-")?.contains("\u{201C}-\u{201D}") == true)
  }

  @Test func wordsOfTheCommandLineSteerNoTerminal() {
    let usage = "\n\(CommandLineOptions.usage)"
    let none = "gatewayd takes no argument but options, and \u{201C}\\u001b[31m\\u000ax\u{201D} is none"
    #expect(message("\u{1b}[31m\nx") == none + usage)
    #expect(message("--\u{1b}[31m\nfrobnicate") == "unknown option --\\u001b[31m\\u000afrobnicate" + usage)
    let failure = StartFailure(.configuration, "/nonexist/\u{1b}[31m\nx names a directory")
    #expect(failure.message == "/nonexist/\\u001b[31m\\u000ax names a directory")
  }

  @Test func theHelpNamesEveryOption() {
    for option in ["--config FILE", "--socket PATH", "--user", "--check-config", "--version", "--help"] {
      #expect(CommandLineOptions.help.contains(option))
    }
  }
}
