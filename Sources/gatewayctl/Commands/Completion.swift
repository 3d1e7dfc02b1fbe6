/// `completion bash`.
enum CompletionCommand: Subcommand {
  static let specification = CommandSpecification(
    name: .completion, operands: "bash", choices: Completion.Shell.allCases.map(\.rawValue), operandCount: 1...1,
    summary: "print a script that completes command lines in a shell",
    details: [
      "The script knows the commands, their options and the words that some of them take. An installation has it already; "
        + "otherwise load it where the shell begins."
    ],
    examples: [
      .init(
        "For yourself",
        "gatewayctl completion bash | install -D /dev/stdin ~/.local/share/bash-completion/completions/gatewayctl")
    ],
    asksDaemon: false)

  static func run(_ context: Context) throws(Failure) -> ExitCode {
    let word = context.arguments.operands.first ?? ""
    guard let shell = Completion.Shell(rawValue: word) else {
      let words = Completion.Shell.allCases.map(\.rawValue).joined(separator: " or ")
      throw Failure(.usage, "completion: unknown shell '\(word)'; write \(words)")
    }
    context.output.text(Completion.script(for: shell))
    return .done
  }
}

/// The script that completes command lines of `gatewayctl` in bash, made from the tables that its parser reads.
enum Completion {
  /// The shells that there is a script for.
  enum Shell: String, CaseIterable, Sendable {
    case bash
  }

  static func script(for shell: Shell) -> String {
    switch shell {
    case .bash: bash
    }
  }

  private static var bash: String {
    """
    # Completes command lines of gatewayctl in bash: the output of 'gatewayctl completion bash'.
    _gatewayctl() {
      local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
      local command= skip= word words= operands=0
      [[ $current != '=' ]] || current=
      [[ $previous != '=' ]] || previous=${COMP_WORDS[COMP_CWORD - 2]}
      COMPREPLY=()
      for word in "${COMP_WORDS[@]:1:COMP_CWORD - 1}"; do
        if [[ $word == '=' ]]; then skip=1; continue; fi
        if [[ -n $skip ]]; then skip=; continue; fi
        case "$word" in
          --) return ;;
          \(valued.joined(separator: "|")))
            case "$command $word" in \(flags.map { "\($0)) ;; " }.joined())*) skip=1 ;; esac ;;
          -*) ;;
          *) if [[ -z $command ]]; then command=$word; else operands=$((operands + 1)); fi ;;
        esac
      done
      case "$command" in
        '') words="\(commands) \(words(OptionSpecification.common))" ;;
    \(CommandTable.specifications.map(choice).joined())  esac
      COMPREPLY=($(compgen -W "$words" -- "$current"))
    }
    complete -F _gatewayctl gatewayctl

    """
  }

  private static var commands: String { CommandTable.specifications.map(\.name.rawValue).joined(separator: " ") }

  /// Every way to write an option that has a value, with one command at least.
  private static var valued: [String] {
    let options = OptionSpecification.common + CommandTable.specifications.flatMap(\.options)
    var seen: Set<String> = []
    return options.filter { $0.value != nil }.flatMap(forms).filter { seen.insert($0).inserted }
  }

  /// The commands with which one of those has none, as `'subscribe --state'`.
  private static var flags: [String] {
    let valued = Set(valued)
    return CommandTable.specifications.flatMap { command in
      command.allOptions.filter { $0.value == nil }.flatMap(forms).filter { valued.contains($0) }
        .map { "'\(command.name.rawValue) \($0)'" }
    }
  }

  private static func forms(_ option: OptionSpecification) -> [String] {
    ["--\(option.name.rawValue)"] + (option.short.map { ["-\($0)"] } ?? [])
  }

  private static func words(_ options: [OptionSpecification]) -> String {
    options.map { "--\($0.name.rawValue)" }.joined(separator: " ")
  }

  /// What may follow a command: behind an option its value, else an operand that is known, or an option.
  private static func choice(_ command: CommandSpecification) -> String {
    var text = "    \(command.name.rawValue))\n      words=\"\(words(command.allOptions))\"\n"
    if !command.choices.isEmpty {
      text += "      [[ $operands != 0 ]] || words+=\" \(command.choices.joined(separator: " "))\"\n"
    }
    text += "      case \"$previous\" in\n"
    for option in command.allOptions where option.value != nil {
      text += "        \(forms(option).joined(separator: "|"))) \(value(option)) ;;\n"
    }
    return text + "      esac ;;\n"
  }

  /// Where the value is free, files are offered: nothing else is known.
  private static func value(_ option: OptionSpecification) -> String {
    option.choices.isEmpty
      ? "compopt -o default 2>/dev/null; return" : "words=\"\(option.choices.joined(separator: " "))\""
  }
}
