import GatewayCore

/// `serve`: answers the server's requests with what a command prints.
enum ServeCommand: Subcommand {
  static let specification = CommandSpecification(
    name: .serve, operands: "URL EVENT -- CMD…", operandCount: 3...(.max),
    summary: "answer a server's requests with a command",
    details: [
      "For each event whose server waits for an acknowledgement, runs CMD with the event's arguments, a JSON array, on "
        + "its standard input. What CMD prints, one JSON value, is sent back as the acknowledgement's one argument; "
        + "nothing printed acknowledges without arguments. CMD is run directly, not by a shell, and finds GATEWAY_EVENT, "
        + "GATEWAY_SEQ, GATEWAY_EPOCH, GATEWAY_TIME and GATEWAY_URL in its environment. If CMD fails or prints "
        + "something else, that is reported on stderr and the server gets no answer.",
      CommandSpecification.urlExplained,
    ],
    options: OptionSpecification.ofURL + [
      .init(.args, "CMD prints a JSON array of all the acknowledgement's arguments"),
      .init(
        .error, value: "NAME",
        "when CMD fails, answer with the error NAME, where the upstream has such; what CMD printed goes with it"),
      .init(.parallel, value: "N", "run up to N commands at a time; 1 unless given"),
      .noReconnect,
    ],
    examples: [
      .init(
        "Tell the server this machine's load", "gatewayctl serve https://fleet.example load -- cut -c 1-4 /proc/loadavg"
      ),
      .init("Answer with a script", "gatewayctl serve --parallel 4 fleet inventory -- /usr/local/bin/inventory"),
    ],
    defaultTimeout: nil)

  /// More commands at a time than any machine should be asked for.
  static let parallelLimit = ChildProcesses.limit

  static func run(_ context: Context) throws(Failure) -> ExitCode {
    let arguments = context.arguments
    let parallel = try arguments.count(.parallel, in: 1...parallelLimit) ?? 1
    try Executable.check(arguments.operands[2])
    let parameters = LiveSubscription.Parameters(
      target: context.target, events: [arguments.operands[1]],
      answers: true, reconnects: !arguments.has(.noReconnect))
    let stream = LiveSubscription(
      parameters, client: context.client, diagnostics: context.diagnostics,
      connectTimeout: context.settings.timeoutWasGiven ? context.settings.timeout : nil)
    let consumer = AnsweringConsumer(context, words: Array(arguments.operands.dropFirst(2)), parallel: parallel)
    _ = try SubscriptionLoop(context, stream: stream, consumer: consumer).run()
    return .done
  }
}

/// Runs a command for each event that wants an acknowledgement, and sends what it prints.
final class AnsweringConsumer: EventConsumer {
  private let context: Context
  private let words: [String]
  private let parallel: Int
  /// The command prints an array of all arguments instead of the one.
  private let printsArray: Bool
  /// What a command that fails is answered with; nil answers nothing.
  private let errorName: String?
  /// The sequence numbers of the events whose answers are on their way, by call.
  private var answers: [Int: UInt64] = [:]
  private(set) var taken = 0
  private(set) var commands: [RunningCommand] = []

  let prints = false
  let isFinished = false
  var isIdle: Bool { commands.isEmpty }
  var hasRoom: Bool { commands.count < parallel }

  init(_ context: Context, words: [String], parallel: Int) {
    self.context = context
    self.words = words
    self.parallel = parallel
    printsArray = context.arguments.has(.args)
    errorName = context.arguments.value(.error)
  }

  func take(_ event: ReceivedEvent) {
    taken += 1
    guard event.ack != nil else {
      return context.diagnostics.detail("event \(event.sequence) wants no answer")
    }
    do {
      commands.append(
        try RunningCommand.start(
          words, for: event, input: event.args + [0x0a], variables: event.variables(target: context.target),
          collectsOutput: true))
    } catch {
      context.diagnostics.error("event \(event.sequence): \(error.message ?? ""); the server gets no answer")
    }
  }

  func settle(_ command: RunningCommand) {
    commands.removeAll { $0 === command }
    let number = command.event.sequence
    guard command.ending == .exited(0) else {
      let ending = command.ending?.description ?? "was lost"
      guard let errorName else {
        return context.diagnostics.error("the command for event \(number) \(ending); the server gets no answer")
      }
      context.diagnostics.error("the command for event \(number) \(ending); answering with the error \(errorName)")
      let arguments = try? arguments(in: command.printed)
      return answer(command.event, with: arguments ?? Array("[]".utf8), error: errorName)
    }
    do {
      answer(command.event, with: try arguments(in: command.printed))
    } catch {
      context.diagnostics.error("the command for event \(number): \(error.message ?? ""); the server gets no answer")
    }
  }

  /// What the command printed, as the array of the acknowledgement's arguments.
  private func arguments(in printed: [UInt8]) throws(Failure) -> [UInt8] {
    guard printed.contains(where: { ![0x20, 0x09, 0x0a, 0x0d].contains($0) }) else { return Array("[]".utf8) }
    let value = try PayloadArguments.json(printed, named: "what it printed", advice: "one JSON value is needed")
    guard printsArray else { return [UInt8(ascii: "[")] + value + [UInt8(ascii: "]")] }
    guard value.first == UInt8(ascii: "[") else { throw Failure(.badInput, "with --args it has to print a JSON array") }
    return value
  }

  private func answer(_ event: ReceivedEvent, with arguments: [UInt8], error: String? = nil) {
    guard context.client.isOpen, let token = event.ack else {
      return context.diagnostics.error(
        "event \(event.sequence): the daemon has gone meanwhile; the server gets no answer")
    }
    let call = context.client.post(
      "respond",
      Client.object { writer in
        writer.key("ack")
        writer.string(token)
        writer.key("args")
        writer.raw(arguments)
        guard let error else { return }
        writer.key("error")
        writer.string(error)
      })
    answers[call] = event.sequence
    context.client.write()
  }

  func answered(call: Int, _ error: DaemonError?) {
    guard let number = answers.removeValue(forKey: call), let error else { return }
    context.diagnostics.error("the answer to event \(number) was not sent: \(error.message)")
  }
}
