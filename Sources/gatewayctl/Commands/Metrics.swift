import GatewayCore

/// `metrics`: what the daemon counts, for Prometheus.
enum MetricsCommand: Subcommand {
  static let specification = CommandSpecification(
    name: .metrics, operands: "", operandCount: 0...0,
    summary: "print what the daemon counts, for a monitoring system",
    details: [
      "Prints OpenMetrics text; with --json the answer of the daemon. Needs the right 'admin'. A daemon with "
        + "'[metrics] listen' in its configuration lets Prometheus read the same over HTTP."
    ],
    options: [
      .init(
        .format, value: "FORMAT", choices: MetricsFormat.allCases.map(\.rawValue),
        "openmetrics, or prometheus for programs that know only its older text")
    ],
    examples: [
      .init("Events of each upstream", "gatewayctl metrics | grep received_events_total"),
      .init(
        "For node_exporter, which must not read half a file",
        "cd /var/lib/prometheus/node-exporter && "
          + "gatewayctl metrics --format prometheus > gatewayd.new && mv gatewayd.new gatewayd.prom"),
    ])

  static func run(_ context: Context) throws(Failure) -> ExitCode {
    let format = try context.arguments.choice(.format, of: MetricsFormat.self)
    let result = try context.client.call("metrics", until: context.deadline) { writer in
      guard let format else { return }
      writer.key("format")
      writer.string(format.rawValue)
    }
    if context.settings.json {
      try context.printJSON(result)
    } else if let text = RawJSONObject(result)?.string("text") {
      context.output.text(text)
    } else {
      throw Failure(.protocolMismatch, "the daemon's answer has no metrics; install the same version of both")
    }
    return .done
  }
}
