/// The help text, made from the table of commands.
struct HelpText {
  let palette: Palette
  /// Columns that a line fills at most.
  static let width = 80

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
    text += "\nOptions may stand anywhere; -- ends them. 'gatewayctl help COMMAND' explains a command.\n"
    return text
  }

  /// `gatewayctl help COMMAND`.
  func page(_ command: CommandSpecification) -> String {
    var text = "\(command.name.rawValue): \(command.summary).\n\n"
    text += heading("Usage") + "  \(command.usage)\n"
    let timeLimit = command.name.asksDaemon ? [timeLimit(command)] : []
    for paragraph in command.details + timeLimit { text += "\n" + Self.wrapped(paragraph, indent: 0) }
    if !command.options.isEmpty { text += "\n" + heading("Options") + options(command.options) }
    text += "\n" + heading("Options of every command") + options(OptionSpecification.common)
    text += "\n" + heading("Examples")
    for example in command.examples { text += "  # \(example.purpose)\n  \(example.line)\n" }
    return text
  }

  private func timeLimit(_ command: CommandSpecification) -> String {
    guard let limit = command.defaultTimeout else {
      return "There is no time limit; --timeout sets one for reaching the daemon."
    }
    return "Gives up after \(DurationText.write(limit)) unless --timeout says otherwise."
  }

  private func heading(_ title: String) -> String { palette.paint("\(title):", .heading) + "\n" }

  private func list(_ commands: [CommandSpecification]) -> String {
    commands.reduce("") { $0 + item($1.name.rawValue, $1.summary, column: 13) }
  }

  private func options(_ options: [OptionSpecification]) -> String {
    options.reduce("") { text, option in
      text + "  \(option.synopsis)\n" + Self.wrapped(option.summary, indent: 6)
    }
  }

  private func item(_ name: String, _ meaning: String, column: Int) -> String {
    "  \(name)" + String(repeating: " ", count: max(1, column - name.count)) + meaning + "\n"
  }

  /// Lines of at most `width` columns, each behind `indent` spaces.
  static func wrapped(_ text: String, indent: Int) -> String {
    let margin = String(repeating: " ", count: indent)
    var result = ""
    var line = ""
    for word in text.split(separator: " ") {
      if !line.isEmpty, indent + TextWidth.of(line) + 1 + TextWidth.of(String(word)) > width {
        result += margin + line + "\n"
        line = ""
      }
      line += (line.isEmpty ? "" : " ") + word
    }
    return result + margin + line + "\n"
  }
}
