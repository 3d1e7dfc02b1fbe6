/// `release`.
enum ReleaseCommand: Subcommand {
  static let specification = CommandSpecification(
    name: .release, operands: "URL", operandCount: 1...1,
    summary: "forget a connection that nobody uses",
    details: ["Only for a connection that is disconnected and not in use. Needs the right 'admin'."],
    options: OptionSpecification.ofURL,
    examples: [.init("Tidy up", "gatewayctl release https://old.example")])

  static func run(_ context: Context) throws(Failure) -> ExitCode { try context.changeState() }
}
