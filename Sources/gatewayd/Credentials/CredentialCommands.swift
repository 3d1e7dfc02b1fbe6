import GatewayCore
import Glibc

/// The commands that print credentials: starts them, and keeps each until the kernel has nothing more to tell about it.
final class CredentialCommands {
  /// Most commands at a time, those included that were told to end and have not ended yet. The next ones wait for their
  /// turn, in a round over users; what is not wanted any more when its turn comes is not run.
  static let limit = 64

  private let loop: EventLoop
  private let environment: CommandEnvironment
  private var running: [ObjectIdentifier: CredentialCommand] = [:]
  private var waiting = UserRound<Order>()

  /// A command that waits for its turn.
  private struct Order {
    let words: [String]
    let request: SecretRequest
    let isWanted: () -> Bool
    let done: CredentialCommand.Answer
  }

  init(loop: EventLoop, environment: (String) -> String?) {
    self.loop = loop
    self.environment = CommandEnvironment(environment)
  }

  deinit { stop() }

  /// How many run.
  var count: Int { running.count }

  /// What runs, by the kernel's numbers.
  var processes: [pid_t] { running.values.map(\.process) }

  /// Runs a command, or lets it wait. Calls back exactly once, before it returns if nothing could be started; not at all
  /// after `stop`.
  func run(
    _ words: [String], _ request: SecretRequest, while isWanted: @escaping () -> Bool,
    _ done: @escaping CredentialCommand.Answer
  ) {
    let order = Order(words: words, request: request, isWanted: isWanted, done: done)
    if running.count < Self.limit { start(order) } else { waiting.append(order, for: request.account) }
  }

  private func start(_ order: Order) {
    guard order.isWanted() else {
      let program = order.words.first ?? ""
      return order.done(.failure(CredentialProblem("the command \(program) was not wanted any more")))
    }
    let request = order.request
    do throws(CredentialProblem) {
      let command = try CredentialCommand(
        order.words, environment: environment.variables(for: request), timeLimit: request.timeLimit, loop: loop,
        order.done)
      running[ObjectIdentifier(command)] = command
      command.onEnd = { [weak self, unowned command] in
        self?.ended(command)
      }
    } catch { order.done(.failure(error)) }
  }

  private func ended(_ command: CredentialCommand) {
    running[ObjectIdentifier(command)] = nil
    // One that cannot be started, or is not wanted, gives its place to the one behind it.
    while running.count < Self.limit, let next = waiting.popFirst() { start(next) }
  }

  /// Kills what runs; nothing is called back any more.
  func stop() {
    for command in running.values { command.kill() }
    (running, waiting) = ([:], UserRound())
  }
}
