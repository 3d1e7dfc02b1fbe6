/// `help [COMMAND]`.
enum HelpCommand: Subcommand {
  static let specification = CommandSpecification(
    name: .help, operands: "[COMMAND]", choices: CommandName.allCases.map(\.rawValue), operandCount: 0...1,
    summary: "list the commands, or explain one",
    details: ["The same as 'gatewayctl COMMAND --help'."],
    examples: [.init("About subscribe", "gatewayctl help subscribe")],
    asksDaemon: false)

  static func run(_ context: Context) throws(Failure) -> ExitCode {
    let help = HelpText(
      palette: context.settings.palette, width: min(context.settings.columns ?? .max, TextWidth.ordinary))
    guard let word = context.arguments.operands.first else {
      context.output.text(help.overview())
      return .done
    }
    // The parser knows what to say about words that are no commands.
    let command =
      try CommandTable.parser.parse([word, "--help"]).operands.first.flatMap(CommandName.named) ?? .help
    context.output.text(help.page(CommandTable.command(command).specification))
    return .done
  }
}

/// The help text, made from the table of commands.
struct HelpText {
  let palette: Palette
  /// Columns that a line fills at most.
  var width = TextWidth.ordinary

  /// `gatewayctl help`.
  func overview() -> String {
    var text = "Talk to Socket.IO servers through gatewayd.\n\n"
    text += heading("Usage") + "  gatewayctl [OPTION…] COMMAND …\n"
    text += "\n" + heading("Move messages") + list(CommandTable.traffic)
    text += "\n" + heading("Look and steer") + list(CommandTable.operations)
    text += "\n" + heading("Options of every command") + options(OptionSpecification.common)
    text += "\n" + heading("Exit codes")
    for code in ExitCode.allCases { text += item("\(code.rawValue)", code.meaning, column: 5) }
    text += "\n" + heading("Examples")
    text += "  gatewayctl send https://chat.example message \"hello there\"\n"
    text += "  gatewayctl request https://chat.example whoami\n"
    text += "  gatewayctl subscribe https://chat.example\n"
    text += "  gatewayctl subscribe -n 1 --for 1m https://chat.example ready\n"
    text += "  gatewayctl send --auth @token.json https://chat.example/admin say hi\n"
    text += "  gatewayctl doctor https://chat.example\n"
    text += "\nOptions may stand anywhere; -- ends them. 'gatewayctl help COMMAND' explains a command.\n"
    return text
  }

  /// `gatewayctl help COMMAND`.
  func page(_ command: CommandSpecification) -> String {
    var text = "\(command.name.rawValue): \(command.summary).\n\n"
    text += heading("Usage") + "  \(command.usage)\n"
    let timeLimit = command.asksDaemon ? [Self.timeLimit(command)] : []
    for paragraph in command.details + timeLimit {
      text += "\n" + TextWidth.wrapped(paragraph, indent: 0, width: width)
    }
    if !command.options.isEmpty { text += "\n" + heading("Options") + options(command.options) }
    text += "\n" + heading("Options of every command") + options(OptionSpecification.common)
    text += "\n" + heading("Examples")
    for example in command.examples { text += "  # \(example.purpose)\n  \(example.line)\n" }
    return text
  }

  /// How long a command that asks the daemon goes on, as a sentence.
  static func timeLimit(_ command: CommandSpecification) -> String {
    guard let limit = command.defaultTimeout else {
      return "There is no time limit; --timeout sets one for reaching the daemon."
    }
    return "Gives up after \(DurationText.write(limit)) unless --timeout says otherwise."
  }

  private func heading(_ title: String) -> String { palette.paint("\(title):", .heading) + "\n" }

  private func list(_ commands: [CommandName]) -> String {
    commands.reduce("") { $0 + item($1.rawValue, CommandTable.command($1).specification.summary, column: 13) }
  }

  private func options(_ options: [OptionSpecification]) -> String {
    options.reduce("") { text, option in
      text + "  \(option.synopsis)\n" + TextWidth.wrapped(option.summary, indent: 6, width: width)
    }
  }

  private func item(_ name: String, _ meaning: String, column: Int) -> String {
    let indent = max(column, name.count + 1) + 2
    let text = TextWidth.wrapped(meaning, indent: indent, width: width)
    return "  \(name)" + text.dropFirst(2 + name.count)
  }
}
