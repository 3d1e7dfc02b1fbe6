import GatewayCore

/// One WebSocket connection, from the name to the goodbye: libcurl connects, `WebSocketUpgrade` opens, `WebSocketFramer`
/// carries the messages.
final class WebSocketTransport: Transport {
  private enum Phase {
    /// libcurl is at work on name, TCP and TLS. May become `upgrading` or `over`.
    case connecting
    /// The HTTP request is on its way or awaits its answer. May become `open`, `refused` or `over`.
    case upgrading(WebSocketUpgrade)
    /// Messages flow; `first` holds what came until it is sure that the server speaks WebSocket and not HTTP again, and
    /// is nil then. May become `refused`, `leaving` or `over`.
    case open(first: [UInt8]?)
    /// The server agreed and then refused in plain text, which is being read. May become `over`.
    case refused(WebSocketUpgrade)
    /// The receiver has gone, what still comes is dropped, and the dialer's `farewellLimit` runs. May become `over`.
    case leaving(until: Farewell)
    /// Nothing is held any more.
    case over
  }

  /// What ends a goodbye early.
  private enum Farewell {
    /// The peer answers our close frame.
    case answered
    /// Our answer to the peer's close frame is written.
    case written
    /// The peer hangs up: hanging up first, with its bytes unread, could destroy our close frame on its way.
    case hungUp
  }

  /// Most bytes read, and most bytes written, before others have their turn.
  static let turnLimit = 32 << 10
  static let writeTurnLimit = 1 << 20

  private let dialer: WebSocketDialer
  private let request: DialRequest
  private weak var receiver: (any TransportReceiver)?
  private var phase = Phase.connecting
  private var connection: CurlConnection?
  private var source: EventLoop.IOSource?
  private var framer: WebSocketFramer?
  private let queue: SendQueue
  private var timer: Timers.ID?
  private var flushIsDue = false
  /// Made once, because it is handed over in nearly every turn.
  private lazy var flushing: () -> Void = { [weak self] in self?.flush() }
  /// What was decrypted, by TLS to the server or to a proxy, and not read yet, is seen by nobody.
  private var hidesInput: Bool { request.secure || connection?.proxy != nil }
  /// Writing failed; only what the peer said before is still read.
  private var cannotWrite = false

