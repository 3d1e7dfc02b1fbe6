@testable import GatewayCore
import Glibc

@testable import gatewayd

/// A local server on a socket of its own, with a gateway behind it, turned by the test itself: no thread, no waiting.
final class LocalServerFixture {
  let loop: EventLoop
  let gateway: Gateway
  let server: LocalServer
  let upstream: LocalServerUpstream
  /// What the gateway reported.
  private(set) var facts: [GatewayFact] = []
  private let directory: TemporaryDirectory
  private let file: SocketFile

  init(flushLimit: Int = LocalPeers.flushLimit, _ change: (inout Configuration) -> Void = { _ in }) throws {
    SystemEvents.takeSignals([])
    var configuration = Configuration()
    change(&configuration)
    directory = try TemporaryDirectory()
    loop = try EventLoop()
    upstream = LocalServerUpstream(timers: loop.timers)
    configuration.upstreams["chat"] = ConfiguredUpstream(
      url: UpstreamURL(scheme: "test", host: "chat.example"), settings: UpstreamSettings())
    gateway = Gateway(
      configuration: configuration, identity: GatewayIdentity(version: "1.2.3", pid: getpid(), uid: getuid()),
      seams: GatewaySeams(
        time: loop.time, timers: loop.timers, random: SystemRandom(), urls: NoURLs(),
        kinds: UpstreamKindSet(all: [upstream]),
        loader: SameConfiguration(configuration), residentBytes: { 0 }))
    server = try LocalServer(gateway: gateway, loop: loop, flushLimit: flushLimit)
    file = try SocketFile(path: directory / "s", mode: 0o600, group: nil)
    try server.listen(on: file.descriptor)
    gateway.onFact = { [unowned self] in facts.append($0) }
    gateway.onClose = { [unowned self] in server.close($0) }
  }

  deinit { file.remove() }

  /// Connects one more client. The server has not accepted it yet.
  func connect() throws -> LocalClientFixture { try LocalClientFixture(file.path) }

  /// Turns the loop until `condition` holds; false when it does not within `limit`.
  func turn(_ limit: Duration = .seconds(120), until condition: () -> Bool) throws -> Bool {
    let deadline = loop.time.now + limit
    while !condition() {
      guard loop.time.now < deadline else { return false }
      try loop.turn(sleepingAtMost: .milliseconds(1))
    }
    return true
  }

  /// Sessions that the gateway holds.
  var sessionCount: Int {
    facts.reduce(0) { count, fact in
      switch fact {
      case .clientAttached: count + 1
      case .clientDetached: count - 1
      default: count
      }
    }
  }

  /// Turns the loop until nothing is ready any more.
  func settle() throws {
    var quietTurns = 0
    while quietTurns < 20 {
      try loop.turn(sleepingAtMost: .zero)
      quietTurns = loop.hasDeferred ? 0 : quietTurns + 1
    }
  }
}

/// A test that reads URLs has none.
private final class NoURLs: URLReader {
  func read(_ text: String) throws(URLProblem) -> UpstreamURL { throw URLProblem("there are no URLs here") }
}

private final class SameConfiguration: ConfigurationLoader {
  private let configuration: Configuration
  init(_ configuration: Configuration) { self.configuration = configuration }
  func load() -> Result<Configuration, ConfigurationProblems> { .success(configuration) }
}

/// The client's end of a connection to `LocalServerFixture`. Never blocks.
final class LocalClientFixture {
  private(set) var socket: Int32
  private var received: [UInt8] = []
  /// The server has closed or reset the connection.
  private(set) var isEnded = false

  init(_ path: String) throws {
    socket = try UnixSocket.make()
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { [socket] in
        Glibc.connect(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard result == 0 else { throw SystemError("connect") }
  }

  /// The client's end of a connection that is there already.
  init(socket: Int32) { self.socket = socket }

  deinit { close() }

  /// Vanishes.
  func close() {
    if socket >= 0 { Glibc.close(socket) }
    socket = -1
  }

  /// Writes what the kernel takes, and says how many bytes that were.
  @discardableResult
  func send(_ text: String) -> Int {
    send(bytes: Array(text.utf8)[...])
  }

  /// Writes what the kernel takes, and says how many bytes that were.
  func send(bytes: ArraySlice<UInt8>) -> Int {
    bytes.withUnsafeBytes { max(0, write(socket, $0.baseAddress, $0.count)) }
  }

  /// Every complete line that has arrived since the last call.
  func lines() -> [String] {
    receive()
    var lines: [String] = []
    var rest = received[...]
    while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
      lines.append(String(decoding: rest[..<end], as: UTF8.self))
      rest = rest[(end + 1)...]
    }
    received = Array(rest)
    return lines
  }

  /// Takes what has arrived.
  func receive() {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = read(socket, &buffer, buffer.count)
      if count > 0 {
        received.append(contentsOf: buffer.prefix(count))
      } else {
        if count == 0 || errno != EAGAIN { isEnded = true }
        return
      }
    }
  }

  /// Bytes that have arrived and were not taken.
  var unread: Int {
    var count: Int32 = 0
    return ioctl(socket, UInt(FIONREAD), &count) == 0 ? Int(count) : 0
  }

  /// Sends nothing more; still reads.
  func endOutput() { shutdown(socket, Int32(SHUT_WR)) }

  static func ping(_ id: Int) -> String { "{\"jsonrpc\":\"2.0\",\"id\":\(id),\"method\":\"ping\"}\n" }
  static func pong(_ id: Int) -> String { "{\"jsonrpc\":\"2.0\",\"id\":\(id),\"result\":{}}" }
}
