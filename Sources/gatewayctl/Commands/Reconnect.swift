/// `reconnect`.
enum ReconnectCommand: Subcommand {
  static let specification = CommandSpecification(
    name: .reconnect, operands: "URL", operandCount: 1...1,
    summary: "connect again now, also after 'disconnect'",
    details: ["Starts an attempt at once instead of waiting for the next one. Needs the right 'admin'."],
    options: OptionSpecification.ofURL,
    examples: [.init("After repairing the server", "gatewayctl reconnect chat")])

  static func run(_ context: Context) throws(Failure) -> ExitCode { try context.changeState() }
}
