import GatewayCore

/// `serve`: answers the server's requests with what a command prints.
enum ServeCommand: Subcommand {
  static let specification = CommandSpecification(
    name: .serve, operands: "URL EVENT -- CMD…", operandCount: 3...(.max),
    summary: "answer a server's requests with a command",
    details: [
      "For each event whose server waits for an acknowledgement, runs CMD with the event's arguments, a JSON array, on "
        + "its standard input. What CMD prints, one JSON value (text in quotes, as 'jq -Rs .' prints it), is sent back "
        + "as the acknowledgement's one argument; nothing printed acknowledges without arguments. CMD is run directly, "
        + "not by a shell, and finds GATEWAY_EVENT, GATEWAY_SEQ, GATEWAY_EPOCH, GATEWAY_TIME and GATEWAY_URL in its "
        + "environment. If CMD fails or prints something else, that is reported on stderr, and the server is answered "
        + "with an error where the upstream has such, as WAMP does; elsewhere it gets no answer.",
      CommandSpecification.urlExplained,
    ],
    options: OptionSpecification.ofURL + [
      .init(.args, "CMD prints a JSON array of all the acknowledgement's arguments"),
      .init(
        .error, value: "NAME",
        "when CMD fails, answer with the error NAME, \(AnsweringConsumer.errorName) unless given, where the upstream has "
          + "such; what CMD printed goes with it"),
      .init(.noError, "when CMD fails, answer nothing: the server's own time limit decides"),
      .init(.parallel, value: "N", "run up to N commands at a time; 1 unless given"),
      .noReconnect,
    ],
    examples: [
      .init(
        "Tell the server this machine's load",
        "gatewayctl serve https://fleet.example load -- cut -d ' ' -f 1 /proc/loadavg"
      ),
      .init("Answer with a script", "gatewayctl serve --parallel 4 fleet inventory -- /usr/local/bin/inventory"),
    ],
    defaultTimeout: nil)

  /// More commands at a time than any machine should be asked for.
  static let parallelLimit = ChildProcesses.limit

  static func run(_ context: Context) throws(Failure) -> ExitCode {
    let arguments = context.arguments
    let parallel = try arguments.count(.parallel, in: 1...parallelLimit) ?? 1
    try arguments.refuse(.error, with: .noError)
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

/// Runs a command for each event that wants an acknowledgement, and sends what it prints. Decision 0127.
final class AnsweringConsumer: EventConsumer {
  private let context: Context
  private let words: [String]
  private let parallel: Int
  /// The command prints an array of all arguments instead of the one.
  private let printsArray: Bool
  /// What a command that fails is answered with; nil answers nothing.
  private let errorName: String?
  /// Without `--error` the user wants no report of an upstream that has no errors.
  private let errorIsOptional: Bool
  /// The answers that are on their way, by call.
  private var answers: [Int: Answer] = [:]
  private(set) var taken = 0
  private(set) var commands: [RunningCommand] = []

  /// What a command that fails is answered with, unless `--error` or `--no-error` is given.
  static let errorName = "command_failed"

  private struct Answer {
    /// The sequence number of the event.
    var number: UInt64
    var isError: Bool
  }

  let prints = false
  let isFinished = false
  var isIdle: Bool { commands.isEmpty }
  var hasRoom: Bool { commands.count < parallel }

  init(_ context: Context, words: [String], parallel: Int) {
    self.context = context
    self.words = words
    self.parallel = parallel
    printsArray = context.arguments.has(.args)
    errorIsOptional = !context.arguments.has(.error)
    errorName = context.arguments.has(.noError) ? nil : context.arguments.value(.error) ?? Self.errorName
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
      answer(event, withFailure: "event \(event.sequence): \(error.message ?? "")")
    }
  }

  func settle(_ command: RunningCommand) {
    commands.removeAll { $0 === command }
    let event = command.event
    guard command.ending == .exited(0) else {
      let ending = command.ending?.description ?? "was lost"
      return answer(
        event, withFailure: "the command for event \(event.sequence) \(ending)",
        (try? arguments(in: command.printed)) ?? Self.noArguments)
    }
    do {
      answer(event, with: try arguments(in: command.printed))
    } catch {
      answer(event, withFailure: "the command for event \(event.sequence): \(error.message ?? "")")
    }
  }

  private static let noArguments = Array("[]".utf8)

  /// What the command printed, as the array of the acknowledgement's arguments.
  private func arguments(in printed: [UInt8]) throws(Failure) -> [UInt8] {
    guard printed.contains(where: { ![0x20, 0x09, 0x0a, 0x0d].contains($0) }) else { return Self.noArguments }
    let value = try PayloadArguments.json(
      printed, named: "what it printed", advice: "one JSON value is needed, text in quotes, as 'jq -Rs .' prints it")
    guard printsArray else { return [UInt8(ascii: "[")] + value + [UInt8(ascii: "]")] }
    guard value.first == UInt8(ascii: "[") else { throw Failure(.badInput, "with --args it has to print a JSON array") }
    return value
  }

  /// Says what has gone wrong, and tells the server that something has.
  private func answer(_ event: ReceivedEvent, withFailure text: String, _ arguments: [UInt8] = noArguments) {
    guard let errorName else { return context.diagnostics.error("\(text); the server gets no answer") }
    let condition = errorIsOptional ? " where the upstream has errors" : ""
    context.diagnostics.error("\(text); answering with the error \(errorName)\(condition)")
    answer(event, with: arguments, error: errorName)
  }

  private func answer(_ event: ReceivedEvent, with arguments: [UInt8], error: String? = nil) {
    guard context.client.isOpen, let token = event.ack else {
      return context.diagnostics.error(
        "event \(event.sequence): the daemon has gone meanwhile; the server gets no answer")
    }
    let params = Client.object { writer in
      writer.key("ack")
      writer.string(token)
      writer.key("args")
      writer.raw(arguments)
      guard let error else { return }
      writer.key("error")
      writer.string(error)
    }
    if let problem = context.client.problem(withLineOf: "respond", params) {
      let text = "the answer to event \(event.sequence): \(problem.message ?? "")"
      guard error == nil else { return context.diagnostics.error("\(text); the server gets no answer") }
      return answer(event, withFailure: text)
    }
    answers[context.client.post("respond", params)] = Answer(number: event.sequence, isError: error != nil)
    context.client.write()
  }

  func answered(call: Int, _ error: DaemonError?) {
    guard let answer = answers.removeValue(forKey: call), let error else { return }
    let text = "the answer to event \(answer.number) was not sent: \(error.message)"
    // An upstream without errors, such as one of Socket.IO, refuses them so.
    let isExpected = answer.isError && errorIsOptional && error.kind == .invalidParams
    if isExpected { context.diagnostics.detail(text) } else { context.diagnostics.error(text) }
  }
}
