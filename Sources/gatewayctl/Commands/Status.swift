import GatewayCore

/// `status [URL]`: everything the daemon tells, or what concerns one upstream. `status --check`: whether all is well.
enum StatusCommand: Subcommand {
  static let specification = CommandSpecification(
    name: .status, operands: "[URL]", operandCount: 0...1_024,
    summary: "show the daemon, its connections and why they are down",
    details: [
      "On a terminal, or with --table, a table; otherwise, or with --json, everything the daemon tells, as one JSON "
        + "object. With a URL or the name of an upstream only what concerns that one.",
      "With --check, which takes any number of upstreams, one line for a monitoring system, and the exit code of a "
        + "Nagios plug-in: 0 fine, 1 a warning, 2 critical, 3 unknown. Without upstreams all are looked at; what users "
        + "have chosen by URL, or by a namespace, is a warning at most then. A connection that nobody needs is fine; a URL that nobody uses is "
        + "unknown.",
    ],
    options: OptionSpecification.ofURL + [
      .init(.table, "print the table also where stdout is no terminal, whole and without colour"),
      .init(.check, "print one line and end with 0, 1, 2 or 3, as a Nagios plug-in does"),
      .init(.maxDown, value: "DUR", "with --check: what is down for less than so long is a warning only"),
    ],
    examples: [
      .init("Look", "gatewayctl status"),
      .init("For a ticket", "gatewayctl status --table > status.txt"),
      .init("For a monitoring system", "gatewayctl status --check --max-down 5m"),
      .init("Why is it down?", "gatewayctl status --json chat | jq -r '.connections[].detail'"),
    ])

  static func run(_ context: Context) throws(Failure) -> ExitCode {
    try context.arguments.refuse(.table, with: .json)
    try context.arguments.refuse(.table, with: .check)
    if context.arguments.has(.check) { return try check(context) }
    if context.arguments.has(.maxDown) { throw Failure(.usage, "--max-down goes with --check") }
    let named = !context.arguments.operands.isEmpty
    guard context.arguments.operands.count < 2 else {
      throw Failure(.usage, "too many arguments for 'status'; only --check takes several upstreams")
    }
    let result = try context.client.call("status", until: context.deadline) { writer in
      if named { context.target.write(into: &writer) }
    }
    guard context.settings.isReadable || context.arguments.has(.table) else {
      try context.printJSON(result)
      return .done
    }
    let view = try StatusView(result, context)
    context.output.text(named ? view.connections(of: context.target.shown) : view.everything())
    return .done
  }
}

extension StatusCommand {
  private static func check(_ context: Context) throws(Failure) -> ExitCode {
    var check = StatusCheck(
      now: Clock.wallMilliseconds, maxDown: try context.arguments.duration(.maxDown) ?? .zero)
    var targets: [Target?] = []
    for name in context.arguments.operands {
      targets.append(try Target(name, context.arguments, read: context.target.options))
    }
    do throws(Failure) {
      try look(at: targets.isEmpty ? [nil] : targets, context, &check)
    } catch {
      // The daemon was not reached, went away or is stuck: what it answers is no failure here.
      let isSilent = error.code == .timedOut || error.code == .unavailable
      check.find(isSilent ? .critical : .unknown, error.message ?? "no answer")
    }
    try context.output.line(Array(check.line.utf8))
    return check.verdict.exitCode
  }

  private static func look(
    at targets: [Target?], _ context: Context, _ check: inout StatusCheck
  ) throws(Failure) {
    let deadline = context.deadline
    // What is said of the daemon is in the answer for every target.
    var daemon: JSONValue?
    for target in targets {
      switch try status(context, target, until: deadline) {
      case .failure(let error): check.find(.unknown, error.failure.message ?? "no answer")
      case .success(let document):
        daemon = document
        if let target, target.isURL {
          check.judge(connections: document, ofURL: target.shown)
        } else {
          check.judge(connections: document, asked: asked(target))
        }
      }
    }
    if let daemon { check.judge(daemon: daemon) }
  }

  private static func asked(_ target: Target?) -> StatusCheck.Asked {
    guard let target else { return .all }
    return target.namespace == nil ? .upstream : .these
  }

  private static func status(
    _ context: Context, _ target: Target?, until deadline: Deadline
  ) throws(Failure) -> Result<JSONValue, DaemonError> {
    let params = Client.object { target?.write(into: &$0) }
    switch try context.client.answer(to: "status", params, until: deadline) {
    case .failure(let error): return .failure(error)
    case .success(let result):
      guard let document = try? JSONValue.parse(result.span.bytes, limit: .max) else {
        throw Failure(.protocolMismatch, "the daemon's answer is no status; install the same version of both")
      }
      return .success(document)
    }
  }
}

extension StatusCheck.Verdict {
  fileprivate var exitCode: ExitCode {
    switch self {
    case .fine: .done
    case .warning: .refusedByDaemon
    case .critical: .checkCritical
    case .unknown: .checkUnknown
    }
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
