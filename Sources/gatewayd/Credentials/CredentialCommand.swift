import CLinux
import GatewayCore
import Glibc

/// One run of a command that prints credentials. Never waits for it: the loop tells of its output and of its end. What
/// it writes to its standard error stream is thrown away, because it may hold the secret. Decision 0021.
final class CredentialCommand {
  typealias Answer = (Result<[UInt8], CredentialProblem>) -> Void

  /// Between the request to end and the kill.
  static let grace: Duration = .seconds(1)

  /// Called when the kernel has nothing more to tell about the process. Set once, right after the making.
  var onEnd: (() -> Void)?

  private let program: String
  private let loop: EventLoop
  /// Nil once it was called.
  private var answer: Answer?
  /// Zero once it was reaped.
  private(set) var process: pid_t = 0
  private var output: Int32 = -1
  private var printed: [UInt8] = []
  private var reading: EventLoop.IOSource?
  private var child: SystemEvents.ChildSource?
  private var timer: Timers.ID?

  /// Starts the command in a process group of its own.
  /// - Throws: why it could not be started; `done` is not called then.
  init(_ words: [String], environment: [String], timeLimit: Duration, loop: EventLoop, _ done: @escaping Answer)
    throws(CredentialProblem)
  {
    self.loop = loop
    program = words.first ?? ""
    answer = done
    let path = try CommandEnvironment.locate(program)
    do throws(SystemError) {
      (process, output) = try CommandSpawn.start(path, words: words, environment: environment)
    } catch { throw Self.unusable(program, error) }
    do throws(SystemError) { try watch(timeLimit) } catch {
      kill()
      throw CredentialProblem("the command \(program) cannot be watched: \(error.description)")
    }
  }

  deinit {
    loop.timers.cancel(timer)
    reading = nil
    if output >= 0 { close(output) }
  }

  /// Ends the whole group at once and reaps the process. Nothing is called back.
  func kill() {
    answer = nil
    guard process > 0 else { return }
    signal(SIGKILL)
    child = nil
    // It has been killed: this waits no longer than the kernel needs to tear it down.
    while waitpid(process, nil, 0) < 0, errno == EINTR {}
    process = 0
  }

  private func watch(_ timeLimit: Duration) throws(SystemError) {
    reading = try loop.addIO(output, .readable) { [unowned self] _ in outputIsReadable() }
    child = try loop.system.addChild(process) { [unowned self] ending in ended(ending) }
    timer = loop.timers.after(timeLimit) { [unowned self] in timeIsOver(timeLimit) }
  }

  private func signal(_ number: Int32) { _ = Glibc.kill(-process, number) }

  // MARK: - What happens

  private func outputIsReadable() {
    guard drain() else { return }
    finish(.failure(CredentialProblem("the command \(program) printed more than \(SecretSource.sizeLimit >> 10) KiB")))
    terminate()
  }

  /// Takes what is there. True when it is too much.
  private func drain() -> Bool {
    while output >= 0 {
      var chunk = [UInt8](repeating: 0, count: 4_096)
      let got = read(output, &chunk, chunk.count)
      if got < 0, errno == EINTR { continue }
      if got < 0, errno == EAGAIN { return false }
      guard got > 0 else {
        closeOutput()
        return false
      }
      guard printed.count + got <= SecretSource.sizeLimit else { return true }
      printed += chunk[..<got]
    }
    return false
  }

  private func timeIsOver(_ limit: Duration) {
    finish(.failure(CredentialProblem("the command \(program) did not end within \(limit.milliseconds) ms")))
    terminate()
  }

  /// Asks the group to end, and makes it after the grace.
  private func terminate() {
    closeOutput()
    signal(SIGTERM)
    loop.timers.cancel(timer)
    timer = loop.timers.after(Self.grace) { [unowned self] in signal(SIGKILL) }
  }

