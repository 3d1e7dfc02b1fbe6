/// Prints each event as a line.
final class PrintingConsumer: EventConsumer {
  private let context: Context
  private let count: Int?
  private let onlyArguments: Bool
  private(set) var taken = 0

  let prints = true
  let isIdle = true
  let commands: [RunningCommand] = []
  var isFinished: Bool { count.map { taken >= $0 } ?? false }
  var hasRoom: Bool { !isFinished }

  init(_ context: Context, count: Int?) {
    self.context = context
    self.count = count
    onlyArguments = context.arguments.has(.argsOnly)
  }

  func take(_ event: ReceivedEvent) throws(Failure) {
    taken += 1
    try context.printJSON(onlyArguments ? event.args : event.line)
  }

  func settle(_ command: RunningCommand) {}
  func answered(call: Int, _ error: DaemonError?) {}
}
