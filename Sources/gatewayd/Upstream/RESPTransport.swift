import GatewayCore

/// One TCP or TLS connection to a Redis server, as a pipe of bytes in both directions: what is received are pieces that
/// end anywhere, which `RESPReader` puts together. Pieces are small, so that others have their turn in the middle of a
/// long answer too.
final class RESPTransport: Transport, TransportSocket.Owner {
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
  /// Most bytes of a piece: about a dozen entries of a stream.
  private static let pieceLimit = 4 << 10

  private weak var receiver: (any TransportReceiver)?
  private var phase = Phase.connecting
  private let socket: TransportSocket

  init(on context: TransportContext, request: DialRequest, receiver: any TransportReceiver) {
    self.receiver = receiver
    socket = TransportSocket(on: context, to: request, turnLimit: Self.turnLimit)
  }

  /// Starts to connect; the receiver is not called back from here.
  func start() { socket.connect(for: self) }

  // MARK: - Transport

  var unsentBytes: Int { socket.output.byteCount }
  var isCongested: Bool { socket.isCongested }

  /// Commands of one turn leave together at the beginning of the next one.
  func send(binary: RawSpan) {
    guard case .open = phase else { return }
    binary.withUnsafeBytes { socket.output.append($0) }
    socket.flushSoon()
  }

  func send(text: RawSpan) { send(binary: text) }

  /// Redis never demands an answer.
  func send(control text: RawSpan) { send(binary: text) }

  func close() {
    receiver = nil
    guard case .open = phase, !socket.output.isEmpty, socket.isWritable else { return release() }
    phase = .leaving
    socket.beginClosing()
    socket.flush()
  }

  // MARK: - The socket

  func socketOpened() {
    phase = .open
    let early = socket.firstBytes()
    receiver?.transportOpened(socket.facts("resp"), headers: [])
    socket.hear(early)
  }

  func socketRefused(_ failure: TransportFailure) { fail(failure) }

  func socketReady(_ readiness: EventLoop.Readiness) { socket.ready(readiness, for: self) }

  func socketReceived(_ bytes: UnsafeRawBufferPointer) -> Int? {
    var rest = bytes[...]
    // The receiver may let go in the middle of it.
    while case .open = phase, !rest.isEmpty {
      let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(Self.pieceLimit))
      rest = rest.dropFirst(piece.count)
      receiver?.transportReceived(binary: piece.bytes)
      if !rest.isEmpty, socket.mustPause() { return rest.count }
    }
    return nil
  }

  func socketDrained() {
    if case .leaving = phase { release() }
  }

  /// The connection carries nothing more.
  func socketEnded(_ failure: UpstreamFailure?) {
    guard case .open = phase else { return release() }
    fail(TransportFailure(failure ?? UpstreamFailure(.closed, "the server closed the connection")))
  }

  // MARK: - Ending

  private func fail(_ failure: TransportFailure) {
    let receiver = receiver
    release()
    receiver?.transportClosed(failure)
  }

  private func release() {
    phase = .over
    receiver = nil
    socket.close()
  }
}

/// Dials connections to Redis servers.
final class RESPDialer: TransportDialer {
  private let context: TransportContext

  init(on context: TransportContext) { self.context = context }

  func dial(_ request: DialRequest, receiver: any TransportReceiver) -> any Transport {
    let transport = RESPTransport(on: context, request: request, receiver: receiver)
    transport.start()
    return transport
  }

  func firstHost(of request: DialRequest) -> String { context.firstHost(of: request) }
}
