import GatewayCore

/// `version`: text, as every program prints it, unless `--json`.
enum VersionCommand: Subcommand {
  static let specification = CommandSpecification(
    name: .version, operands: "", operandCount: 0...0,
    summary: "print the version of gatewayctl",
    details: ["'gatewayctl status' shows the version of the daemon that runs."],
    examples: [.init("Look", "gatewayctl version")],
    asksDaemon: false)

  static func run(_ context: Context) throws(Failure) -> ExitCode {
    guard context.settings.json else {
      context.output.text("gatewayctl \(GatewayVersion.current)\n")
      return .done
    }
    try context.output.line(Array(#"{"version":"\#(GatewayVersion.current)"}"#.utf8))
    return .done
  }
}