  /// The process has ended and is not reaped yet, so that its group still is ours. What others of the group would print
  /// later does not count.
  private func ended(_ ending: SystemEvents.ChildEnding) {
    let isTooMuch = answer != nil && drain()
    signal(SIGKILL)
    process = 0
    switch ending {
    case _ where isTooMuch:
      finish(
        .failure(CredentialProblem("the command \(program) printed more than \(SecretSource.sizeLimit >> 10) KiB")))
    case .exited(0) where printed.isEmpty:
      finish(.failure(CredentialProblem("the command \(program) printed nothing")))
    case .exited(0): finish(.success(printed))
    case .exited(let status):
      finish(.failure(CredentialProblem("the command \(program) ended with exit status \(status)")))
    case .killed(let number):
      finish(.failure(CredentialProblem("the command \(program) was ended by signal \(number)")))
    }
    onEnd?()
  }

  private func finish(_ result: Result<[UInt8], CredentialProblem>) {
    let answer = answer
    self.answer = nil
    printed = []
    answer?(result)
  }

  private func closeOutput() {
    reading = nil
    if output >= 0 { close(output) }
    output = -1
  }

  private static func unusable(_ program: String, _ error: SystemError) -> CredentialProblem {
    switch error.code {
    case ENOENT: CredentialProblem("the command \(program) was not found")
    case EACCES, ENOEXEC, EISDIR, EPERM: CredentialProblem("the command \(program) is not executable")
    default: CredentialProblem("the command \(program) cannot be started: \(SystemError.text(of: error.code))")
    }
  }
}

/// Starts a program without a shell.
enum CommandSpawn {
  /// Starts it in a new process group, in `/`, with no descriptor but standard input and standard error on `/dev/null`
  /// and standard output on a pipe.
  /// - Returns: the process, and the end of the pipe to read from, which is non-blocking and close-on-exec.
  static func start(_ path: String, words: [String], environment: [String]) throws(SystemError) -> (pid_t, Int32) {
    var reading: Int32 = -1
    var writing: Int32 = -1
    guard gw_pipe(&reading, &writing) == 0 else { throw SystemError("make a pipe") }
    defer { close(writing) }
    var arguments = words.map { strdup($0) } + [nil]
    var variables = environment.map { strdup($0) } + [nil]
    defer { for text in arguments + variables { free(text) } }
    var process: pid_t = 0
    let code = gw_spawn(path, &arguments, &variables, writing, &process)
    guard code == 0 else {
      close(reading)
      throw SystemError("start \(path)", code: code)
    }
    _ = fcntl(reading, F_SETFL, O_NONBLOCK)
    return (process, reading)
  }
}

/// Where a command that prints credentials is found, and what it gets to know: little, always the same, no secret.
struct CommandEnvironment: Equatable {
  /// Where a program that is named without a path is looked for; also the command's `PATH`.
  static let folders = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"]
  /// Variables of the daemon that are passed on, where they are set: what a program needs to find its own files, the
  /// service's credentials, and the secrets of the user's session.
  static let passedOn = [
    "HOME", "USER", "LOGNAME", "TZ", "CREDENTIALS_DIRECTORY", "STATE_DIRECTORY", "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
  ]

  private let common: [String]

  init(_ environment: (String) -> String?) {
    common =
      ["PATH=" + Self.folders.joined(separator: ":"), "LANG=C.UTF-8"]
      + Self.passedOn.compactMap { name in environment(name).map { "\(name)=\($0)" } }
  }

  /// `NAME=value` for each variable.
  func variables(for request: SecretRequest) -> [String] {
    common + ["GATEWAYD_UPSTREAM=\(request.upstream ?? "")", "GATEWAYD_URL=\(request.url)"]
  }

  /// The path of a program: itself, or the first one of its name that can be run. Otherwise why there is none.
  static func locate(_ program: String) throws(CredentialProblem) -> String {
    guard !program.contains("/") else { return program }
    var isThere = false
    for folder in folders {
      let path = "\(folder)/\(program)"
      if access(path, X_OK) == 0 { return path }
      if access(path, F_OK) == 0 { isThere = true }
    }
    let why = isThere ? "is not executable" : "was not found in \(folders.joined(separator: ":"))"
    throw CredentialProblem("the command \(program) \(why)")
  }
}
