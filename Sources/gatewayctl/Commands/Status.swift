import GatewayCore

/// `status [URL]`: everything the daemon tells, or what concerns one upstream.
enum StatusCommand: Subcommand {
  static let specification = CommandSpecification(
    name: .status, operands: "[URL]", operandCount: 0...1,
    summary: "show the daemon, its connections and why they are down",
    details: [
      "On a terminal a table; otherwise, or with --json, everything the daemon tells, as one JSON object. With a URL or "
        + "the name of an upstream only what concerns that one."
    ],
    options: [.namespace],
    examples: [
      .init("Look", "gatewayctl status"),
      .init("Why is it down?", "gatewayctl status --json chat | jq -r '.connections[].detail'"),
    ])

  static func run(_ context: Context) throws(Failure) -> ExitCode {
    let named = !context.arguments.operands.isEmpty
    let result = try context.client.call("status", until: context.deadline) { writer in
      if named { context.target.write(into: &writer) }
    }
    guard context.settings.isReadable else {
      try context.printJSON(result)
      return .done
    }
    let view = try StatusView(result, context)
    context.output.text(named ? view.connections(of: context.target.name) : view.everything())
    return .done
  }
}

extension StatusView {
  /// The answer to `status` or `clients.list`, for this machine's clock and terminal.
  init(_ result: [UInt8], _ context: Context) throws(Failure) {
    guard let document = try? JSONValue.parse(result.span.bytes, limit: .max) else {
      throw Failure(.protocolMismatch, "the daemon's answer is no status; install the same version of both")
    }
    self.init(
      document: document, now: Clock.wallMilliseconds, palette: context.settings.palette,
      width: context.settings.columns)
  }
}

extension Context {
  /// Each element of a list in the daemon's answer as a line, and on stderr how many did not fit into it.
  func printElements(_ key: String, of result: [UInt8]) throws(Failure) {
    for element in RawJSONObject(result)?.elements(key) ?? [] { try printJSON(element) }
    guard let count = (try? JSONValue.parse(result.span.bytes, limit: .max))?.leftOut(key) else { return }
    diagnostics.error("\(count) \(key) more did not fit into one answer of the daemon and are left out")
  }
}
