/// Owns one Engine.IO session and its transport: performs what the session asks for.
final class EngineIOSocket: TransportReceiver {
  private let request: DialRequest
  private let dialer: any TransportDialer
  /// Longest ping times that the server may name.
  private let pingLimit: Duration
  let timers: Timers
  let time: any TimeSource
  private weak var receiver: (any EngineIOReceiver)?
  /// Who traces the session; nil while nobody does.
  var observer: (any EngineIOObserver)?

  var session: EngineIOSession {
    didSet { passesMessages = session.passesMessages }
  }
  /// The session's, kept at hand: asking it for every message means copying what the server said at the opening.
  private var passesMessages = false
  private(set) var transport: (any Transport)?
  private var timer: Timers.ID?
  var probe = LinkProbe()
  var probeTimer: Timers.ID?
  private var measureTimer: Timers.ID?
  /// When the last heartbeat was heard, or the session opened.
  private(set) var lastHeartbeat: MonotonicInstant?
  private(set) var transportFacts: TransportFacts?
  /// What the server said at the opening; kept for `status` as long as this object lives.
  private(set) var handshake: EngineIOHandshake?

  /// When the round trip is measured first, counted from the opening: the namespaces' handshake is not disturbed, and a
  /// link that does not last is not asked.
  static let firstMeasurement: Duration = .seconds(1)
  /// The revision that the form of the server's answers shows; nil where the form is the same in both.
  private(set) var shownRevision: EngineIORevision?

  init(
    revision: EngineIORevision, request: DialRequest, dialer: any TransportDialer, timers: Timers,
    time: any TimeSource, pingLimit: Duration = EngineIOHandshake.longestPing, receiver: any EngineIOReceiver
  ) {
    self.pingLimit = pingLimit
    self.request = request
    self.dialer = dialer
    self.timers = timers
    self.time = time
    self.receiver = receiver
    session = EngineIOSession(revision: revision, handshakeLimit: request.openingLimit)
  }

  var revision: EngineIORevision { session.revision }
  /// In revision 3 our own pings are answered, so that nothing else has to be asked after the opening.
  var roundTrip: Duration? { session.roundTrip ?? probe.roundTrip }
  /// Bytes accepted but not yet taken by the kernel.
  var unsentBytes: Int { transport?.unsentBytes ?? 0 }
  /// Whether what is sent now waits behind what the kernel refused.
  var isCongested: Bool { transport?.isCongested ?? false }

  /// Starts the one attempt.
  func dial() {
    observer?.dialled(request)
    transport = dialer.dial(request, receiver: self)
  }

  /// The server ignored the revision that was asked for.
  func switchToThree() { perform(session.handle(.revisionThreeSeen(at: time.now))) }

  /// Sends one text message, packet type included.
  func send(text: RawSpan, compress: Bool = true) { transport?.send(text: text, compress: compress) }

  /// The same for one long text in two parts.
  func send(text head: RawSpan, body: ArraySlice<UInt8>, compress: Bool) {
    transport?.send(text: head, body: body, compress: compress)
  }

  /// Sends one binary message.
  func send(binary: [UInt8], compress: Bool = true) {
    switch session.revision {
    case .four: transport?.send(binary: binary.span.bytes, compress: compress)
    case .three:
      let prefixed = [EngineIOPacket.binaryMessageByte] + binary
      transport?.send(binary: prefixed.span.bytes, compress: compress)
    }
  }

  /// Lets go of the session. The receiver hears nothing more. Servers ignore a close packet on a WebSocket, so the
  /// transport's own goodbye is the only one.
  func close() {
    receiver = nil
    perform(session.handle(.hangUp))
    letGo()
  }

  // MARK: - From the transport

  func transportOpened(_ facts: TransportFacts, headers: [HTTPHeader]) {
    transportFacts = facts
    observer?.opened(facts)
    receiver?.engineHeard(headers)
    perform(session.handle(.transportOpened))
  }

  func transportNoticed(_ notice: TransportNotice) {
    switch notice {
    case .version(let number): shownRevision = EngineIORevision(rawValue: number)
    case .switched(let facts):
      transportFacts = facts
      receiver?.engineSwitched()
    }
  }

  func transportReceived(_ messages: any IncomingMessages) {
    // Also what nobody wants has to be read.
    if let receiver { receiver.engineReceived(messages, from: self) } else { forEach(messages) { _, _ in } }
  }

  /// Hands out the text messages of one look at the server in order; the content of each begins at `start`. What only
  /// concerns the session is kept, and what else there is reaches the receiver in its turn, by its other ways.
  func forEach(_ messages: any IncomingMessages, _ body: (_ text: RawSpan, _ start: Int) -> Void) {
    messages.forEach { kind, message in
      switch kind {
      case .text: if isPlain(message) { body(message, 1) } else { transportReceived(text: message) }
      case .binary: transportReceived(binary: message)
      }
    }
  }

