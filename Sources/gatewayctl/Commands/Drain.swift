import GatewayCore

/// `drain`: the daemon takes nothing new, and answers when everything has left or the time is over.
enum DrainCommand: Subcommand {
  static let specification = CommandSpecification(
    name: .drain, operands: "", operandCount: 0...0,
    summary: "take nothing new any more and let everything leave",
    details: [
      "From now on until it is started again the daemon refuses new sends and subscriptions. Returns when everything has "
        + "left or the time is over, and prints how many sends are left; they are kept. Needs the right 'admin'."
    ],
    examples: [.init("Before maintenance", "gatewayctl drain --timeout 1m && systemctl stop gatewayd")])

  static func run(_ context: Context) throws(Failure) -> ExitCode {
    let deadline = context.deadline
    try context.client.connect(until: deadline)
    let result = try context.client.call("drain", until: deadline.extended(by: Client.grace)) { writer in
      guard let remaining = deadline.remaining else { return }
      writer.key("timeout")
      writer.integer(max(1, remaining.milliseconds))
    }
    let left = RawJSONObject(result)?.integer("left") ?? "?"
    try context.confirm(result, left == "0" ? "nothing is left" : "\(left) sends are left, and kept")
    return .done
  }
}
