/// `help [COMMAND]`.
enum HelpCommand {
  static func run(_ context: Context) throws(Failure) -> ExitCode {
    let help = HelpText(palette: context.settings.palette)
    guard let word = context.arguments.operands.first else {
      context.output.text(help.overview())
      return .done
    }
    // The parser knows what to say about words that are no commands.
    let command = try Arguments.parse([word, "--help"]).operands.first.flatMap { CommandName(rawValue: $0) } ?? .help
    guard let specification = CommandTable.specification(of: command) else { return .internalError }
    context.output.text(help.page(specification))
    return .done
  }
}
