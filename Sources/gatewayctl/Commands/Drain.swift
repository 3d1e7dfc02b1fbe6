import GatewayCore

/// `drain`: the daemon takes nothing new, and answers when everything has left or the time is over. Decision 0107.
enum DrainCommand: Subcommand {
  static let specification = CommandSpecification(
    name: .drain, operands: "", operandCount: 0...0,
    summary: "take nothing new any more and let everything leave",
    details: [
      "From now on until it is started again the daemon refuses new sends and subscriptions. Returns when everything has "
        + "left or the time is over: exit 124 then, with how many sends are left. They are kept, and a stop "
        + "of the daemon puts them into the outbox. Needs the right 'admin'."
    ],
    examples: [
      .init("Before maintenance", "gatewayctl drain --timeout 1m && systemctl stop gatewayd.socket gatewayd.service")
    ])

  static func run(_ context: Context) throws(Failure) -> ExitCode {
    let deadline = context.deadline
    try context.client.connect(until: deadline)
    let result = try context.client.call("drain", until: deadline.extended(by: Client.grace)) { writer in
      guard let remaining = deadline.remaining else { return }
      writer.key("timeout")
      writer.integer(max(1, remaining.milliseconds))
    }
    let left = RawJSONObject(result)?.integer("left") ?? "?"
    guard left != "0" else {
      try context.confirm(result, "nothing is left")
      return .done
    }
    if !context.settings.isReadable { try context.confirm(result, "") }
    let what = left == "1" ? "1 send is left, and kept" : "\(left) sends are left, and kept"
    throw Failure(.timedOut, "the time is over, and \(what); give it more with --timeout, or stop the daemon")
  }
}
