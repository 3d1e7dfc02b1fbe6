import GatewayCore

/// One WebSocket connection, from the name to the goodbye: `TransportSocket` carries bytes, `WebSocketUpgrade` opens,
/// `WebSocketFramer` knows the messages.
final class WebSocketTransport: Transport, TransportSocket.Owner {
  /// Cases with a large payload are boxes: which phase it is, is asked for every read.
  private enum Phase {
    /// The socket is at work on name, TCP and TLS. May become `upgrading` or `over`.
    case connecting
    /// The HTTP request is on its way or awaits its answer. May become `agreed`, `refused` or `over`.
    indirect case upgrading(WebSocketUpgrade)
    /// The server has agreed; `first` is what came until it is sure that it speaks WebSocket and not HTTP again. May
    /// become `open`, `refused`, `leaving` or `over`.
    indirect case agreed(WebSocketFramer, first: [UInt8])
    /// Messages flow. May become `leaving` or `over`.
    case open(WebSocketFramer)
    /// The server agreed and then refused in plain text, which is being read. May become `over`.
    indirect case refused(WebSocketUpgrade)
    /// The receiver has gone, what still comes is dropped, and the time for a goodbye runs. May become `over`.
    indirect case leaving(WebSocketFramer, until: CloseTrigger)
    /// Nothing is held any more.
    case over
  }

  /// What ends a goodbye early.
  private enum CloseTrigger {
    /// The peer answers our close frame.
    case answered
    /// Our answer to the peer's close frame is written.
    case written
    /// The peer hangs up: hanging up first, with its bytes unread, could destroy our close frame on its way.
    case hungUp
  }

  /// Most bytes read before others have their turn.
  private static let turnLimit = 32 << 10

  private let dialer: WebSocketDialer
  private let request: DialRequest
  /// Held until it closes the transport or is told of its end; one of the two always comes.
  private var receiver: (any TransportReceiver)?
  private var phase = Phase.connecting
  private let socket: TransportSocket
  /// Runs while HTTP is spoken.
  private var timer: Timers.ID?

  init(dialer: WebSocketDialer, request: DialRequest, receiver: any TransportReceiver) {
    self.dialer = dialer
    self.request = request
    self.receiver = receiver
    socket = TransportSocket(on: dialer.context, to: request, turnLimit: Self.turnLimit)
  }

  deinit { timers.cancel(timer) }

  private var timers: Timers { dialer.context.loop.timers }

  /// Starts to connect; the receiver hears nothing from here.
  func start() { socket.connect(for: self) }

  // MARK: - Transport

  var unsentBytes: Int { socket.unsentBytes }
  var progress: (any WriteProgress)? { socket.output }
  var isCongested: Bool { socket.isCongested }
  func mayWrite(until limit: MonotonicInstant) { socket.mayWrite(until: limit) }
  func holdReading(_ isHeld: Bool) { socket.holdReading(isHeld) }

  /// What messages are sent by, while they can be.
  private var sender: WebSocketFramer? {
    switch phase {
    case .open(let framer), .agreed(let framer, _): framer
    case .connecting, .upgrading, .refused, .leaving, .over: nil
    }
  }

  func send(text: RawSpan) { send(.text, text, compress: true) }
  func send(binary: RawSpan) { send(.binary, binary, compress: true) }
  func send(text: RawSpan, compress: Bool) { send(.text, text, compress: compress) }
  func send(binary: RawSpan, compress: Bool) { send(.binary, binary, compress: compress) }

  func send(text head: RawSpan, body: ArraySlice<UInt8>, compress: Bool) {
    guard let framer = sender else { return }
    framer.send(text: head, body: body, compress: compress)
    socket.flushSoon()
  }

  func send(control text: RawSpan) {
    guard let framer = sender else { return }
    framer.send(control: text)
    socket.flushSoon()
  }

  /// Messages of one turn leave together at the beginning of the next one.
  private func send(_ kind: MessageKind, _ body: RawSpan, compress: Bool) {
    guard let framer = sender else { return }
    framer.send(kind, body, compress: compress)
    socket.flushSoon()
  }

