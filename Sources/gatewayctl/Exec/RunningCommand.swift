import GatewayCore

// The C library's `environ` is a global variable; this program has one thread.
@preconcurrency import Glibc

/// A command that was started for one event: its standard input is written and its standard output collected without
/// ever waiting for it.
final class RunningCommand {
  let event: ReceivedEvent
  private let pid: pid_t
  /// -1 once everything was written.
  private var input: Int32
  private var pendingInput: [UInt8]
  /// -1 where the command writes to our own standard output, and once it has closed it.
  private var output: Int32
  /// What the command has printed, at most `outputLimit` bytes.
  private(set) var printed: [UInt8] = []
  /// Nil while the command runs.
  private(set) var ending: Ending?

  /// More printed bytes than this make the command fail: no daemon would take them.
  static let outputLimit = 64 << 20

  /// How a command ended.
  enum Ending: Equatable, Sendable {
    case exited(Int32)
    case killed(signal: Int32)
    case printedTooMuch

    var description: String {
      switch self {
      case .exited(let status): "ended with exit code \(status)"
      case .killed(let signal): "was killed by signal \(signal)"
      case .printedTooMuch: "printed more than \(RunningCommand.outputLimit >> 20) MiB"
      }
    }
  }

  private init(event: ReceivedEvent, pid: pid_t, input: Int32, pendingInput: [UInt8], output: Int32) {
    self.event = event
    self.pid = pid
    self.input = input
    self.pendingInput = pendingInput
    self.output = output
  }

  deinit {
    closeInput()
    closeOutput()
  }

  /// Starts `words[0]`, found by `PATH`, with `input` on its standard input and `variables` added to the environment,
  /// as far as it takes them.
  static func start(
    _ words: [String], for event: ReceivedEvent, input: [UInt8], variables: [(name: String, value: String)],
    collectsOutput: Bool
  ) throws(Failure) -> RunningCommand {
    let inputPipe = try Pipe.open()
    let outputPipe = collectsOutput ? try Pipe.open() : nil
    defer {
      close(inputPipe.reading)
      if let outputPipe { close(outputPipe.writing) }
    }
    let spawned = spawn(words, variables: variables, input: inputPipe.reading, output: outputPipe?.writing)
    guard case .success(let pid) = spawned else {
      close(inputPipe.writing)
      if let outputPipe { close(outputPipe.reading) }
      guard case .failure(let reason) = spawned else { throw Failure(.internalError, "no command was started") }
      throw Executable.unusable(words.first ?? "", reason.code)
    }
    for end in [inputPipe.writing, outputPipe?.reading ?? -1] { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
    let command = RunningCommand(
      event: event, pid: pid, input: inputPipe.writing, pendingInput: input, output: outputPipe?.reading ?? -1)
    command.transfer()
    return command
  }

  /// The error number of a command that could not be started.
  private struct SpawnError: Error {
    var code: Int32
  }

  private static func spawn(
    _ words: [String], variables: [(name: String, value: String)], input: Int32, output: Int32?
  ) -> Result<pid_t, SpawnError> {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
    if let output { posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO) }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    var defaults = sigset_t()
    sigemptyset(&defaults)
    sigaddset(&defaults, SIGPIPE)
    posix_spawnattr_setsigdefault(&attributes, &defaults)
    var blocked = sigset_t()
    sigemptyset(&blocked)
    posix_spawnattr_setsigmask(&attributes, &blocked)
    let ownGroup = ChildProcesses.haveOwnGroup
    let flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | (ownGroup ? POSIX_SPAWN_SETPGROUP : 0)
    posix_spawnattr_setflags(&attributes, Int16(flags))
    var vector = words.map { strdup($0) } + [nil]
    defer {
      for word in vector { free(word) }
      posix_spawnattr_destroy(&attributes)
      posix_spawn_file_actions_destroy(&actions)
    }
    return ChildEnvironment(adding: variables).withVector { environment in
      Signals.holdingBack {
        var pid: pid_t = 0
        let code = posix_spawnp(&pid, vector[0] ?? strdup(""), &actions, &attributes, &vector, environment)
        guard code == 0 else { return .failure(SpawnError(code: code)) }
        ChildProcesses.add(pid, ownGroup: ownGroup)
        return .success(pid)
      }
    }
  }

  // MARK: Running

  /// What to wait for with `poll(2)`.
  var pollEntries: [pollfd] {
    var entries: [pollfd] = []
    if input >= 0 { entries.append(pollfd(fd: input, events: Int16(POLLOUT), revents: 0)) }
    if output >= 0 { entries.append(pollfd(fd: output, events: Int16(POLLIN), revents: 0)) }
    return entries
  }

