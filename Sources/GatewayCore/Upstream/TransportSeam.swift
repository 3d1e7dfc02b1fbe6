/// Dials transports to servers.
public protocol TransportDialer: AnyObject {
  /// Starts one attempt. `receiver` hears `transportOpened` at most once and `transportClosed` exactly once, never
  /// before this method has returned, and nothing after `transportClosed` or after `Transport.close()`.
  func dial(_ request: DialRequest, receiver: any TransportReceiver) -> any Transport
  /// The host that a request would connect to first, a name or an address: the server's, or that of the proxy before
  /// it.
  func firstHost(of request: DialRequest) -> String
}

extension TransportDialer {
  /// For dialers that know no proxies.
  func firstHost(of request: DialRequest) -> String { request.host }
}

/// A message pipe to a server: a WebSocket, or long-polling. One message in is one message out at the other end, in
/// order.
public protocol Transport: AnyObject {
  /// Queues one text message. Never blocks; bytes that the socket does not take now are kept.
  func send(text: RawSpan)
  /// Queues one binary message.
  func send(binary: RawSpan)
  /// The same, for a caller that knows that compressing is not worth the trouble: with `compress: false` the message
  /// leaves as it is. Transports that compress nothing need no implementation of their own.
  func send(text: RawSpan, compress: Bool)
  func send(binary: RawSpan, compress: Bool)
  /// The same for one long text in two parts. A transport that can keep `body` as it is, and work on it piece by piece,
  /// should.
  func send(text head: RawSpan, body: ArraySlice<UInt8>, compress: Bool)
  /// Queues a text message that no program asked for: an answer that the server demands, or a sign of life. Where the
  /// server does not take `answerLimit` bytes of them, the transport ends with `UpstreamFailure.unreadAnswers`.
  func send(control text: RawSpan)
  /// Bytes accepted by `send` that the kernel has not taken yet; with a limit of `mayWrite`, that the far end has not
  /// acknowledged.
  var unsentBytes: Int { get }
  /// How far what it is given comes, also after `close()`. The same from `transportOpened` on; nil where that is not known.
  var progress: (any WriteProgress)? { get }
  /// Whether the kernel refused bytes the last time they were offered, so that what is written now waits behind them.
  var isCongested: Bool { get }
  /// Asks the peer for a sign of life; the receiver hears `transportAnsweredProbe` when it comes. A probe replaces one
  /// that is unanswered: only the last one's answer is told. False: this transport cannot ask now.
  func probe() -> Bool
  /// Nothing more reaches the kernel from that instant on, until another one is set: it is looked at right before each
  /// system call that writes. What the kernel has by then, and cannot deliver, it gives up.
  func mayWrite(until limit: MonotonicInstant)
  /// Reads nothing more of the peer, or reads on: what it says waits in the kernel, and then with the peer. What was read
  /// before may still be told, and so may the answer to a request that is under way.
  func holdReading(_ isHeld: Bool)
  /// Says goodbye if the transport is open, then lets go of everything. The receiver hears nothing more.
  func close()
}

extension Transport {
  /// For a transport that carries nothing of a fleet.
  public func mayWrite(until limit: MonotonicInstant) {}
  /// For a transport that writes nothing after `close()`.
  public var progress: (any WriteProgress)? { nil }
  public func holdReading(_ isHeld: Bool) {}
  public func send(text: RawSpan, compress: Bool) { send(text: text) }
  public func send(binary: RawSpan, compress: Bool) { send(binary: binary) }
  public func send(text head: RawSpan, body: ArraySlice<UInt8>, compress: Bool) {
    var text: [UInt8] = []
    text.reserveCapacity(head.byteCount + body.count)
    text.append(head)
    text += body
    send(text: text.span.bytes, compress: compress)
  }
  /// For a transport whose peer is heard of often enough by itself.
  public func probe() -> Bool { false }
}

/// What a transport pushes on what it reads, and tells what happens to it. It holds the receiver for the time of a
/// read, in which the receiver may close it: nothing follows then. Spans are valid only during the call.
public protocol TransportReceiver: AnyObject {
  /// `headers` are those of the server's answer to the opening request, names in lower case; they may hold secrets.
  func transportOpened(_ facts: TransportFacts, headers: [HTTPHeader])
  func transportNoticed(_ notice: TransportNotice)
  func transportReceived(text: RawSpan)
  func transportReceived(binary: RawSpan)
  /// A long text message is coming, and this much of it has come: what can be found out about it now need not be found
  /// out at once when it is there. It may never be complete.
  func transportGathers(text: RawSpan)
  /// The same for a long binary message.
  func transportGathers(binary: RawSpan)
  /// The peer answered the last `probe()`.
  func transportAnsweredProbe()
  /// The end comes. `unsentBytes` says once more what the far end's machine has not acknowledged.
  func transportEnds()
  /// The end, by the peer or by a failure. Nothing follows.
  func transportClosed(_ failure: TransportFailure)
}

extension TransportReceiver {
  /// A WebSocket stays one.
  func transportNoticed(_ notice: TransportNotice) {}
  /// For receivers that look at whole messages.
  func transportGathers(text: RawSpan) {}
  func transportGathers(binary: RawSpan) {}
  /// For receivers that never ask.
  func transportAnsweredProbe() {}
  /// For receivers to which that is nothing.
  func transportEnds() {}
}

/// What a WebSocket message is made of.
public enum MessageKind: Sendable { case text, binary }
