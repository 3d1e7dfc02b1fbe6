/// `connections`: the table of connections alone.
enum ConnectionsCommand: Subcommand {
  static let specification = CommandSpecification(
    name: .connections, operands: "", operandCount: 0...0,
    summary: "list the connections to servers",
    details: ["On a terminal a table; otherwise, or with --json, one JSON object per line."],
    examples: [
      .init("Which are connected?", #"gatewayctl connections --json | jq -r 'select(.state=="connected").url'"#)
    ])

  static func run(_ context: Context) throws(Failure) -> ExitCode {
    let result = try context.client.call("status", until: context.deadline)
    guard !context.settings.isReadable else {
      context.output.text(try StatusView(result, context).connections())
      return .done
    }
    try context.printElements("connections", of: result)
    return .done
  }
}
