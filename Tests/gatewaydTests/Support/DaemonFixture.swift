import Glibc

@testable import gatewayd

/// The real program, in a process of its own, with a configuration and a socket in a temporary directory.
final class DaemonFixture {
  let directory: TemporaryDirectory
  /// Without one of its own it would take the machine's.
  private let state: TemporaryDirectory
  private let pid: pid_t
  private var ended: Int32?
  private let notifications: Int32

  /// Starts `gatewayd ARGUMENTS` by way of a shell that first runs `preparation`; `%` stands for the directory. A passed
  /// socket becomes the program's descriptor 3.
  init(
    _ arguments: String = "--config %/c.toml --socket %/s", configuration: String = "", preparation: String = ":",
    passing passed: Int32? = nil, in given: TemporaryDirectory? = nil
  ) throws {
    directory = try given ?? TemporaryDirectory()
    let file = open(directory / "c.toml", O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
    Descriptors.write(file, configuration)
    close(file)
    notifications = Descriptors.datagramSocket()
    try UnixSocket.bind(notifications, to: directory / "notify")
    state = try TemporaryDirectory()
    var script = """
      \(preparation)
      export NOTIFY_SOCKET=%/notify STATE_DIRECTORY=\(state.path)
      exec \(Self.program) \(arguments) >%/out 2>%/err

      """
    script = script.split(separator: "%", omittingEmptySubsequences: false).joined(separator: directory.path)
    pid = try Self.spawn(script, passing: passed)
  }

  deinit {
    if ended == nil {
      kill(pid, SIGKILL)
      waitpid(pid, nil, 0)
    }
    close(notifications)
  }

  /// Built beside the tests.
  private static var program: String {
    var buffer = [UInt8](repeating: 0, count: 4_096)
    let count = buffer.withUnsafeMutableBytes { bytes in
      readlink("/proc/self/exe", bytes.bindMemory(to: CChar.self).baseAddress.unsafelyUnwrapped, bytes.count)
    }
    let path = buffer.prefix(max(0, count))
    let folder = path[..<(path.lastIndex(of: UInt8(ascii: "/")) ?? 0)]
    return String(decoding: folder, as: UTF8.self) + "/gatewayd"
  }

  /// Signals are taken by tests of the loop: the child starts with none blocked and none ignored.
  private static func spawn(_ script: String, passing passed: Int32?) throws -> pid_t {
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    if let passed { posix_spawn_file_actions_adddup2(&actions, passed, 3) }
    // Nor does it take the descriptors of tests that run beside this one, which would count in its limit. Those that are
    // not open are passed over.
    for other in (passed == nil ? 3 : 4)..<Int32(1_024) { posix_spawn_file_actions_addclose(&actions, other) }
    let texts: [String] = ["/bin/sh", "-c", script]
    var words: [UnsafeMutablePointer<CChar>?] = texts.map { strdup($0) }
    words.append(nil)
    // Nothing of the test's own environment, which other tests change. The leak sanitizer takes static tables for leaks.
    var variables: [UnsafeMutablePointer<CChar>?] = [
      strdup("PATH=/usr/bin:/bin"), strdup("ASAN_OPTIONS=detect_leaks=0"), nil,
    ]
    defer { (words + variables).forEach { free($0) } }
    var pid = pid_t()
    let result = posix_spawn(&pid, "/bin/sh", &actions, &attributes, &words, &variables)
    guard result == 0 else { throw SystemError("start the daemon", code: result) }
    return pid
  }

  var socketPath: String { directory / "s" }

  /// Connects as soon as the socket is there.
  func connect() throws -> LocalClientFixture {
    _ = wait { UnixSocket.probe(socketPath) == .alive }
    return try LocalClientFixture(socketPath)
  }

  func send(_ signal: Int32) { kill(pid, signal) }

  /// The next message to the service manager, as lines; empty if none comes.
  func notification() -> [String] {
    var buffer = [UInt8](repeating: 0, count: 4_096)
    var count = -1
    _ = wait {
      count = recv(notifications, &buffer, buffer.count, 0)
      return count > 0
    }
    return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self).split(separator: "\n").map(String.init)
  }

  /// The exit status; nil if the program does not end, or ends by a signal.
  func exitStatus() -> Int32? {
    _ = wait {
      var status: Int32 = 0
      if ended == nil, waitpid(pid, &status, WNOHANG) == pid { ended = status }
      return ended != nil
    }
    return ended.flatMap { $0 & 0x7f == 0 ? $0 >> 8 & 0xff : nil }
  }

  /// What the program wrote to its standard error.
  var complaints: String { text("err") }
  var output: String { text("out") }

  /// Processor time that the program has used, in clock ticks.
  var ticks: Int {
    let fields = Self.read("/proc/\(pid)/stat").split(separator: ")").last?.split(separator: " ") ?? []
    return fields.count > 12 ? (Int(fields[11]) ?? 0) + (Int(fields[12]) ?? 0) : 0
  }

  private func text(_ name: String) -> String { Self.read(directory / name) }

  private static func read(_ path: String) -> String {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    defer { close(file) }
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    let count = Glibc.read(file, &buffer, buffer.count)
    return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
  }

  /// Looks every few milliseconds, for twenty seconds at most.
  func wait(until condition: () -> Bool) -> Bool {
    for _ in 0..<4_000 {
      if condition() { return true }
      usleep(5_000)
    }
    return false
  }
}
