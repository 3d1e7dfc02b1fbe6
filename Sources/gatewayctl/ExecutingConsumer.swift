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
      context.notices.error("event \(event.sequence): \(error.message ?? ""); going on")
    }
  }

  func settle(_ command: RunningCommand) {
    running = nil
    guard let ending = command.ending, ending != .exited(0) else { return }
    context.notices.error("the command for event \(command.event.sequence) \(ending.description); going on")
  }

  func answered(call: Int, _ error: DaemonError?) {}
}
