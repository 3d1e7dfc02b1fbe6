/// `disconnect`.
enum DisconnectCommand: Subcommand {
  static let specification = CommandSpecification(
    name: .disconnect, operands: "URL", operandCount: 1...1,
    summary: "close a connection and keep it closed until 'reconnect'",
    details: ["What is queued stays queued. Needs the right 'admin'."],
    options: OptionSpecification.ofURL,
    examples: [.init("Before maintenance", "gatewayctl disconnect chat")])

  static func run(_ context: Context) throws(Failure) -> ExitCode { try context.changeState() }
}