  /// Writes and reads what is possible, and finds out whether the command has ended.
  func transfer() {
    writeInput()
    readOutput()
    guard ending == nil else { return }
    var status: Int32 = 0
    guard collect(&status, WNOHANG) else { return }
    readOutput()
    guard ending == nil else { return }
    let signal = status & 0x7f
    ending = signal == 0 ? .exited(status >> 8 & 0xff) : .killed(signal: signal)
    closeInput()
    closeOutput()
  }

  private func writeInput() {
    while input >= 0, !pendingInput.isEmpty {
      let count = write(input, pendingInput, pendingInput.count)
      if count < 0, errno == EINTR { continue }
      if count < 0, errno == EAGAIN { return }
      // A command that does not read what it gets is free to.
      guard count > 0 else { break }
      pendingInput.removeFirst(count)
    }
    closeInput()
  }

  private func readOutput() {
    var chunk = [UInt8](repeating: 0, count: 64 * 1024)
    while output >= 0 {
      let count = read(output, &chunk, chunk.count)
      if count < 0, errno == EINTR { continue }
      if count < 0, errno == EAGAIN { return }
      guard count > 0 else { return closeOutput() }
      printed += chunk[..<count]
      guard printed.count <= Self.outputLimit else {
        return endAsTooTalkative()
      }
    }
  }

  private func endAsTooTalkative() {
    ending = .printedTooMuch
    closeInput()
    closeOutput()
    kill(pid, SIGKILL)
    var status: Int32 = 0
    _ = collect(&status, 0)
  }

  /// Whether the process has ended and is forgotten.
  private func collect(_ status: inout Int32, _ options: Int32) -> Bool {
    Signals.holdingBack {
      guard waitpid(pid, &status, options) == pid else { return false }
      ChildProcesses.remove(pid)
      return true
    }
  }

  private func closeInput() {
    if input >= 0 { close(input) }
    input = -1
    pendingInput = []
  }

  private func closeOutput() {
    if output >= 0 { close(output) }
    output = -1
  }
}

/// Finds out before the first event whether a command can be run.
enum Executable {
  /// Throws unless `word` is an executable file or the name of one in `$PATH`.
  static func check(_ word: String) throws(Failure) {
    if word.contains("/") {
      guard access(word, X_OK) == 0 else { throw unusable(word, errno) }
      return
    }
    let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
    let directories = path.split(separator: ":", omittingEmptySubsequences: false)
    let isThere = directories.contains { access($0.isEmpty ? word : "\($0)/\(word)", X_OK) == 0 }
    guard isThere, !word.isEmpty else { throw unusable(word, ENOENT) }
  }

  /// The error of a command that cannot be started.
  static func unusable(_ word: String, _ code: Int32) -> Failure {
    let advice = code == E2BIG ? "its words and the environment are too much for a program" : "check its name"
    return Failure(.usage, "'\(ShownAddress.word(word))' cannot be run: \(SystemText.ofError(code)); \(advice)")
  }
}

/// The environment of one command: what this program was given itself, and variables of the command's own in the place
/// of inherited ones of the same names. It is made for each command, and gone with its start.
struct ChildEnvironment {
  /// Longest `NAME=value` that Linux passes to a program, in bytes with the final NUL (`MAX_ARG_STRLEN`, 32 pages). One
  /// longer text makes the start fail as a whole.
  static let textLimit = 32 * sysconf(Int32(_SC_PAGESIZE))

  private let inherited: [UnsafeMutablePointer<CChar>]
  /// `NAME=value` each.
  private let own: [String]

  /// - Parameter variables: a value that is too long for an environment is left out.
  init(adding variables: [(name: String, value: String)]) {
    let prefixes = variables.map { $0.name + "=" }
    var inherited: [UnsafeMutablePointer<CChar>] = []
    var place: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = environ
    while let current = place, let text = current.pointee {
      if !prefixes.contains(where: { strncmp(text, $0, $0.utf8.count) == 0 }) { inherited.append(text) }
      place = current.successor()
    }
    self.inherited = inherited
    own = variables.map { "\($0.name)=\($0.value)" }.filter { $0.utf8.count < Self.textLimit }
  }

  /// Calls back with a vector that ends with nil and is valid until the call returns.
  func withVector<Result>(_ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> Result) -> Result {
    let copies = own.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    var vector = inherited.map { Optional($0) } + copies + [nil]
    return vector.withUnsafeMutableBufferPointer { body($0.baseAddress) }
  }
}

/// An anonymous pipe whose ends no child inherits by accident.
enum Pipe {
  static func open() throws(Failure) -> (reading: Int32, writing: Int32) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else {
      throw Failure(.internalError, "no pipe can be opened: \(SystemText.ofError(errno)); close some files")
    }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }
}
