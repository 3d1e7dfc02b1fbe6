import GatewayCore

/// One TCP or TLS connection whose messages are lines: libcurl connects, `LineBuffer` cuts. What is sent brings its line end
/// with it; what is received has lost its own.
final class LinesTransport: Transport {
  private enum Phase {
    /// libcurl is at work on name, TCP and TLS. May become `open` or `over`.
    case connecting
    /// Lines flow. May become `leaving` or `over`.
    case open
    /// The receiver has gone, the rest of the output leaves, and the dialer's `farewellLimit` runs. May become `over`.
    case leaving
    /// Nothing is held any more.
    case over
  }

  /// Most bytes read, and most bytes written, before others have their turn.
  private static let turnLimit = 64 << 10
  private static let writeTurnLimit = 1 << 20

  private let dialer: LinesDialer
  private let request: DialRequest
  private weak var receiver: (any TransportReceiver)?
  private var phase = Phase.connecting
  private var connection: CurlConnection?
  private var source: EventLoop.IOSource?
  private var lines: LineBuffer
  private let queue: SendQueue
  private var timer: Timers.ID?
  private var flushIsDue = false
  /// Writing failed; only what the peer said before is still read.
  private var cannotWrite = false

  init(dialer: LinesDialer, request: DialRequest, receiver: any TransportReceiver) {
    self.dialer = dialer
    self.request = request
    self.receiver = receiver
    lines = LineBuffer(limit: request.messageLimit)
    queue = SendQueue(pool: dialer.blocks)
  }

  deinit {
    dialer.loop.timers.cancel(timer)
    // Before the connection closes the descriptor.
    source = nil
  }

  /// Starts to connect; nobody is called back from here.
  func start() {
    do {
      connection = try CurlConnection(dialer.multi, to: request) { [weak self] problem in self?.made(problem) }
    } catch {
      dialer.loop.onNextTurn { [weak self] in self?.made(error) }
    }
  }

  private func made(_ problem: CurlProblem?) {
    guard case .connecting = phase else { return }
    if let problem { return fail(TransportFailure(problem.failure(dialing: request), isBeforeHTTP: true)) }
    guard let connection else { return }
    do {
      source = try dialer.loop.addIO(connection.descriptor, .readable) { [weak self] in self?.ready($0) }
    } catch {
      return fail(TransportFailure(UpstreamFailure(.unreachable, error.description)))
    }
    phase = .open
    // libcurl knows the version of TLS only once something was read or written.
    var early: [UInt8] = []
    if case .bytes(let count) = connection.receive(into: dialer.readBuffer) { early += dialer.readBuffer[..<count] }
    receiver?.transportOpened(
      TransportFacts(
        name: "lines", tlsVersion: connection.tlsVersion, verified: !request.secure || request.tls.verify,
        address: SocketAddress.peer(of: connection.descriptor), proxy: connection.proxy),
      headers: [])
    if !early.isEmpty { early.withUnsafeBytes { received($0) } }
    // What came with the last bytes of the handshake wakes nobody.
    dialer.loop.onNextTurn { [weak self] in self?.read() }
  }

  // MARK: - Transport

  var unsentBytes: Int { queue.byteCount }
  private(set) var isCongested = false

  /// Messages of one turn leave together at the beginning of the next one.
  func send(text: RawSpan) {
    guard case .open = phase else { return }
    text.withUnsafeBytes { queue.append($0) }
    guard !flushIsDue else { return }
    flushIsDue = true
    dialer.loop.onNextTurn { [weak self] in self?.flush() }
  }

  /// A line is text.
  func send(binary: RawSpan) {}

  func close() {
    receiver = nil
    guard case .open = phase, !queue.isEmpty, !cannotWrite else { return release() }
    phase = .leaving
    dialer.farewellBegan(self)
    timer = dialer.loop.timers.after(dialer.farewellLimit) { [weak self] in self?.release() }
    flush()
  }

  // MARK: - Reading and writing

  private func ready(_ readiness: EventLoop.Readiness) {
    if readiness.contains(.writable) { flush() }
    if readiness != .writable { read() }
  }

  /// Reads until nothing is left, or until others are due.
  private func read() {
    var budget = Self.turnLimit
    while budget > 0, let connection {
      switch connection.receive(into: dialer.readBuffer) {
      case .bytes(let count):
        budget -= count
        received(UnsafeRawBufferPointer(rebasing: dialer.readBuffer[..<count]))
      case .wait: return
      case .ended: return ended(nil)
      case .failed(let problem): return ended(problem)
      }
    }
    // What OpenSSL has decrypted already would not wake the loop.
    if connection != nil, request.secure { dialer.loop.onNextTurn { [weak self] in self?.read() } }
  }

  private func received(_ bytes: UnsafeRawBufferPointer) {
    guard case .open = phase else { return }
    do throws(LineTooLong) {
      try lines.append(bytes.bytes) { line in
        // The receiver may have let go in the middle of the chunk.
        if case .open = phase { receiver?.transportReceived(text: line) }
      }
    } catch {
      fail(
        TransportFailure(
          UpstreamFailure(.tooLarge, "the server sent a line of more than \(error.limit) bytes (message_limit)")))
    }
  }

  private func flush() {
    flushIsDue = false
    guard !cannotWrite else { return }
    var budget = Self.writeTurnLimit
    var isBlocked = false
    while !isBlocked, let connection, let front = queue.front {
      switch budget > 0 ? connection.send(front) : .wait {
      case .bytes(let count):
        queue.consume(count)
        budget -= count
      case .wait, .ended: isBlocked = true
      case .failed(let problem): return writeFailed(problem)
      }
    }
    isCongested = isBlocked
    source?.interest = isBlocked ? [.readable, .writable] : .readable
    if queue.isEmpty, case .leaving = phase { release() }
  }

  /// The peer's last words may still be unread, and say more than the failed write.
  private func writeFailed(_ problem: CurlProblem) {
    cannotWrite = true
    isCongested = true
    source?.interest = .readable
    dialer.loop.onNextTurn { [weak self] in
      self?.read()
      self?.ended(problem)
    }
  }

  // MARK: - Ending

  /// The connection carries nothing more. Half a line is none.
  private func ended(_ problem: CurlProblem?) {
    guard case .open = phase else { return release() }
    let rest = lines.isEmpty ? "" : ", in the middle of a line"
    fail(
      TransportFailure(
        problem?.failure(dialing: request) ?? UpstreamFailure(.closed, "the server closed the connection\(rest)")))
  }

  private func fail(_ failure: TransportFailure) {
    let receiver = receiver
    release()
    receiver?.transportClosed(failure)
  }

  /// Lets go of everything; the socket is closed here.
  private func release() {
    phase = .over
    receiver = nil
    dialer.loop.timers.cancel(timer)
    timer = nil
    source = nil
    connection = nil
    queue.removeAll()
    dialer.farewellEnded(self)
  }
}
