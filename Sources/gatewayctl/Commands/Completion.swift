import GatewayCore

/// `completion bash|zsh|fish`.
enum CompletionCommand: Subcommand {
  static let specification = CommandSpecification(
    name: .completion, operands: "SHELL", choices: Completion.Shell.allCases.map(\.rawValue), operandCount: 1...1,
    summary: "print a script that completes command lines in a shell",
    details: [
      "SHELL is bash, zsh or fish. The script knows the commands, their options and the words that some of them take, and "
        + "asks the daemon for the configured upstreams, the connections of the moment and, behind an upstream, the names of "
        + "the last events that it remembers; it offers the daemon's methods behind 'call', and files where a file is "
        + "named. An installation has all three already; otherwise load it where the shell begins."
    ],
    examples: [
      .init(
        "For yourself, in bash",
        "gatewayctl completion bash | install -D /dev/stdin ~/.local/share/bash-completion/completions/gatewayctl"),
      .init(
        "In zsh, in a folder of $fpath",
        "gatewayctl completion zsh | install -D /dev/stdin ~/.zsh/completions/_gatewayctl"),
      .init("In fish", "gatewayctl completion fish | install -D /dev/stdin ~/.config/fish/completions/gatewayctl.fish"),
    ],
    asksDaemon: false)

  static func run(_ context: Context) throws(Failure) -> ExitCode {
    let word = context.arguments.operands.first ?? ""
    guard let shell = Completion.Shell(rawValue: word) else {
      let words = Completion.Shell.allCases.map(\.rawValue).joined(separator: " or ")
      throw Failure(.usage, "completion: unknown shell '\(ShownAddress.word(word))'; write \(words)")
    }
    context.output.text(Completion.script(for: shell))
    return .done
  }
}
