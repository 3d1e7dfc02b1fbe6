import GatewayCore
import Glibc

/// The commands that print credentials: starts them, and keeps each until the kernel has nothing more to tell about it.
final class CredentialCommands {
  /// Most commands at a time, those included that were told to end and have not ended yet. The next ones wait for their
  /// turn, in the order of asking, also where whoever asked is gone meanwhile.
  static let limit = 64

  private let loop: EventLoop
  private let environment: CommandEnvironment
  private var running: [ObjectIdentifier: CredentialCommand] = [:]
  private var waiting: ArraySlice<() -> Void> = []

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
    _ words: [String], _ request: SecretRequest, _ done: @escaping (Result<[UInt8], CredentialProblem>) -> Void
  ) {
    guard running.count < Self.limit else {
      return waiting.append { [unowned self] in run(words, request, done) }
    }
    do throws(CredentialProblem) {
      let command = try CredentialCommand(
        words, environment: environment.variables(for: request), timeLimit: request.timeLimit, loop: loop, done)
      running[ObjectIdentifier(command)] = command
      command.onEnd = { [weak self, unowned command] in
        self?.ended(command)
      }
    } catch { done(.failure(error)) }
  }

  private func ended(_ command: CredentialCommand) {
    running[ObjectIdentifier(command)] = nil
    // One that cannot be started gives its place to the one behind it.
    while running.count < Self.limit, let next = waiting.popFirst() { next() }
    if waiting.isEmpty { waiting = [] }
  }

  /// Kills what runs; nothing is called back any more.
  func stop() {
    for command in running.values { command.kill() }
    (running, waiting) = ([:], [])
  }
}