  init(dialer: WebSocketDialer, request: DialRequest, receiver: any TransportReceiver) {
    self.dialer = dialer
    self.request = request
    self.receiver = receiver
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

  // MARK: - Transport

  var unsentBytes: Int { queue.byteCount }
  private(set) var isCongested = false

  func send(text: RawSpan) { send(.text, text, compress: true) }
  func send(binary: RawSpan) { send(.binary, binary, compress: true) }
  func send(text: RawSpan, compress: Bool) { send(.text, text, compress: compress) }
  func send(binary: RawSpan, compress: Bool) { send(.binary, binary, compress: compress) }

  /// Messages of one turn leave together at the beginning of the next one.
  private func send(_ kind: WebSocketFramer.Kind, _ body: RawSpan, compress: Bool) {
    guard case .open = phase else { return }
    framer?.send(kind, body, compress: compress)
    flushSoon()
  }

  func probe() -> Bool {
    guard case .open = phase, let framer else { return false }
    framer.ping()
    flushSoon()
    return true
  }

  private func flushSoon() {
    guard !flushIsDue else { return }
    flushIsDue = true
    dialer.loop.onNextTurn(flushing)
  }

  func close() {
    receiver = nil
    switch phase {
    case .open:
      framer?.close(1_000)
      leave(until: .answered)
    case .connecting, .upgrading, .refused: release()
    case .leaving, .over: return
    }
  }

  // MARK: - Opening

  private func made(_ problem: CurlProblem?) {
    guard case .connecting = phase else { return }
    if let problem { return fail(TransportFailure(problem.failure(dialing: request), isBeforeHTTP: true)) }
    guard let connection else { return }
    do {
      source = try dialer.loop.addIO(connection.descriptor, .readable) { [weak self] in self?.ready($0) }
    } catch {
      return fail(UpstreamFailure(.unreachable, error.description))
    }
    let key = WebSocketKey(random: dialer.random)
    let upgrade = WebSocketUpgrade(request: request, key: key.text, expectedAccept: key.expectedAccept)
    upgrade.requestBytes.withUnsafeBytes { queue.append($0) }
    phase = .upgrading(upgrade)
    startTimer(request.phaseLimit)
    flush()
    read()
  }

  private func continueUpgrade(_ upgrade: WebSocketUpgrade, _ bytes: UnsafeRawBufferPointer) {
    var upgrade = upgrade
    let foreign = UpstreamFailure.foreignAnswer(bytes.bytes, secure: request.secure)
    if foreign.reason == .tls { return fail(foreign) }
    let outcome = upgrade.receive(bytes.bytes)
    switch outcome {
    case .needMore: phase = .upgrading(upgrade)
    case .failed(let failure): fail(failure)
    case .upgraded(let consumed): open(upgrade, UnsafeRawBufferPointer(rebasing: bytes[consumed...]))
    }
  }

  private func open(_ upgrade: WebSocketUpgrade, _ rest: UnsafeRawBufferPointer) {
    startTimer(nil)
    if WebSocketUpgrade.looksLikeHTTP(rest.bytes) == true { return refuse([UInt8](rest)) }
    phase = .open(first: [])
    let compression = upgrade.deflate.map {
      MessageCompression($0, threshold: request.compressionThreshold ?? .max, contexts: dialer.compression)
    }
    framer = WebSocketFramer(
      messageLimit: request.messageLimit, random: dialer.random, output: queue, compression: compression
    ) { [unowned self] kind, body in deliver(kind, body) }
    framer?.onPong = { [unowned self] in receiver?.transportAnsweredProbe() }
    var facts = TransportFacts(
      name: "websocket", tlsVersion: connection?.tlsVersion, verified: !request.secure || request.tls.verify,
      compression: compression != nil, address: connection.flatMap { SocketAddress.peer(of: $0.descriptor) },
      proxy: connection?.proxy)
    facts.subprotocol = upgrade.subprotocol
    receiver?.transportOpened(facts, headers: upgrade.headers)
    if !rest.isEmpty { received(rest) }
  }

  /// Some servers agree to the upgrade and then write an HTTP error behind it.
  private func refuse(_ bytes: [UInt8]) {
    framer = nil
    startTimer(request.phaseLimit)
    continueRefusal(WebSocketUpgrade.lateResponse(), bytes.span.bytes)
  }

  private func continueRefusal(_ refusal: WebSocketUpgrade, _ bytes: RawSpan) {
    var refusal = refusal
    let outcome = refusal.receive(bytes)
    phase = .refused(refusal)
    if case .failed(let failure) = outcome { fail(failure) }
  }

  private func startTimer(_ limit: Duration?) {
    dialer.loop.timers.cancel(timer)
    timer = limit.map { dialer.loop.timers.after($0) { [weak self] in self?.timedOut() } }
  }

  private func timedOut() {
    switch phase {
    case .upgrading(var upgrade), .refused(var upgrade): fail(upgrade.timedOut())
    case .leaving: release()
    case .connecting, .open, .over: return
    }
  }

  // MARK: - Reading

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
        // The kernel has nothing more, or calls again. Behind TLS there may be more that it does not know of.
        if count < dialer.readBuffer.count, !hidesInput { return }
      case .wait: return
      case .ended: return ended(nil)
      case .failed(let problem): return ended(problem)
      }
    }
    // What OpenSSL has decrypted already would not wake the loop.
    if connection != nil, request.secure { dialer.loop.onNextTurn { [weak self] in self?.read() } }
  }

  private func received(_ bytes: UnsafeRawBufferPointer) {
    switch phase {
    case .upgrading(let upgrade): continueUpgrade(upgrade, bytes)
    case .open(first: nil), .leaving: feed(bytes)
    case .open(let first?): beginFrames(first, bytes)
    case .refused(let refusal): continueRefusal(refusal, bytes.bytes)
    case .connecting, .over: return
    }
  }

  private func beginFrames(_ first: [UInt8], _ bytes: UnsafeRawBufferPointer) {
    let first = first + bytes
    switch WebSocketUpgrade.looksLikeHTTP(first.span.bytes) {
    case true?: refuse(first)
    case false?:
      phase = .open(first: nil)
      first.withUnsafeBytes { feed($0) }
    case nil: phase = .open(first: first)
    }
  }

  private func feed(_ bytes: UnsafeRawBufferPointer) {
    guard let framer else { return }
    let unsent = queue.byteCount
    let ending = framer.receive(bytes)
    if let ending { return end(ending) }
    if queue.byteCount > unsent { flush() }
  }

  private func deliver(_ kind: WebSocketFramer.Kind, _ body: RawSpan) {
    switch kind {
    case .text: receiver?.transportReceived(text: body)
    case .binary: receiver?.transportReceived(binary: body)
    }
  }

  // MARK: - Writing

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
    if queue.isEmpty { drained() }
  }

  private func drained() {
    framer?.outputDrained()
    if case .leaving(until: .written) = phase { release() }
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

  /// The connection carries nothing more.
  private func ended(_ problem: CurlProblem?) {
    let lost = problem?.failure(dialing: request)
    switch phase {
    case .upgrading(var upgrade), .refused(var upgrade):
      let failure = upgrade.ended()
      let early = lost?.closing(before: "it answered the WebSocket handshake")
      fail(failure.failure.reason == .closed ? TransportFailure(early ?? failure.failure) : failure)
    case .open:
      fail(lost ?? UpstreamFailure(.closed, "the server closed the connection without a WebSocket close frame"))
    case .leaving: release()
    case .connecting, .over: return
    }
  }

  /// The framer reads no further.
  private func end(_ ending: WebSocketFramer.Ending) {
    guard case .open = phase else {
      if case .leaving(until: .answered) = phase { leave(until: .written) }
      return
    }
    let receiver = receiver
    switch ending {
    case .closed: leave(until: .written)
    case .tooLarge, .invalidText, .invalidCompression, .violation: leave(until: .hungUp)
    case .pingFlood: release()
    }
    receiver?.transportClosed(TransportFailure(ending.failure(messageLimit: request.messageLimit)))
  }

  /// Goes on without the receiver for a while, so that the last bytes arrive.
  private func leave(until farewell: Farewell) {
    receiver = nil
    if case .open = phase {
      dialer.farewellBegan(self)
      startTimer(dialer.farewellLimit)
    }
    phase = .leaving(until: farewell)
    flush()
  }

  private func fail(_ failure: UpstreamFailure) { fail(TransportFailure(failure)) }

  private func fail(_ failure: TransportFailure) {
    let receiver = receiver
    release()
    receiver?.transportClosed(failure)
  }

  /// Lets go of everything; the socket is closed here.
  private func release() {
    phase = .over
    receiver = nil
    startTimer(nil)
    source = nil
    framer = nil
    connection = nil
    queue.removeAll()
    dialer.farewellEnded(self)
  }
}
