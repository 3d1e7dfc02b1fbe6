/// `serve`: answers the server's requests with what a command prints.
enum ServeCommand {
  /// More commands at a time than any machine should be asked for.
  static let parallelLimit = ChildProcesses.limit

  static func run(_ context: Context) throws(Failure) -> ExitCode {
    let arguments = context.arguments
    let parallel = try arguments.count(.parallel, in: 1...parallelLimit) ?? 1
    try Executable.check(arguments.operands[2])
    let wish = LiveSubscription.Wish(
      target: context.target, events: [arguments.operands[1]],
      answers: true, reconnects: !arguments.has(.noReconnect))
    let stream = LiveSubscription(
      wish, client: context.client, notices: context.notices,
      patience: context.settings.timeoutWasGiven ? context.settings.timeout : nil)
    let consumer = AnsweringConsumer(context, words: Array(arguments.operands.dropFirst(2)), parallel: parallel)
    _ = try SubscriptionLoop(context, stream: stream, consumer: consumer).run()
    return .done
  }
}
