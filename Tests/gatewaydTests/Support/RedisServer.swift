@testable import GatewayCore
import Glibc

@testable import gatewayd

/// A real Redis server on a port of 127.0.0.1, in memory, with a directory of its own. It ends with this object, and with
/// the test program, however that ends.
final class RedisServer {
  struct Gone: Error {}

  /// The program; nil where there is none. Debian's `redis-tools` has it under another name, which starts no service; by
  /// the name that it is started with it knows what it is to be.
  static let program: String? = {
    if let named = getenv("GATEWAY_REDIS_SERVER") { return String(cString: named) }
    return ["/usr/bin/redis-server", "/usr/local/bin/redis-server", "/usr/bin/redis-check-rdb"].first {
      access($0, X_OK) == 0
    }
  }()
  /// Why tests with it are skipped.
  static let missing =
    "there is no Redis: the package redis-tools is not installed, and GATEWAY_REDIS_SERVER names none"

  private(set) var port: UInt16 = 0
  private let directory: TemporaryDirectory
  private var wrapper: pid_t = -1
  private var server: pid_t = -1
  /// The wrapper ends the server when this end is closed.
  private var leash: Int32 = -1

  /// - Parameters:
  ///   - options: of the command line, such as `--appendonly yes`.
  ///   - isSecure: the port wants TLS, with the certificates of `WebSocketPeerTLS`.
  init(_ options: [String] = [], isSecure: Bool = false) throws {
    directory = try TemporaryDirectory()
    guard let program = Self.program, symlink(program, directory / "redis-server") == 0 else { throw Gone() }
    for _ in 0..<20 {
      port = try Self.freePort()
      if try start(options, isSecure: isSecure) { return }
      end()
    }
    throw Gone()
  }

  deinit { end() }

  /// SIGKILL, and none of it is left.
  func kill() { end() }

  /// Stands still, and goes on.
  func stop() { Glibc.kill(server, SIGSTOP) }
  func goOn() { Glibc.kill(server, SIGCONT) }

  /// On the same port, empty unless the options say otherwise.
  func restart(_ options: [String] = []) throws {
    end()
    guard try start(options, isSecure: false) else { throw Gone() }
  }

  private func end() {
    guard wrapper > 0 else { return }
    if server > 0 { Glibc.kill(server, SIGCONT) }
    close(leash)
    var status: Int32 = 0
    while waitpid(wrapper, &status, 0) < 0, errno == EINTR {}
    wrapper = -1
  }

  /// False where it ended instead, as where somebody else has taken the port meanwhile.
  private func start(_ options: [String], isSecure: Bool) throws -> Bool {
    var ports = ["--port", String(port)]
    if isSecure {
      let files = WebSocketPeerTLS.files
      ports = [
        "--port", "0", "--tls-port", String(port), "--tls-cert-file", files.certificate, "--tls-key-file", files.key,
        "--tls-ca-cert-file", files.authority, "--tls-auth-clients", "no",
      ]
    }
    // That the server is the only one with this output shows its end.
    let script = #""$0" "$@" & echo $!; exec >/dev/null; read -r line; kill -9 $!; wait $!"#
    let words =
      [
        "/bin/sh", "-c", script, directory / "redis-server", "--bind", "127.0.0.1", "--dir", directory.path, "--save",
        "",
      ]
      + ports + options
    let (input, output) = (try Self.pipe(), try Self.pipe())
    leash = input.ours
    defer { for end in [input.theirs, output.ours] { close(end) } }
    wrapper = try Self.spawn(words, input: input.theirs, output: output.theirs)
    guard let stream = fdopen(fcntl(output.ours, F_DUPFD_CLOEXEC, 0), "r") else { throw Gone() }
    defer { fclose(stream) }
    close(output.theirs)
    var line = [CChar](repeating: 0, count: 4_096)
    while fgets(&line, Int32(line.count), stream) != nil {
      let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      if let pid = pid_t(text.dropLast()) { server = pid }
      if text.contains("Ready to accept connections") { return true }
    }
    return false
  }

  /// Nothing else that tests start keeps an end of it.
  private static func pipe() throws -> (ours: Int32, theirs: Int32) {
    var ends: [Int32] = [-1, -1]
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw SystemError("make a socket pair") }
    return (ends[0], ends[1])
  }

  /// With no signal blocked: tests of the loop take them.
  private static func spawn(_ words: [String], input: Int32, output: Int32) throws -> pid_t {
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
    posix_spawn_file_actions_adddup2(&actions, input, 0)
    posix_spawn_file_actions_adddup2(&actions, output, 1)
    var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    var variables: [UnsafeMutablePointer<CChar>?] = [strdup("PATH=/usr/bin:/bin"), nil]
    defer { for text in arguments + variables { free(text) } }
    var pid = pid_t()
    let result = posix_spawn(&pid, "/bin/sh", &actions, &attributes, &arguments, &variables)
    guard result == 0 else { throw SystemError("start Redis", code: result) }
    return pid
  }

  /// One that nothing listens on now.
  private static func freePort() throws -> UInt16 { try ClosedPort().port }
}

extension RedisServer {
  /// Asks it something on a connection of its own; the answer as it is written.
  @discardableResult
  func ask(_ words: String...) throws -> String {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    let length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, length) }
    }
    guard result == 0 else { throw Gone() }
    var command = "*\(words.count)\r\n"
    for word in words { command += "$\(word.utf8.count)\r\n\(word)\r\n" }
    Descriptors.write(descriptor, command)
    let reader = RESPReader()
    var answer: [UInt8] = []
    var isWhole = false
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while !isWhole, case let count = read(descriptor, &buffer, buffer.count), count > 0 {
      answer += buffer[..<count]
      try reader.receive(buffer.span.bytes.extracting(0..<count), opening: { 0 }) { _, _, isLast in
        isWhole = isLast
        return true
      }
    }
    return String(decoding: answer, as: UTF8.self)
  }
}
