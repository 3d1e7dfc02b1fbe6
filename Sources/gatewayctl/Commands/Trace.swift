import GatewayCore
import Glibc

/// `trace`: prints what goes over a connection until it is told to stop.
struct TraceCommand: Subcommand {
  static let specification = CommandSpecification(
    name: .trace, operands: "URL", operandCount: 1...1,
    summary: "show every packet of a connection, in words",
    details: [
      "Shows dialling, handshake, heartbeat and the packets of both directions as they come. On a terminal one readable "
        + #"line for each; otherwise, or with --json, {"time":…,"direction":…,"layer":…,"text":…}. Goes on until it is "#
        + "interrupted. It only looks: the daemon neither connects for it nor stays connected. Secrets are never shown. "
        + "Needs the right 'admin'."
    ],
    options: OptionSpecification.ofLook + [
      .init(.payloads, "also show payloads, with the secrets that the daemon knows replaced"),
      .init(.count, short: "n", value: "COUNT", "end after so many packets"),
      .init(.for, value: "DUR", "end after so long: exit 124 if -n was given and not reached, else 0"),
    ],
    examples: [
      .init("Watch", "gatewayctl trace chat"),
      .init("What is sent?", #"gatewayctl trace --payloads --json chat | jq -r 'select(.direction=="out").payload'"#),
    ],
    defaultTimeout: nil)

  private let context: Context
  private let count: Int?
  private let duration: Duration?
  private let end: Deadline
  private var taken = 0

  static func run(_ context: Context) throws(Failure) -> ExitCode {
    var command = try TraceCommand(context)
    return try command.run()
  }

  private init(_ context: Context) throws(Failure) {
    self.context = context
    count = try context.arguments.count(.count, in: 1...(.max))
    duration = try context.arguments.duration(.for)
    end = .after(duration)
  }

  private mutating func run() throws(Failure) -> ExitCode {
    let client = context.client
    try client.connect(until: Deadline.earlier(context.deadline, end))
    let result = try client.call("trace", until: Deadline.earlier(context.deadline, end)) { writer in
      context.target.write(into: &writer)
      writer.key("payloads")
      writer.bool(context.arguments.has(.payloads))
    }
    if context.settings.isWatched { context.diagnostics.notice("tracing \(context.target.shown); interrupt to end") }
    let trace = RawJSONObject(result)?.string("trace")
    while !isFinished {
      while !isFinished, let message = client.next() { try take(message, trace) }
      try context.output.flushOrEnd()
      if isFinished { break }
      guard client.isOpen else {
        throw Failure(.unavailable, "the daemon closed the connection; start the trace again")
      }
      guard !end.hasPassed else { return try timeIsUp() }
      try wait()
    }
    return .done
  }

  private var isFinished: Bool { count.map { taken >= $0 } ?? false }

  private func timeIsUp() throws(Failure) -> ExitCode {
    guard let count, let duration else { return .done }
    throw Failure(
      .timedOut, "\(taken) of \(count) packets came within \(DurationText.write(duration)); give it more with --for")
  }

  private mutating func take(_ message: Message, _ trace: String?) throws(Failure) {
    switch message {
    case .notification("trace", let params):
      guard let members = RawJSONObject(params), members.string("trace") == trace else { return }
      if let dropped = members.integer("dropped") {
        context.diagnostics.error("\(dropped) packets were not shown, because they came too fast")
      } else if members.string("layer") != "fleet" {
        // What is said of the fleet is no packet.
        taken += 1
      }
      guard context.settings.isReadable else { return try context.printJSON(members.text(without: "trace")) }
      context.output.text(TraceView(palette: context.settings.palette).line(members))
    case .failure(id: nil, let error): throw error.failure
    case .notification, .result, .failure: return
    }
  }

  /// A closed pipe shows as an error even while nothing is written to it.
  private func wait() throws(Failure) {
    var entries = [
      pollfd(fd: STDOUT_FILENO, events: 0, revents: 0),
      pollfd(fd: context.client.descriptor, events: context.client.interest, revents: 0),
    ]
    guard poll(&entries, nfds_t(entries.count), end.pollTimeout) > 0 else { return }
    if entries[0].revents & Int16(POLLERR) != 0 { throw .outputClosed }
    if entries[1].revents != 0 { try context.client.transfer() }
  }
}