  func probe() -> Bool {
    guard let framer = sender else { return false }
    framer.ping()
    socket.flushSoon()
    return true
  }

  func close() {
    receiver = nil
    switch phase {
    case .agreed(let framer, _), .open(let framer):
      framer.close(1_000)
      leave(framer, until: .answered)
    case .connecting, .upgrading, .refused: release()
    case .leaving, .over: return
    }
  }

  // MARK: - Opening

  func socketOpened() {
    let key = WebSocketKey(random: dialer.random)
    let upgrade = WebSocketUpgrade(request: request, key: key.text, expectedAccept: key.expectedAccept)
    upgrade.requestBytes.withUnsafeBytes { socket.output.append($0) }
    phase = .upgrading(upgrade)
    startTimer(request.openingLimit)
    socket.flush()
    socket.read()
  }

  func socketRefused(_ failure: TransportFailure) { fail(failure) }

  private func continueUpgrade(_ upgrade: WebSocketUpgrade, _ bytes: UnsafeRawBufferPointer) -> Int? {
    var upgrade = upgrade
    let foreign = UpstreamFailure.foreignAnswer(bytes.bytes, to: request)
    guard foreign.reason != .tls else {
      fail(foreign)
      return nil
    }
    let outcome = upgrade.receive(bytes.bytes)
    switch outcome {
    case .needMore: phase = .upgrading(upgrade)
    case .failed(let failure): fail(failure)
    case .upgraded(let consumed):
      let rest = UnsafeRawBufferPointer(rebasing: bytes[consumed...])
      open(upgrade, rest)
      return rest.isEmpty ? nil : socketReceived(rest)
    }
    return nil
  }

  /// The answer was agreement; nothing of what came behind it was read yet.
  private func open(_ upgrade: WebSocketUpgrade, _ rest: UnsafeRawBufferPointer) {
    startTimer(nil)
    if WebSocketUpgrade.looksLikeHTTP(rest.bytes) == true { return refuse() }
    let compression = upgrade.deflate.map {
      MessageCompression(
        $0, threshold: request.compressionThreshold ?? .max, contexts: dialer.compression,
        memory: dialer.context.receiveMemory(for: request))
    }
    let framer = WebSocketFramer(
      messageLimit: request.messageLimit, random: dialer.random, output: socket.output, compression: compression,
      memory: dialer.context.receiveMemory(for: request), work: socket.work)
    framer.mustPause = { [socket] in socket.mustPause() }
    framer.onPart = { [unowned self] kind, part in
      switch kind {
      case .text: receiver?.transportGathers(text: part)
      case .binary: receiver?.transportGathers(binary: part)
      }
    }
    framer.onPong = { [unowned self] in receiver?.transportAnsweredProbe() }
    phase = .agreed(framer, first: [])
    var facts = socket.facts("websocket")
    facts.compression = compression != nil
    facts.subprotocol = upgrade.subprotocol
    receiver?.transportOpened(facts, headers: upgrade.headers)
  }

  /// Some servers agree to the upgrade and then write an HTTP error behind it.
  private func refuse() {
    startTimer(request.openingLimit)
    phase = .refused(WebSocketUpgrade.lateResponse())
  }

  private func continueRefusal(_ refusal: WebSocketUpgrade, _ bytes: RawSpan) {
    var refusal = refusal
    let outcome = refusal.receive(bytes)
    phase = .refused(refusal)
    if case .failed(let failure) = outcome { fail(failure) }
  }

  private func startTimer(_ limit: Duration?) {
    timers.cancel(timer)
    timer = limit.map { timers.after($0) { [unowned self] in timedOut() } }
  }

  private func timedOut() {
    switch phase {
    case .upgrading(var upgrade), .refused(var upgrade): fail(upgrade.timedOut())
    case .connecting, .agreed, .open, .leaving, .over: return
    }
  }

  // MARK: - Messages

  func socketReady(_ readiness: EventLoop.Readiness) { socket.ready(readiness, for: self) }

  func socketReceived(_ bytes: UnsafeRawBufferPointer) -> Int? {
    if case .open(let framer) = phase { return feed(bytes, to: framer) }
    return receivedOtherwise(bytes)
  }

