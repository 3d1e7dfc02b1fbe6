import CLinux
import GatewayCore
import Glibc

/// Lets Prometheus read the metrics over HTTP: one request on each connection, one answer, and the end. Decision 0110.
///
/// Nothing that a client does costs others anything: there are at most `clientLimit` of them, each has `patience` for
/// all it does, its head has a limit, and what it is sent waits for it in the kernel and in one text. Where there are as
/// many as there may be, the next one takes the place of the one that has been there longest of those that have not
/// asked, or have been answered; where there is none of these, it waits in the kernel's backlog.
final class MetricsServer {
  private static let clientLimit = 16
  /// How long a client may be connected.
  private static let patience: Duration = .seconds(10)

  private let loop: EventLoop
  private let gateway: Gateway
  /// What is listened on, and where that is.
  private var listener: (address: ListenAddress, socket: MetricsSocket)?
  /// Nil while there are as many clients as there may be.
  private var source: EventLoop.IOSource?
  /// In the order in which they came.
  private var clients: [MetricsClient] = []

  init(loop: EventLoop, gateway: Gateway) { (self.loop, self.gateway) = (loop, gateway) }

  /// Listens there and nowhere else from now on; what is being answered is answered.
  func listen(at address: ListenAddress?) throws(SystemError) {
    guard address != listener?.address else { return }
    source = nil
    listener = nil
    guard let address else { return }
    listener = (address, try MetricsSocket(address))
    watch()
  }

  private func watch() {
    guard let listener, source == nil else { return }
    do throws(SystemError) {
      source = try loop.addIO(listener.socket.descriptor, .readable) { [unowned self] _ in accept() }
    } catch {
      restAWhile()
    }
  }

  private func accept() {
    for _ in 0..<Self.clientLimit {
      guard let listener else { return }
      guard makeRoom() else {
        source = nil
        return
      }
      let descriptor = gw_accept(listener.socket.descriptor)
      guard descriptor >= 0 else { return rest(after: errno) }
      let client = MetricsClient(descriptor, loop: loop, gateway: gateway) { [unowned self] in end($0) }
      clients.append(client)
      client.begin(patience: Self.patience)
    }
  }

  /// Whether one more client may come, for whom another one may have to go.
  private func makeRoom() -> Bool {
    guard clients.count >= Self.clientLimit else { return true }
    guard let idle = clients.firstIndex(where: \.isIdle) else { return false }
    clients.remove(at: idle)
    return true
  }

  /// Where the kernel has no descriptor left, the next one is tried when a client has gone, or later.
  private func rest(after code: Int32) {
    guard ![EAGAIN, EINTR, ECONNABORTED].contains(code) else { return }
    source = nil
    restAWhile()
  }

  private func restAWhile() { loop.timers.after(.seconds(1)) { [weak self] in self?.watch() } }

  private func end(_ client: MetricsClient) {
    clients.removeAll { $0 === client }
    watch()
  }
}

/// One client of the metrics' socket.
private final class MetricsClient {
  private enum Stage {
    /// It has sent a part of a request, or nothing. Becomes `waiting`.
    case asking
    /// The metrics are being put together. Becomes `answered`.
    case waiting
    /// It has not taken this yet. Becomes `leaving`.
    case answered(ArraySlice<UInt8>)
    /// It has taken everything. Its end is waited for, so that nothing it still sends breaks the answer.
    case leaving
  }

  private let descriptor: Int32
  private let loop: EventLoop
  private let gateway: Gateway
  private let onEnd: (MetricsClient) -> Void
  private var source: EventLoop.IOSource?
  private var timer: Timers.ID?
  private var stage = Stage.asking
  private var head: [UInt8] = []

  /// Written at a time: about a tenth of a millisecond.
  private static let writeLimit = 256 << 10

  init(_ descriptor: Int32, loop: EventLoop, gateway: Gateway, onEnd: @escaping (MetricsClient) -> Void) {
    self.descriptor = descriptor
    self.loop = loop
    self.gateway = gateway
    self.onEnd = onEnd
  }