  /// Whether a message is for the receiver and nobody else looks at it: what nearly all are.
  private func isPlain(_ text: RawSpan) -> Bool {
    passesMessages && !probe.isUrgent && observer == nil && EngineIOPacket.isMessage(text)
  }

  func transportReceived(text: RawSpan) {
    if probe.isUrgent { stopVerifying() }
    if text.byteCount >= Self.largeBase64, passesMessages, let size = EngineIOPacket.binaryCount(text),
      receiver?.engineSkips(binaryCount: size) == true
    {
      return
    }
    let packet: EngineIOPacket
    do { packet = try EngineIOPacket(text: text, revision: session.revision) } catch {
      return perform(session.handle(.undecodable(error)))
    }
    observer?.received(packet, text)
    switch packet {
    case .message(let range):
      guard passesMessages || accepts(session.handle(.message)) else { return }
      receiver?.engineReceived(text: text, from: range.lowerBound)
    case .decodedBinary(let bytes):
      if accepts(session.handle(.message)) { receiver?.engineReceived(binary: bytes.span.bytes) }
    case .ping(let range):
      let data = text.extracting(range).withUnsafeBytes { [UInt8]($0) }
      perform(session.handle(.ping(data, at: time.now)))
      lastHeartbeat = time.now
      if session.revision == .four { measure() }
    case .pong:
      lastHeartbeat = time.now
      perform(session.handle(.pong(at: time.now)))
    case .open(let range): open(text.extracting(range))
    case .close: perform(session.handle(.closePacket))
    case .upgrade, .noop, .binary: perform(session.handle(.filler))
    }
  }

  /// From this length on it is asked whether binary data in base64 has to be decoded, in bytes.
  private static let largeBase64 = 64 << 10

  func transportGathers(text: RawSpan) {
    if passesMessages, EngineIOPacket.isMessage(text) { receiver?.engineGathers(text: text, from: 1) }
  }

  /// In revision 4, where nothing stands in front of binary data.
  func transportGathers(binary: RawSpan) {
    if passesMessages, session.revision == .four { receiver?.engineGathers(binary: binary) }
  }

  func transportReceived(binary: RawSpan) {
    if probe.isUrgent { stopVerifying() }
    let packet: EngineIOPacket
    do { packet = try EngineIOPacket(binary: binary, revision: session.revision) } catch {
      return perform(session.handle(.undecodable(error)))
    }
    guard case .binary(let range) = packet, accepts(session.handle(.message)) else { return }
    receiver?.engineReceived(binary: binary.extracting(range))
  }

  func transportClosed(_ failure: TransportFailure) {
    transport = nil
    stopAsking()
    observer?.closed(failure.failure)
    // The session knows only why; what the server wrote instead of a handshake matters one level up.
    let receiver = receiver
    self.receiver = nil
    perform(session.handle(.transportLost(failure.failure)))
    receiver?.engineEnded(failure)
  }

  private func open(_ text: RawSpan) {
    do {
      let handshake = try EngineIOHandshake(parsing: text, pingLimit: pingLimit)
      self.handshake = handshake
      lastHeartbeat = time.now
      // First: the handshake may be what the session ends with.
      timers.cancel(measureTimer)
      measureTimer = timers.after(Self.firstMeasurement) { [weak self] in self?.measure() }
      perform(session.handle(.handshake(handshake, at: time.now)))
    } catch { perform(session.handle(.undecodable(error))) }
  }

  // MARK: - What the session asks for

  /// Whether a message is to be handed on; anything else is performed.
  private func accepts(_ actions: [EngineIOSession.Action]) -> Bool {
    if case .deliver = actions.first { return true }
    perform(actions)
    return false
  }

  func perform(_ actions: [EngineIOSession.Action]) {
    for action in actions {
      switch action {
      case .arm(let delay):
        timers.cancel(timer)
        timer = timers.after(delay) { [weak self] in self?.timerFired() }
      case .disarm:
        timers.cancel(timer)
        timer = nil
      case .sendPing: send(packet: Self.ping)
      case .sendPong(let data): send(packet: [UInt8(ascii: "3")] + data)
      case .announce: if let handshake { receiver?.engineOpened(handshake) }
      case .deliver: break
      case .end(let failure): end(failure)
      }
    }
  }

  private static let ping = [UInt8(ascii: "2")]

  private func send(packet: [UInt8]) {
    observer?.sent(packet)
    transport?.send(control: packet.span.bytes)
  }

  private func timerFired() {
    timer = nil
    perform(session.handle(.timerFired(at: time.now)))
  }

  private func end(_ failure: UpstreamFailure) {
    let receiver = receiver
    self.receiver = nil
    letGo()
    receiver?.engineEnded(TransportFailure(failure))
  }

  private func stopAsking() {
    stopVerifying()
    timers.cancel(measureTimer)
    measureTimer = nil
  }

  private func letGo() {
    stopAsking()
    let transport = transport
    self.transport = nil
    transport?.close()
  }
}
