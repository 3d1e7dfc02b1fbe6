/// `subscribe`: prints events, or runs a command for each.
enum SubscribeCommand {
  static func run(_ context: Context) throws(Failure) -> ExitCode {
    let arguments = context.arguments
    let count = try arguments.count(.count, in: 1...(.max))
    let duration = try arguments.duration(.for)
    let end = Deadline.after(duration)
    let gapPolicy = try arguments.choice(.onGap, of: SubscriptionLoop.GapPolicy.self) ?? .warn
    let stream = LiveSubscription(
      try wish(context), client: context.client, notices: context.notices,
      patience: context.settings.timeoutWasGiven ? context.settings.timeout : nil)
    let consumer: any EventConsumer =
      if let command = arguments.value(.exec) {
        ExecutingConsumer(context, command: command, count: count)
      } else {
        PrintingConsumer(context, count: count)
      }
    let loop = SubscriptionLoop(
      context, stream: stream, consumer: consumer, end: end, gapPolicy: gapPolicy, printsStates: arguments.has(.state))
    let hasFinished = try loop.run()
    if !hasFinished, let count, let duration {
      throw Failure(
        .timedOut,
        "\(consumer.taken) of \(count) events came within \(DurationText.write(duration)); give it more with --for")
    }
    return .done
  }

  private static func wish(_ context: Context) throws(Failure) -> LiveSubscription.Wish {
    let arguments = context.arguments
    try arguments.refuse(.since, with: .last)
    let last = try arguments.count(.last, in: 0...(.max))
    let since = try arguments.value(.since).map(position)
    return LiveSubscription.Wish(
      target: context.target, events: Array(arguments.operands.dropFirst()),
      resume: since.map { .since($0) } ?? last.map { .last($0) },
      reconnects: !arguments.has(.noReconnect))
  }

  /// `EPOCH:SEQ`, as in the events that were printed.
  private static func position(_ text: String) throws(Failure) -> LiveSubscription.Position {
    guard let colon = text.lastIndex(of: ":"), colon != text.startIndex,
      let sequence = UInt64(text[text.index(after: colon)...])
    else {
      throw Failure(
        .usage,
        "--since: '\(text)' is not EPOCH:SEQ; write epoch and seq of an event that was printed, such as e7:4101")
    }
    return LiveSubscription.Position(epoch: String(text[..<colon]), sequence: sequence)
  }
}