  deinit {
    source = nil
    loop.timers.cancel(timer)
    close(descriptor)
  }

  /// Goes on until it is answered, gone, or out of time.
  func begin(patience: Duration) {
    timer = loop.timers.after(patience) { [unowned self] in end() }
    do throws(SystemError) {
      source = try loop.addIO(descriptor, .readable) { [unowned self] _ in ready() }
    } catch {
      end()
    }
  }

  private func end() { onEnd(self) }

  /// Whether it has not asked, or was answered: it may go when others come.
  var isIdle: Bool {
    switch stage {
    case .asking, .leaving: true
    case .waiting, .answered: false
    }
  }

  private func ready() {
    switch stage {
    case .asking: read()
    // All that is told meanwhile is that it has hung up.
    case .waiting: end()
    case .answered(let rest): write(rest)
    case .leaving: discard()
    }
  }

  private func read() {
    let result = withUnsafeTemporaryAllocation(byteCount: MetricsRequest.headLimit - head.count, alignment: 1) { room in
      let result = LocalSocket.read(descriptor, into: room)
      if case .moved(let count) = result { head += room.prefix(count) }
      return result
    }
    switch result {
    case .moved(let count): if let request = MetricsRequest(head, fresh: count) { perform(request) }
    case .wouldBlock: break
    case .ended, .broken: end()
    }
  }

  private func perform(_ request: MetricsRequest) {
    stage = .waiting
    source?.interest = []
    switch request {
    case .refused(let refusal): send(refusal.answer)
    case .metrics(let format):
      gateway.readMetrics(format, while: { [weak self] in self != nil }) { [weak self] text in
        self?.send(Array(MetricsRequest.head("200 OK", format.contentType, length: text.count).utf8) + text)
      }
    }
  }

  private func send(_ answer: [UInt8]) {
    stage = .answered(answer[...])
    source?.interest = .writable
  }

  private func write(_ answer: ArraySlice<UInt8>) {
    switch answer.prefix(Self.writeLimit).withUnsafeBytes({ LocalSocket.write(descriptor, $0) }) {
    case .moved(let count) where count < answer.count: stage = .answered(answer.dropFirst(count))
    case .moved:
      stage = .leaving
      LocalSocket.endOutput(descriptor)
      source?.interest = .readable
    case .wouldBlock: break
    case .ended, .broken: end()
    }
  }

  private func discard() {
    let result = withUnsafeTemporaryAllocation(byteCount: MetricsRequest.headLimit, alignment: 1) {
      LocalSocket.read(descriptor, into: $0)
    }
    if result == .ended || result == .broken { end() }
  }
}

/// A socket that listens for those who read metrics; its file goes with it.
private final class MetricsSocket {
  let descriptor: Int32
  private let path: String?

  init(_ address: ListenAddress) throws(SystemError) {
    switch address {
    case .path(let path):
      descriptor = try Self.listen(at: path)
      self.path = path
    case .tcp(let host, let port):
      let descriptor = gw_tcp_listen(host, port)
      guard descriptor >= 0 else { throw SystemError("listen on \(address.text)") }
      self.descriptor = descriptor
      path = nil
    }
  }

  deinit {
    close(descriptor)
    if let path { unlink(path) }
  }

  private static func listen(at path: String) throws(SystemError) -> Int32 {
    // What an earlier daemon has left. Anything else stays, and binding says so.
    if UnixSocket.probe(path) == .dead { unlink(path) }
    let descriptor = try UnixSocket.make()
    do throws(SystemError) {
      try UnixSocket.bind(descriptor, to: path)
      guard chmod(path, 0o660) == 0 else { throw SystemError("set the mode of \(path)") }
      try UnixSocket.listen(descriptor)
      return descriptor
    } catch {
      close(descriptor)
      throw error
    }
  }
}
