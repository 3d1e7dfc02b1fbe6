import GatewayCore

/// `ping`: how long the answer took, in milliseconds.
enum PingCommand: Subcommand {
  static let specification = CommandSpecification(
    name: .ping, operands: "", operandCount: 0...0,
    summary: "ask whether the daemon answers",
    details: [#"Prints how long the answer took; as JSON {"rtt":…} in milliseconds."#],
    examples: [.init("In a health check", "gatewayctl ping -q --timeout 2s")])

  static func run(_ context: Context) throws(Failure) -> ExitCode {
    let deadline = context.deadline
    try context.client.connect(until: deadline)
    let start = Clock.now
    _ = try context.client.call("ping", until: deadline)
    let rtt = Double((Clock.now - start).nanoseconds / 1000) / 1000
    let result = Client.object { writer in
      writer.key("rtt")
      writer.number(rtt)
    }
    try context.confirm(result, "the daemon answered in \(rtt) ms")
    return .done
  }
}