  /// The same in any phase.
  private func receivedOtherwise(_ bytes: UnsafeRawBufferPointer) -> Int? {
    switch phase {
    case .open(let framer), .leaving(let framer, _): return feed(bytes, to: framer)
    case .upgrading(let upgrade): return continueUpgrade(upgrade, bytes)
    case .agreed(let framer, let first): return beginFrames(framer, first + bytes, last: bytes.count)
    case .refused(let refusal): continueRefusal(refusal, bytes.bytes)
    case .connecting, .over: break
    }
    return nil
  }

  /// All that came since the handshake; only the last bytes of it may come again.
  private func beginFrames(_ framer: WebSocketFramer, _ first: [UInt8], last: Int) -> Int? {
    switch WebSocketUpgrade.looksLikeHTTP(first.span.bytes) {
    case true?:
      refuse()
      return first.withUnsafeBytes { socketReceived($0) }
    case false?:
      phase = .open(framer)
      var rest = first.withUnsafeBytes { feed($0, to: framer) }
      while let left = rest, left > last {
        rest = first.withUnsafeBytes { feed(UnsafeRawBufferPointer(rebasing: $0.suffix(left)), to: framer) }
      }
      return rest
    case nil:
      phase = .agreed(framer, first: first)
      return nil
    }
  }

  /// Pushes on what one read brought. The receiver is held all the while: it may let go of the transport in between,
  /// and nothing follows then.
  private func feed(_ bytes: UnsafeRawBufferPointer, to framer: WebSocketFramer) -> Int? {
    let unsent = socket.output.byteCount
    let receiver = receiver
    framer.receive(bytes) { kind, body in
      switch kind {
      case .text: receiver?.transportReceived(text: body)
      case .binary: receiver?.transportReceived(binary: body)
      }
    }
    if let ending = framer.ending {
      end(ending, of: framer)
      return nil
    }
    if socket.output.byteCount > unsent { socket.flush() }
    socket.watch(unfinished: framer.unfinishedMessage)
    return framer.takeUntaken()
  }

  func socketDrained() {
    if case .leaving(_, until: .written) = phase { release() }
  }

  // MARK: - Ending

  /// The connection carries nothing more.
  func socketEnded(_ lost: UpstreamFailure?) {
    switch phase {
    case .upgrading(var upgrade), .refused(var upgrade):
      let failure = upgrade.ended()
      let early = lost?.closing(before: "it answered the WebSocket handshake")
      fail(failure.failure.reason == .closed ? TransportFailure(early ?? failure.failure) : failure)
    case .agreed, .open:
      fail(lost ?? UpstreamFailure(.closed, "the server closed the connection without a WebSocket close frame"))
    case .leaving: release()
    case .connecting, .over: return
    }
  }

  /// The framer reads no further.
  private func end(_ ending: WebSocketEnding, of framer: WebSocketFramer) {
    guard sender != nil else {
      if case .leaving(_, until: .answered) = phase { leave(framer, until: .written) }
      return
    }
    let receiver = receiver
    receiver?.transportEnds()
    switch ending {
    case .closed: leave(framer, until: .written)
    case .tooLarge, .noMemory, .invalidText, .invalidCompression, .violation: leave(framer, until: .hungUp)
    case .unreadAnswers: release()
    }
    receiver?.transportClosed(TransportFailure(ending.failure(messageLimit: request.messageLimit)))
  }

  /// Goes on without the receiver for a while, so that the last bytes arrive.
  private func leave(_ framer: WebSocketFramer, until trigger: CloseTrigger) {
    receiver = nil
    if sender != nil { socket.beginClosing() }
    phase = .leaving(framer, until: trigger)
    socket.flush()
  }

  private func fail(_ failure: UpstreamFailure) { fail(TransportFailure(failure)) }

  private func fail(_ failure: TransportFailure) {
    let receiver = receiver
    if sender != nil { receiver?.transportEnds() }
    release()
    receiver?.transportClosed(failure)
  }

  private func release() {
    phase = .over
    receiver = nil
    startTimer(nil)
    socket.close()
  }
}
