import GatewayCore

/// `wait`: the daemon is told for how long, so that its own answer comes before our deadline.
enum WaitCommand: Subcommand {
  static let specification = CommandSpecification(
    name: .wait, operands: "URL", operandCount: 1...1,
    insteadOfMore: "for an event, 'gatewayctl subscribe -n 1 --for 1m URL EVENT'",
    summary: "wait until a connection is in a state",
    details: [
      "Returns as soon as the connection is in the state, which is connected unless --state names another; exit 124 "
        + "when the time is up. Waiting is using: the daemon connects if nobody else does. For an event wait with "
        + "'gatewayctl subscribe -n 1 --for 1m URL EVENT'."
    ],
    options: OptionSpecification.ofURL + [
      .init(
        .state, value: "S", choices: ConnectionState.allCases.map(\.rawValue),
        "created, connected (the default), disconnected, reconnecting or released")
    ],
    examples: [.init("Before a backup", "gatewayctl wait --timeout 1m chat && backup")])

  static func run(_ context: Context) throws(Failure) -> ExitCode {
    let state = try context.arguments.choice(.state, of: ConnectionState.self) ?? .connected
    let deadline = context.deadline
    try context.client.connect(until: deadline)
    context.diagnostics.detail("waiting for \(context.target.shown) to be \(state.rawValue)")
    let result = try context.client.call("wait", until: deadline.extended(by: Client.grace)) { writer in
      context.target.write(into: &writer)
      writer.key("state")
      writer.string(state.rawValue)
      guard let remaining = deadline.remaining else { return }
      writer.key("timeout")
      writer.integer(max(1, remaining.milliseconds))
    }
    try context.confirm(result, "\(context.target.shown) is \(RawJSONObject(result)?.string("state") ?? "?")")
    return .done
  }
}
