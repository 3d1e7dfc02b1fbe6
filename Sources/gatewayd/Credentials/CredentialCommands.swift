import GatewayCore
import Glibc

/// The commands that print credentials: starts them, and keeps each until the kernel has nothing more to tell about it.
final class CredentialCommands {
  /// Most commands at a time, those included that were told to end and have not ended yet.
  static let limit = 64

  private let loop: EventLoop
  private let environment: CommandEnvironment
  private var running: [ObjectIdentifier: CredentialCommand] = [:]

  init(loop: EventLoop, environment: (String) -> String?) {
    self.loop = loop
    self.environment = CommandEnvironment(environment)
  }

  deinit { stop() }

  /// How many run.
  var count: Int { running.count }

  /// What runs, by the kernel's numbers.
  var processes: [pid_t] { running.values.map(\.process) }

  /// Runs a command. Calls back exactly once, before it returns if nothing could be started; not at all after `stop`.
  func run(
    _ words: [String], _ request: SecretRequest, _ done: @escaping (Result<[UInt8], CredentialProblem>) -> Void
  ) {
    do throws(CredentialProblem) {
      guard running.count < Self.limit else {
        throw CredentialProblem("\(Self.limit) commands that print credentials run already")
      }
      let command = try CredentialCommand(
        words, environment: environment.variables(for: request), timeLimit: request.timeLimit, loop: loop, done)
      running[ObjectIdentifier(command)] = command
      command.onEnd = { [weak self, unowned command] in
        self?.running[ObjectIdentifier(command)] = nil
      }
    } catch { done(.failure(error)) }
  }

  /// Kills what runs; nothing is called back any more.
  func stop() {
    for command in running.values { command.kill() }
    running = [:]
  }
}
