/// `clients`: the local programs that use the daemon.
enum ClientsCommand: Subcommand {
  static let specification = CommandSpecification(
    name: .clients, operands: "", operandCount: 0...0,
    summary: "list the local programs that use the daemon",
    details: [
      "On a terminal a table; otherwise, or with --json, one JSON object per line. Without the right 'admin' only "
        + "programs of your own user are listed."
    ],
    examples: [.init("Look", "gatewayctl clients")])

  static func run(_ context: Context) throws(Failure) -> ExitCode {
    let result = try context.client.call("clients.list", until: context.deadline)
    guard !context.settings.isReadable else {
      context.output.text(try StatusView(result, context).clients())
      return .done
    }
    try context.printElements("clients", of: result)
    return .done
  }
}
