import GatewayCore

/// `request`: prints the arguments of the acknowledgement, one per line; before them those of its parts, as they come.
enum RequestCommand: Subcommand {
  static let specification = CommandSpecification(
    name: .request, operands: "URL EVENT [ARG…]", operandCount: 2...(.max),
    summary: "send an event, wait for the server's answer and print it",
    details: [
      "Sends one event and waits for its acknowledgement. The arguments of the acknowledgement are printed, one JSON "
        + "value per line; keyword arguments follow as one object. What the server answers in parts is printed as it "
        + "comes. Nothing is left behind: when the time is up the request is taken back if it was not sent.",
      CommandSpecification.urlExplained, CommandSpecification.argExplained,
    ],
    options: OptionSpecification.ofURL + [
      .ttl, .noQueue, .noCompress, .key, .retries, .ackTimeout, .coalesce, .kwargs, .text, .binary, .raw,
    ],
    examples: [
      .init("Ask a question", "gatewayctl request https://status.example getMonitor 3"),
      .init("Use the answer", "gatewayctl request chat whoami | jq -r .name"),
      .init("Wait longer", "gatewayctl request --timeout 1m chat export"),
    ],
    defaultTimeout: .seconds(10))

  static func run(_ context: Context) throws(Failure) -> ExitCode {
    let event = try OutgoingEvent(context)
    let answer = try event.call("request", try event.arrayFromWords()) { (part) throws(Failure) in
      try show(RawJSONObject(part), context)
    }
    let members = RawJSONObject(answer)
    if let earlier = members.flatMap(DuplicateSend.init) { throw earlier.failureOfRequest }
    try show(members, context)
    return .done
  }

  private static func show(_ members: RawJSONObject?, _ context: Context) throws(Failure) {
    guard let members, let values = members.elements("args") else {
      throw Failure(.protocolMismatch, "the daemon's answer has no arguments; install the same version of both")
    }
    for value in values { try context.printJSON(value) }
    if let kwargs = members["kwargs"] { try context.printJSON(kwargs) }
    try context.output.flush()
  }
}
