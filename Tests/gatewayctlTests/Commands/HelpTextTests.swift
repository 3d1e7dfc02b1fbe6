import Testing

@testable import gatewayctl

@Suite struct HelpTextTests {
  private let help = HelpText(palette: Palette(isColored: false))

  @Test func theOverviewNamesEveryCommandOptionAndExitCode() {
    let text = help.overview()
    for command in CommandName.allCases { #expect(text.contains("\n  \(command.rawValue) "), "\(command)") }
    for option in OptionSpecification.common { #expect(text.contains("\n  \(option.synopsis)\n"), "\(option)") }
    for code in ExitCode.allCases { #expect(text.contains("\n  \(code.rawValue) "), "\(code)") }
    for later in CommandTable.later { #expect(!text.contains("\n  \(later.name) "), "\(later)") }
  }

  @Test(arguments: CommandName.allCases)
  func everyCommandIsExplainedInFull(_ name: CommandName) throws {
    let command = CommandTable.command(name).specification
    let text = help.page(command)
    #expect(text.contains(command.usage))
    #expect(!command.details.isEmpty && !command.examples.isEmpty)
    for option in command.allOptions { #expect(text.contains("\n  \(option.synopsis)\n"), "\(option)") }
    for example in command.examples { #expect(text.contains("\n  \(example.line)\n"), "\(example)") }
  }

  @Test(arguments: CommandName.allCases)
  func onlyWhoAsksTheDaemonGivesUpOnIt(_ name: CommandName) {
    let text = help.page(CommandTable.command(name).specification)
    let isLimited = text.contains("Gives up after") || text.contains("There is no time limit")
    #expect(isLimited == ![.completion, .version, .help].contains(name))
  }

  @Test func everyNameBelongsToACommand() {
    for name in CommandName.allCases { #expect(CommandTable.command(name).specification.name == name) }
  }

  @Test func everyOptionBelongsToACommand() {
    let used = Set(CommandTable.specifications.flatMap { $0.allOptions.map(\.name) })
    #expect(used == Set(OptionName.allCases))
  }

  @Test func everyExampleIsAValidCommandLine() throws {
    for example in CommandTable.specifications.flatMap(\.examples) {
      let words = example.line.split(separator: " ").map(String.init)
      let start = try #require(words.firstIndex(of: "gatewayctl"), "\(example)")
      let end = words[start...].firstIndex { ["|", "&&", ">"].contains($0) } ?? words.endIndex
      #expect(throws: Never.self, "\(example)") { try CommandTable.parser.parse(Array(words[(start + 1)..<end])) }
    }
  }

  @Test(arguments: CommandName.allCases)
  func linesFitAnOrdinaryTerminal(_ name: CommandName) throws {
    let command = CommandTable.command(name).specification
    let examples = Set(command.examples.map { "  \($0.line)" })
    for line in help.page(command).split(separator: "\n") where !examples.contains(String(line)) {
      #expect(TextWidth.of(String(line)) <= TextWidth.ordinary, "\(line)")
    }
  }
}
