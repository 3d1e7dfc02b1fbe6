import GatewayCore

/// One TCP or TLS connection whose messages are lines: `TransportSocket` carries bytes, `LineBuffer` cuts. What is sent
/// brings its line end with it; what is received has lost its own.
final class LinesTransport: Transport, TransportSocket.Owner {
  private enum Phase {
    /// The socket is at work on name, TCP and TLS. May become `open` or `over`.
    case connecting
    /// Lines flow. May become `leaving` or `over`.
    case open
    /// The receiver has gone, and the rest of the output leaves. May become `over`.
    case leaving
    /// Nothing is held any more.
    case over
  }

  /// Most bytes read before others have their turn.
  private static let turnLimit = 64 << 10

  private weak var receiver: (any TransportReceiver)?
  private var phase = Phase.connecting
  private var lines: LineBuffer
  private let socket: TransportSocket
  /// What the beginning of a line counts as.
  private let memory: MemoryHold
  private var lineCount = 0

  init(on context: TransportContext, request: DialRequest, receiver: any TransportReceiver) {
    self.receiver = receiver
    lines = LineBuffer(limit: request.messageLimit)
    memory = context.receiveMemory(for: request)
    socket = TransportSocket(on: context, to: request, turnLimit: Self.turnLimit)
  }

  /// Starts to connect; the receiver is not called back from here.
  func start() { socket.connect(for: self) }

  // MARK: - Transport

  var unsentBytes: Int { socket.unsentBytes }
  var isCongested: Bool { socket.isCongested }
  func mayWrite(until limit: MonotonicInstant) { socket.mayWrite(until: limit) }

  /// Messages of one turn leave together at the beginning of the next one.
  func send(text: RawSpan) {
    guard case .open = phase else { return }
    text.withUnsafeBytes { socket.output.append($0) }
    socket.flushSoon()
  }

  func send(control text: RawSpan) {
    guard !socket.output.control.isFull else { return }
    send(text: text)
    socket.output.noteControl(text.byteCount)
  }

  /// A line is text.
  func send(binary: RawSpan) {}

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
    receiver?.transportOpened(socket.facts("lines"), headers: [])
    socket.hear(early)
  }

  func socketRefused(_ failure: TransportFailure) { fail(failure) }

  func socketReady(_ readiness: EventLoop.Readiness) { socket.ready(readiness, for: self) }

  func socketReceived(_ bytes: UnsafeRawBufferPointer) -> Int? {
    var rest = bytes[...]
    var count = 0
    do throws(LineTooLong) {
      // The receiver may let go in the middle of it.
      while case .open = phase, let piece = rest.cutLine() {
        try lines.append(piece.bytes) {
          lineCount &+= 1
          receiver?.transportReceived(text: $0)
        }
        count += 1
        if socket.output.control.isFull {
          fail(TransportFailure(.unreadAnswers(limit: socket.output.control.limit)))
          return nil
        }
        if count % TransportSocket.pauseStep == 0 || socket.work.isMuch, socket.mustPause() { return rest.count }
      }
    } catch {
      fail(
        TransportFailure(
          UpstreamFailure(.tooLarge, "the server sent a line of more than \(error.limit) bytes (message_limit)")))
      return nil
    }
    guard case .open = phase else { return nil }
    guard memory.change(to: lines.pendingCount) else {
      fail(TransportFailure(.noReceiveMemory))
      return nil
    }
    showPart()
    socket.watch(unfinished: lines.isEmpty ? nil : lineCount)
    return nil
  }

  /// How much of a long line is shown before its end has come, without what may belong to the line end.
  private func showPart() {
    guard lines.pendingCount >= LineBuffer.longLine, let receiver else { return }
    lines.withPending { receiver.transportGathers(text: $0) }
  }

  func socketDrained() {
    if case .leaving = phase { release() }
  }

  /// The connection carries nothing more. Half a line is none.
  func socketEnded(_ failure: UpstreamFailure?) {
    guard case .open = phase else { return release() }
    let rest = lines.isEmpty ? "" : ", in the middle of a line"
    fail(TransportFailure(failure ?? UpstreamFailure(.closed, "the server closed the connection\(rest)")))
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
    memory.set(0)
    socket.close()
  }
}

/// Dials connections that carry lines.
final class LinesDialer: TransportDialer {
  private let context: TransportContext

  init(on context: TransportContext) { self.context = context }

  func dial(_ request: DialRequest, receiver: any TransportReceiver) -> any Transport {
    let transport = LinesTransport(on: context, request: request, receiver: receiver)
    transport.start()
    return transport
  }

  func firstHost(of request: DialRequest) -> String { context.firstHost(of: request) }
}
