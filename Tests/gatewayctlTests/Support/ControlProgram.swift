import CLinux
@preconcurrency import Glibc
import Testing

/// The real binary, run as a child with its three standard streams in our hands.
final class ControlProgram {
  /// How it ended. A signal's number is negative.
  struct Outcome: Equatable, CustomStringConvertible {
    var status: Int32
    var output: String
    var errors: String
    var lines: [String] { output.split(separator: "\n").map(String.init) }
    var description: String { "\(status)\n\(output)\n\(errors)" }
  }

  private var pid: pid_t = 0
  private var input: Int32
  private var output: Int32
  private var errors: Int32
  private var printed: [UInt8] = []
  private var said: [UInt8] = []

  /// Long enough for a machine under load.
  static let patience: Int32 = 30_000

  /// The binary next to the test bundle.
  static let path: String = {
    var buffer = [CChar](repeating: 0, count: 4096)
    let count = readlink("/proc/self/exe", &buffer, buffer.count)
    let own = String(decoding: buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let beside = directory(of: own) + "/gatewayctl"
    if access(beside, X_OK) == 0 { return beside }
    let package = directory(of: directory(of: directory(of: directory(of: #filePath))))
    return package + "/.build/debug/gatewayctl"
  }()

  private static func directory(of path: String) -> String {
    path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
  }

  /// `terminal` replaces standard output.
  init(
    _ words: [String], socket: String?, environment: [String: String] = [:], terminal: PseudoTerminal? = nil
  ) throws {
    let (inputPipe, outputPipe, errorPipe) = (Self.pipe(), Self.pipe(), Self.pipe())
    input = inputPipe[1]
    output = terminal.map { fcntl($0.controller, F_DUPFD_CLOEXEC, 0) } ?? outputPipe[0]
    errors = errorPipe[0]
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawn_file_actions_adddup2(&actions, inputPipe[0], 0)
    posix_spawn_file_actions_adddup2(&actions, terminal?.terminal ?? outputPipe[1], 1)
    posix_spawn_file_actions_adddup2(&actions, errorPipe[1], 2)
    var variables = ["PATH": "/usr/bin:/bin"]
    if let socket { variables["GATEWAYD_SOCKET"] = socket }
    variables.merge(environment) { $1 }
    var argv = ([Self.path] + words).map { strdup($0) } + [nil]
    var envp = variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
    // A shell's background job has the interrupt ignored, and its children inherit that: they begin like a user's.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    var interrupt = sigset_t()
    sigemptyset(&interrupt)
    sigaddset(&interrupt, SIGINT)
    posix_spawnattr_setsigdefault(&attributes, &interrupt)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
    let code = posix_spawn(&pid, Self.path, &actions, &attributes, &argv, &envp)
    posix_spawnattr_destroy(&attributes)
    posix_spawn_file_actions_destroy(&actions)
    for text in argv + envp { free(text) }
    for end in [inputPipe[0], outputPipe[1], errorPipe[1]] { close(end) }
    if terminal != nil { close(outputPipe[0]) }
    terminal?.handOver()
    try #require(code == 0, "\(Self.path) cannot be run")
  }

  deinit {
    for end in [input, output, errors] where end >= 0 { close(end) }
    if pid > 0 {
      kill(pid, SIGKILL)
      waitpid(pid, nil, 0)
    }
  }

  /// No other child gets an end: this one's would never come.
  private static func pipe() -> [Int32] {
    var (reading, writing): (Int32, Int32) = (-1, -1)
    _ = gw_pipe(&reading, &writing)
    return [reading, writing]
  }

  /// Runs it to its end.
  static func run(
    _ words: [String], socket: String?, input: String = "", environment: [String: String] = [:],
    terminal: PseudoTerminal? = nil
  ) throws -> Outcome {
    let program = try ControlProgram(words, socket: socket, environment: environment, terminal: terminal)
    program.type(input)
    return try program.finish()
  }

  /// Writes to its standard input.
  func type(_ text: String) {
    let bytes = Array(text.utf8)
    if !bytes.isEmpty { _ = write(input, bytes, bytes.count) }
  }

  func interrupt() { kill(pid, SIGINT) }

  /// Closes the reading end of its standard output.
  func closeOutput() {
    close(output)
    output = -1
  }

  /// The next line of its standard output.
  func line() throws -> String {
    while true {
      if let end = printed.firstIndex(of: 0x0a) {
        defer { printed.removeFirst(end + 1) }
        return String(decoding: printed[..<end], as: UTF8.self)
      }
      try #require(try read(), "it ended early: \(String(decoding: said, as: UTF8.self))")
    }
  }

  /// Waits until it has said this on standard error.
  func awaitError(containing text: String) throws {
    while !String(decoding: said, as: UTF8.self).contains(text) {
      try #require(try read(), "it ended without '\(text)': \(String(decoding: said, as: UTF8.self))")
    }
  }

  /// Closes its standard input and waits for its end. What `line` has handed out is not in the outcome.
  func finish() throws -> Outcome {
    if input >= 0 { close(input) }
    input = -1
    while try read() {}
    var status: Int32 = 0
    waitpid(pid, &status, 0)
    pid = 0
    let signal = status & 0x7f
    return Outcome(
      status: signal == 0 ? status >> 8 & 0xff : -signal, output: String(decoding: printed, as: UTF8.self),
      errors: String(decoding: said, as: UTF8.self))
  }

  /// Reads what comes next; false at the end of both streams.
  private func read() throws -> Bool {
    var entries = [
      pollfd(fd: output, events: Int16(POLLIN), revents: 0), pollfd(fd: errors, events: Int16(POLLIN), revents: 0),
    ]
    guard output >= 0 || errors >= 0 else { return false }
    try #require(poll(&entries, 2, Self.patience) > 0, "it hangs: \(String(decoding: said, as: UTF8.self))")
    var chunk = [UInt8](repeating: 0, count: 65536)
    if entries[0].revents != 0 {
      let count = Glibc.read(output, &chunk, chunk.count)
      if count > 0 { printed += chunk[..<count] } else { closeOutput() }
    }
    if entries[1].revents != 0 {
      let count = Glibc.read(errors, &chunk, chunk.count)
      if count > 0 {
        said += chunk[..<count]
      } else {
        close(errors)
        errors = -1
      }
    }
    return true
  }
}

/// A terminal, which has a size only where it is given one.
final class PseudoTerminal {
  let controller: Int32
  private(set) var terminal: Int32

  init(columns: UInt16 = 0) throws {
    controller = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
    var unlock: Int32 = 0
    var number: UInt32 = 0
    // TIOCSPTLCK and TIOCGPTN of asm-generic/ioctls.h, which the C library's module leaves out.
    try #require(controller >= 0 && ioctl(controller, 0x4004_5431, &unlock) == 0, "no pseudo-terminals here")
    try #require(ioctl(controller, 0x8004_5430, &number) == 0)
    terminal = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
    try #require(terminal >= 0)
    // TIOCSWINSZ.
    var size: (UInt16, UInt16, UInt16, UInt16) = (24, columns, 0, 0)
    try #require(columns == 0 || ioctl(controller, 0x5414, &size) == 0)
  }

  deinit {
    close(controller)
    handOver()
  }

  /// Only the program has it open now, so that its end shows.
  func handOver() {
    if terminal >= 0 { close(terminal) }
    terminal = -1
  }
}
