@testable import GatewayCore
import Glibc
import Testing

/// A daemon that plays a script: accept a client, read its calls, say something, hang up. The script runs in a thread
/// of its own; `finish` waits for its end and reports what went wrong in it.
final class FakeDaemon: @unchecked Sendable {
  typealias Script = @Sendable (FakeDaemon) throws -> Void

  let directory = TemporaryDirectory()
  var path: String { "\(directory.path)/gatewayd.sock" }
  private var listener: Int32 = -1
  private var thread = pthread_t()
  private let script: Script
  private var problem: (any Error)?

  /// What the script waits for did not come.
  struct Surprise: Error, CustomStringConvertible {
    var description: String
  }

  /// With `listens: false` the script calls `listen` itself.
  init(listens: Bool = true, _ script: @escaping Script) throws {
    self.script = script
    if listens { try listen() }
    let box = Unmanaged.passRetained(self)
    let code = pthread_create(&thread, nil, { FakeDaemon.main($0) }, box.toOpaque())
    guard code == 0 else { throw Surprise(description: "no thread") }
  }

  private static func main(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    let daemon = Unmanaged<FakeDaemon>.fromOpaque(argument).takeRetainedValue()
    do { try daemon.script(daemon) } catch { daemon.problem = error }
    return nil
  }

  /// Waits for the end of the script.
  func finish() throws {
    pthread_join(thread, nil)
    stopListening()
    if let problem { throw problem }
  }

  // MARK: For scripts

  func listen() throws {
    unlink(path)
    listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard result == 0, Glibc.listen(listener, 8) == 0 else { throw Surprise(description: "cannot listen") }
  }

  func stopListening() {
    if listener >= 0 { close(listener) }
    listener = -1
    unlink(path)
  }

  /// The next client, whose `hello` has been answered.
  func accept(hello: String? = FakeClient.hello) throws -> FakeClient {
    var entry = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
    guard poll(&entry, 1, 10_000) == 1 else { throw Surprise(description: "no client came") }
    let client = FakeClient(Glibc.accept(listener, nil, nil))
    if let hello { client.reply(try client.call("hello"), hello) }
    return client
  }
}

/// Something that happens once in a script, and that a test waits for.
final class Moment: @unchecked Sendable {
  private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

  init() { sem_init(semaphore, 0, 0) }

  deinit {
    sem_destroy(semaphore)
    semaphore.deallocate()
  }

  func happen() { sem_post(semaphore) }

  func await() { while sem_wait(semaphore) != 0 {} }
}

/// One client of a fake daemon.
final class FakeClient {
  private var descriptor: Int32
  private var buffer: [UInt8] = []

  static let hello = #"{"server":"gatewayd/1.0.0","protocol":{"min":1,"max":1}}"#

  /// A call that came.
  struct Call {
    var id: Int
    var method: String
    var params: JSONValue
    /// As the client wrote it.
    var line: String
  }

  init(_ descriptor: Int32) {
    self.descriptor = descriptor
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
  }

  deinit { hangUp() }

  /// The next call, which has to be of this method.
  func call(_ method: String) throws -> Call {
    let line = try readLine()
    let value = try JSONValue.parse(line.span.bytes, limit: .max)
    let call = Call(
      id: value["id"]?.integerValue ?? -1, method: value["method"]?.stringValue ?? "?",
      params: value["params"] ?? .null,
      line: String(decoding: line, as: UTF8.self))
    guard call.method == method else {
      throw FakeDaemon.Surprise(description: "expected \(method), got \(call.line)")
    }
    return call
  }

  func reply(_ call: Call, _ result: String) { say(#"{"jsonrpc":"2.0","id":\#(call.id),"result":\#(result)}"#) }

  func fail(_ call: Call, _ kind: LocalError.Kind, _ message: String = "It failed", data: String = "") {
    let retry = kind.retry.map { #","retry":\#($0)"# } ?? ""
    say(
      #"{"jsonrpc":"2.0","id":\#(call.id),"error":{"code":\#(kind.code),"message":"\#(message)","#
        + #""data":{"type":"\#(kind.rawValue)"\#(retry)\#(data)}}}"#)
  }

  /// A subscription that has just begun.
  func begin(_ call: Call, epoch: String = "e7", seq: Int = 10, recovered: Bool = true, state: String = "connected") {
    reply(
      call,
      #"{"subscription":"s1","connection":"c","state":"\#(state)","epoch":"\#(epoch)","seq":\#(seq),"#
        + #""recovered":\#(recovered)}"#)
  }

  func event(_ seq: Int, _ name: String = "chat", args: String = "[]", ack: String? = nil) {
    let token = ack.map { #","ack":"\#($0)""# } ?? ""
    notify(
      "event",
      #"{"subscription":"s1","seq":\#(seq),"time":1795232601218,"event":"\#(name)","args":\#(args)\#(token)}"#)
  }

  func notify(_ method: String, _ params: String) {
    say(#"{"jsonrpc":"2.0","method":"\#(method)","params":\#(params)}"#)
  }

  func say(_ line: String) {
    let bytes = Array(line.utf8) + [0x0a]
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { return }
      sent += count
    }
  }

  /// Shuts it down first: a child that another test has started may hold the descriptor too, and the client would not
  /// hear of the end.
  func hangUp() {
    if descriptor >= 0 {
      shutdown(descriptor, Int32(SHUT_RDWR))
      close(descriptor)
    }
    descriptor = -1
  }

  /// Waits until the client has gone.
  func awaitEnd() throws {
    while true {
      do { _ = try readLine() } catch is End { return }
    }
  }

  /// The client closed the connection.
  struct End: Error {}

  private func readLine() throws -> [UInt8] {
    while true {
      if let end = buffer.firstIndex(of: 0x0a) {
        defer { buffer.removeFirst(end + 1) }
        return Array(buffer[..<end])
      }
      var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&entry, 1, 10_000) == 1 else { throw FakeDaemon.Surprise(description: "the client said nothing") }
      var chunk = [UInt8](repeating: 0, count: 65536)
      let count = read(descriptor, &chunk, chunk.count)
      guard count > 0 else { throw End() }
      buffer += chunk[..<count]
    }
  }
}
