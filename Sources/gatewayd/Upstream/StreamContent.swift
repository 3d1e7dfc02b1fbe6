import GatewayCore

/// What a `StreamTransport` carries: takes what comes apart, and hands it on. One for each connection.
protocol StreamContent: AnyObject {
  init(_ request: DialRequest, on context: TransportContext)
  /// What the transport is called.
  var name: String { get }
  /// Whether what is sent are sends of local programs, which count as such until the kernel takes them.
  var carriesSends: Bool { get }
  /// Hands on what came, until the receiver has let go or others are due; what is returned is as in
  /// `TransportSocket.Owner.socketReceived`.
  func take(_ bytes: UnsafeRawBufferPointer, of stream: StreamTransport) throws(TransportFailure) -> Int?
  /// What the end of the connection cut, behind a sentence that tells of the end; empty where it is nothing.
  var cut: String { get }
  /// Nothing more is taken.
  func release()
}

/// Messages that are lines: `LineBuffer` cuts. What is sent brings its line end with it; what is received has lost its
/// own.
final class LineStream: StreamContent {
  let name = "lines"
  let carriesSends = true
  private var lines: LineBuffer
  /// What the beginning of a line counts as.
  private let memory: MemoryHold
  private var lineCount = 0

  init(_ request: DialRequest, on context: TransportContext) {
    lines = LineBuffer(limit: request.messageLimit)
    memory = context.receiveMemory(for: request)
  }

  func take(_ bytes: UnsafeRawBufferPointer, of stream: StreamTransport) throws(TransportFailure) -> Int? {
    let socket = stream.socket
    var rest = bytes[...]
    var count = 0
    // The receiver may let go in the middle of it.
    while stream.isOpen, let piece = rest.cutLine() {
      do throws(LineTooLong) {
        try lines.append(piece.bytes) {
          lineCount &+= 1
          stream.receiver?.transportReceived(text: $0)
        }
      } catch {
        throw TransportFailure(
          UpstreamFailure(.tooLarge, "the server sent a line of more than \(error.limit) bytes (message_limit)"))
      }
      count += 1
      if socket.output.control.isFull {
        throw TransportFailure(.unreadAnswers(limit: socket.output.control.limit))
      }
      if count % TransportSocket.pauseStep == 0 || socket.work.isMuch, socket.mustPause() { return rest.count }
    }
    guard stream.isOpen else { return nil }
    guard memory.change(to: lines.pendingCount) else { throw TransportFailure(.noReceiveMemory) }
    if lines.pendingCount >= LineBuffer.longLine, let receiver = stream.receiver {
      lines.withPending { receiver.transportGathers(text: $0) }
    }
    socket.watch(unfinished: lines.isEmpty ? nil : lineCount)
    return nil
  }

  /// Half a line is none.
  var cut: String { lines.isEmpty ? "" : ", in the middle of a line" }

  func release() { memory.set(0) }
}

/// A pipe in both directions, to a Redis server: what is received are pieces that end anywhere, which `RESPReader` puts
/// together. Pieces are small, so that others have their turn in the middle of a long answer too.
final class RESPStream: StreamContent {
  let name = "resp"
  /// Most of it are events of servers, and all of it is bounded where it is written.
  let carriesSends = false
  /// Most bytes of a piece: about a dozen entries of a stream.
  private static let pieceLimit = 4 << 10

  init(_ request: DialRequest, on context: TransportContext) {}

  func take(_ bytes: UnsafeRawBufferPointer, of stream: StreamTransport) throws(TransportFailure) -> Int? {
    var rest = bytes[...]
    // The receiver may let go in the middle of it.
    while stream.isOpen, !rest.isEmpty {
      let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(Self.pieceLimit))
      rest = rest.dropFirst(piece.count)
      stream.receiver?.transportReceived(binary: piece.bytes)
      if !rest.isEmpty, stream.socket.mustPause() { return rest.count }
    }
    return nil
  }

  var cut: String { "" }

  func release() {}
}
