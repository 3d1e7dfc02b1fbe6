/// `subscribe`: prints events, or runs a command for each.
enum SubscribeCommand: Subcommand {
  static let specification = CommandSpecification(
    name: .subscribe, operands: "URL [EVENT…]", operandCount: 1...(.max),
    summary: "print a server's events as they come",
    details: [
      #"Prints one event per line: {"event":…,"args":…,"seq":…,"epoch":…,"time":…}. EVENT may be a pattern with * and "#
        + "?; without any EVENT all events are printed. Goes on until it is interrupted, over losses of the server and "
        + "restarts of the daemon; what was missed meanwhile is made up for, or reported on stderr as a gap.",
      CommandSpecification.urlExplained,
    ],
    options: OptionSpecification.ofURL + [
      .init(.count, short: "n", value: "COUNT", "end after so many events"),
      .init(.for, value: "DUR", "end after so long: exit 124 if -n was given and not reached, else 0"),
      .init(.since, value: "EPOCH:SEQ", "begin after this event, as far as the daemon remembers"),
      .init(.last, value: "N", "begin with the last N events that the daemon remembers"),
      .init(
        .enter, value: "JSON",
        "say this message to the server at every connect, as for a room, a feed or a login: [\"EVENT\",ARG…], or an object as "
          + "the protocol has it; @FILE keeps a login from who lists processes; may be repeated"),
      .init(
        .leave, value: "JSON",
        "what undoes it, said when no program holds it any more: the first --leave for the first --enter, and so on; null for "
          + "one that nothing undoes"),
      .init(.state, #"also print the connection's states, as {"state":…}, and what was missed, as {"gap":…}"#),
    ] + EventPrinter.options + [
      .init(
        .record, value: "FILE", "also append each event to FILE, as a line that 'gatewayctl replay' sends again"),
      .init(
        .exec, value: "CMD",
        "instead of printing, run the shell command CMD for each event, with the event on its standard input and "
          + "GATEWAY_EVENT, GATEWAY_SEQ, GATEWAY_EPOCH, GATEWAY_TIME and GATEWAY_URL in its environment"),
      .onGap, .noReconnect,
    ],
    examples: [
      .init("Watch everything", "gatewayctl subscribe https://chat.example"),
      .init("Wait for one event", "gatewayctl subscribe -n 1 --for 1m chat ready"),
      .init("Act on events", "gatewayctl subscribe --exec 'notify-send \"$GATEWAY_EVENT\"' chat 'alert.*'"),
      .init(
        "Stay in a room",
        #"gatewayctl subscribe --enter '["join","ops"]' --leave '["leave","ops"]' chat said"#),
      .init("Choose what is printed", "gatewayctl subscribe --format '%t %e: %a' chat"),
      .init("Go on where you left off", "gatewayctl subscribe --since e7:4100 chat"),
    ],
    defaultTimeout: nil)

  static func run(_ context: Context) throws(Failure) -> ExitCode {
    let arguments = context.arguments
    let count = try arguments.count(.count, in: 1...(.max))
    let duration = try arguments.duration(.for)
    if count != nil, duration == nil, context.settings.timeoutWasGiven {
      context.diagnostics.notice("--timeout is for reaching the daemon; --for limits how long events are waited for")
    }
    let end = Deadline.after(duration)
    let gapPolicy = try arguments.choice(.onGap, of: GapPolicy.self) ?? .warn
    let inputs = InputFiles()
    let stream = LiveSubscription(
      try parameters(context, inputs), from: inputs, client: context.client, diagnostics: context.diagnostics,
      connectTimeout: context.settings.timeoutWasGiven ? context.settings.timeout : nil)
    let printer = try EventPrinter(context)
    let recorder = try arguments.value(.record).map { (path) throws(Failure) in try EventRecorder(path) }
    let consumer: any EventConsumer =
      if let command = arguments.value(.exec) {
        ExecutingConsumer(context, command: command, count: count)
      } else {
        PrintingConsumer(printer, count: count)
      }
    let loop = SubscriptionLoop(
      context, stream: stream, consumer: consumer, end: end, gapPolicy: gapPolicy,
      statePrinter: arguments.has(.state) ? printer : nil, recorder: recorder)
    let hasFinished = try loop.run()
    if !hasFinished, let count, let duration {
      throw Failure(
        .timedOut,
        "\(consumer.taken) of \(count) events came within \(DurationText.write(duration)); give it more with --for")
    }
    return .done
  }

  private static func parameters(
    _ context: Context, _ inputs: InputFiles
  ) throws(Failure) -> LiveSubscription.Parameters {
    let arguments = context.arguments
    try arguments.refuse(.since, with: .last)
    let last = try arguments.count(.last, in: 0...(.max))
    let since = try LiveSubscription.Position(arguments)
    return LiveSubscription.Parameters(
      target: context.target, events: Array(arguments.operands.dropFirst()),
      resume: since.map { .since($0) } ?? last.map { .last($0) },
      enters: try messages(.enter, arguments, inputs), leaves: try messages(.leave, arguments, inputs),
      reconnects: !arguments.has(.noReconnect))
  }

  private static func messages(
    _ option: OptionName, _ arguments: Arguments, _ inputs: InputFiles
  ) throws(Failure) -> [[UInt8]] {
    var messages: [[UInt8]] = []
    for word in arguments.values(option) {
      messages.append(try PayloadArguments.message(word, of: option, read: inputs.read))
    }
    return messages
  }
}

/// Prints each event as a line.
final class PrintingConsumer: EventConsumer {
  private let printer: EventPrinter
  private let count: Int?
  private(set) var taken = 0

  let prints = true
  let isIdle = true
  let commands: [RunningCommand] = []
  var isFinished: Bool { count.map { taken >= $0 } ?? false }
  var hasRoom: Bool { !isFinished }

  init(_ printer: EventPrinter, count: Int?) {
    self.printer = printer
    self.count = count
  }

  func take(_ event: ReceivedEvent) throws(Failure) {
    taken += 1
    try printer.print(event)
  }

  func settle(_ command: RunningCommand) {}
  func answered(call: Int, _ error: DaemonError?) {}
}

/// Runs a shell command for each event, one after the other.
final class ExecutingConsumer: EventConsumer {
  private let context: Context
  private let command: String
  private let count: Int?
  private var running: RunningCommand?
  private(set) var taken = 0

  let prints = false
  var isIdle: Bool { running == nil }
  var commands: [RunningCommand] { running.map { [$0] } ?? [] }
  var isFinished: Bool { isIdle && count.map { taken >= $0 } ?? false }
  var hasRoom: Bool { isIdle && !isFinished }

  init(_ context: Context, command: String, count: Int?) {
    self.context = context
    self.command = command
    self.count = count
  }

  func take(_ event: ReceivedEvent) {
    taken += 1
    do {
      running = try RunningCommand.start(
        ["/bin/sh", "-c", command], for: event,
        input: (context.arguments.has(.argsOnly) ? event.args : event.line) + [0x0a],
        variables: event.variables(target: context.target), collectsOutput: false)
    } catch {
      context.diagnostics.error("event \(event.sequence): \(error.message ?? ""); going on")
    }
  }

  func settle(_ command: RunningCommand) {
    running = nil
    guard let ending = command.ending, ending != .exited(0) else { return }
    context.diagnostics.error("the command for event \(command.event.sequence) \(ending.description); going on")
  }

  func answered(call: Int, _ error: DaemonError?) {}
}
