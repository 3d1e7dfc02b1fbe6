import GatewayCore

/// One TCP or TLS connection as a stream of bytes: `TransportSocket` carries them, its content takes what comes apart.
/// What is sent leaves as it is.
final class StreamTransport: Transport, TransportSocket.Owner {
  private enum Phase {
    /// The socket is at work on name, TCP and TLS. May become `open` or `over`.
    case connecting
    /// Bytes flow. May become `leaving` or `over`.
    case open
    /// The receiver has gone, and the rest of the output leaves. May become `over`.
    case leaving
    /// Nothing is held any more.
    case over
  }

  /// Most bytes read before others have their turn.
  private static let turnLimit = 64 << 10

  private(set) weak var receiver: (any TransportReceiver)?
  let socket: TransportSocket
  private var phase = Phase.connecting
  private let content: any StreamContent

  init(
    of content: any StreamContent, on context: TransportContext, request: DialRequest, receiver: any TransportReceiver
  ) {
    self.content = content
    self.receiver = receiver
    socket = TransportSocket(
      on: context, to: request, turnLimit: Self.turnLimit, carriesSends: content.carriesSends)
  }

  /// Starts to connect; the receiver is not called back from here.
  func start() { socket.connect(for: self) }

  /// Whether there is somebody to hand on to.
  var isOpen: Bool {
    if case .open = phase { true } else { false }
  }

  // MARK: - Transport

  var unsentBytes: Int { socket.unsentBytes }
  var progress: (any WriteProgress)? { socket.output }
  var isCongested: Bool { socket.isCongested }
  func mayWrite(until limit: MonotonicInstant) { socket.mayWrite(until: limit) }
  func holdReading(_ isHeld: Bool) { socket.holdReading(isHeld) }

  /// Messages of one turn leave together at the beginning of the next one.
  func send(text: RawSpan) {
    guard isOpen else { return }
    text.withUnsafeBytes { socket.output.append($0) }
    socket.flushSoon()
  }

  func send(binary: RawSpan) { send(text: binary) }

  func send(control text: RawSpan) {
    guard !socket.output.control.isFull else { return }
    send(text: text)
    socket.output.noteControl(text.byteCount)
  }

  func close() {
    receiver = nil
    guard isOpen, !socket.output.isEmpty, socket.isWritable else { return release() }
    phase = .leaving
    socket.beginClosing()
    socket.flush()
  }

  // MARK: - The socket

  func socketOpened() {
    phase = .open
    let early = socket.firstBytes()
    receiver?.transportOpened(socket.facts(content.name), headers: [])
    socket.hear(early)
  }

  func socketRefused(_ failure: TransportFailure) { fail(failure) }

  func socketReady(_ readiness: EventLoop.Readiness) { socket.ready(readiness, for: self) }

  func socketReceived(_ bytes: UnsafeRawBufferPointer) -> Int? {
    do throws(TransportFailure) { return try content.take(bytes, of: self) } catch {
      fail(error)
      return nil
    }
  }

  func socketDrained() {
    if case .leaving = phase { release() }
  }

  /// The connection carries nothing more.
  func socketEnded(_ failure: UpstreamFailure?) {
    guard isOpen else { return release() }
    fail(TransportFailure(failure ?? UpstreamFailure(.closed, "the server closed the connection\(content.cut)")))
  }

  // MARK: - Ending

  private func fail(_ failure: TransportFailure) {
    let receiver = receiver
    if isOpen { receiver?.transportEnds() }
    release()
    receiver?.transportClosed(failure)
  }

  private func release() {
    phase = .over
    receiver = nil
    content.release()
    socket.close()
  }
}

/// Dials streams of one content.
final class StreamDialer: TransportDialer {
  private let content: any StreamContent.Type
  private let context: TransportContext

  init(of content: any StreamContent.Type, on context: TransportContext) {
    self.content = content
    self.context = context
  }

  func dial(_ request: DialRequest, receiver: any TransportReceiver) -> any Transport {
    let transport = StreamTransport(
      of: content.init(request, on: context), on: context, request: request, receiver: receiver)
    transport.start()
    return transport
  }

  func firstHost(of request: DialRequest) -> String { context.firstHost(of: request) }
}
