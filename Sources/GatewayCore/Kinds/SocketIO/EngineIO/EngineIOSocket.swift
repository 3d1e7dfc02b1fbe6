/// Owns one Engine.IO session and its transport: performs what the session asks for, keeps what concerns the session
/// alone, and pushes every message on to its receiver.
final class EngineIOSocket: TransportReceiver {
  /// Hears what happens on a socket. Spans are valid only during the call.
  protocol Receiver: AnyObject {
    /// The header lines of the answer that opened the transport.
    func engineHeard(_ headers: [HTTPHeader])
    /// The session, which began with long-polling, goes on over a WebSocket.
    func engineSwitched()
    func engineOpened(_ handshake: EngineIOHandshake)
    /// A text message; its content begins at `start`.
    func engineReceived(text: RawSpan, from start: Int)
    func engineReceived(binary: RawSpan)
    /// A large binary message of so many bytes has come as base64. True: that was all there is to be known of it, and
    /// it need not be decoded.
    func engineSkips(binaryCount: Int) -> Bool
    /// A long text message is coming, and this much of it has come; its content begins at `start`.
    func engineGathers(text: RawSpan, from start: Int)
    /// The same for a long binary message.
    func engineGathers(binary: RawSpan)
    /// The end comes. `unsentBytes` says once more what the server's machine has not acknowledged.
    func engineEnds()
    /// The end, by the server or by a failure. Nothing follows.
    func engineEnded(_ failure: TransportFailure)
  }

  /// Told what goes over the link beside messages, for whoever looks on.
  protocol Observer: AnyObject {
    func dialled(_ request: DialRequest)
    func opened(_ facts: TransportFacts)
    func closed(_ failure: UpstreamFailure)
    /// Any packet that changes something about the session, or may; `text` is the whole of it.
    func received(_ packet: EngineIOPacket, _ text: RawSpan)
    /// A packet of the session itself, type included.
    func sent(_ packet: [UInt8])
  }

  private let reference: LightReference<EngineIOSocket>
  private let request: DialRequest
  private let dialer: any TransportDialer
  /// Longest ping times that the server may name.
  private let pingLimit: Duration
  private let timers: Timers
  private let time: any TimeSource
  /// Held for as long as the receiver holds the socket: looking it up for each message would cost more than the
  /// message.
  private let receiver: any Receiver
  private let observer: any Observer

  private var session: EngineIOSession
  private var transport: (any Transport)?
  /// Of the handshake.
  private var timer: Timers.ID?
  private let liveness: Liveness
  private(set) var transportFacts: TransportFacts?
  /// What the server said at the opening; kept for `status` as long as this object lives.
  private(set) var handshake: EngineIOHandshake?
  /// The revision that the form of the server's answers shows; nil where the form is the same in both.
  private(set) var shownRevision: EngineIORevision?

  /// When the round trip is measured first, counted from the opening: the namespaces' handshake is not disturbed, and a
  /// link that does not last is not asked.
  static let firstMeasurement: Duration = .seconds(1)
  /// From this length on it is asked whether binary data in base64 has to be decoded, in bytes.
  private static let largeBase64 = 64 << 10
  private static let ping = [UInt8(ascii: "2")]

  init(
    revision: EngineIORevision, request: DialRequest, dialer: any TransportDialer, timers: Timers,
    time: any TimeSource, pingLimit: Duration, observer: any Observer, receiver: any Receiver
  ) {
    self.pingLimit = pingLimit
    self.request = request
    self.dialer = dialer
    self.timers = timers
    self.time = time
    self.observer = observer
    self.receiver = receiver
    let reference = LightReference<EngineIOSocket>()
    self.reference = reference
    liveness = Liveness(
      timers: timers, time: time, ask: { reference.object?.transport?.probe() == true },
      beat: { reference.object?.send(packet: Self.ping) },
      fail: { silence in
        guard let socket = reference.object else { return }
        socket.perform(socket.session.handle(.silent(silence)))
      })
    session = EngineIOSession(revision: revision, handshakeLimit: request.openingLimit)
    reference.begin(self)
  }

  deinit { reference.end() }

  var revision: EngineIORevision { session.revision }
  /// In revision 3 our own pings are answered, so that nothing else has to be asked after the opening.
  var roundTrip: Duration? { liveness.roundTrip }
  /// When the last heartbeat was heard, or the session opened.
  var lastHeartbeat: MonotonicInstant? { liveness.lastHeard }
  /// Bytes accepted but not yet taken by the kernel.
  var unsentBytes: Int { transport?.unsentBytes ?? 0 }
  /// How far what the transport is given comes.
  var progress: (any WriteProgress)? { transport?.progress }
  /// Whether there is a transport.
  var isUp: Bool { transport != nil }
  /// Whether what is sent now waits behind what the kernel refused.
  var isCongested: Bool { transport?.isCongested ?? false }

  /// Nothing reaches the kernel from that instant on.
  func mayWrite(until limit: MonotonicInstant) { transport?.mayWrite(until: limit) }

  /// The server is read no further, or read on.
  func holdReading(_ isHeld: Bool) { transport?.holdReading(isHeld) }

  /// Starts the one attempt.
  func dial() {
    observer.dialled(request)
    transport = dialer.dial(request, receiver: self)
  }

  /// The server ignored the revision that was asked for.
  func switchToThree() { perform(session.handle(.revisionThreeSeen)) }

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
    perform(session.handle(.hangUp))
    letGo()
  }

  // MARK: - Messages

  /// Nearly all are messages of an open session, which change nothing about it.
  func transportReceived(text: RawSpan) {
    guard session.passesMessages, !liveness.isUrgent, EngineIOPacket.isMessage(text) else { return receive(text) }
    receiver.engineReceived(text: text, from: 1)
  }

  private func receive(_ text: RawSpan) {
    liveness.heard()
    if text.byteCount >= Self.largeBase64, session.passesMessages, let size = EngineIOPacket.binaryCount(text),
      receiver.engineSkips(binaryCount: size)
    {
      return
    }
    let packet: EngineIOPacket
    do { packet = try EngineIOPacket(text: text, revision: session.revision) } catch {
      return perform(session.handle(.undecodable(error)))
    }
    observer.received(packet, text)
    switch packet {
    case .message(let range):
      if accepts(session.handle(.message)) { receiver.engineReceived(text: text, from: range.lowerBound) }
    case .decodedBinary(let bytes):
      if accepts(session.handle(.message)) { receiver.engineReceived(binary: bytes.span.bytes) }
    case .ping(let range):
      let data = text.extracting(range).withUnsafeBytes { [UInt8]($0) }
      perform(session.handle(.ping(data)))
      liveness.heardNow()
      if session.revision == .four { measure() }
    case .pong:
      liveness.answeredBeat()
      perform(session.handle(.filler))
    case .open(let range): open(text.extracting(range))
    case .close: perform(session.handle(.closePacket))
    case .upgrade, .noop, .binary: perform(session.handle(.filler))
    }
  }

  func transportReceived(binary: RawSpan) {
    liveness.heard()
    let packet: EngineIOPacket
    do { packet = try EngineIOPacket(binary: binary, revision: session.revision) } catch {
      return perform(session.handle(.undecodable(error)))
    }
    guard case .binary(let range) = packet, accepts(session.handle(.message)) else { return }
    receiver.engineReceived(binary: binary.extracting(range))
  }

  func transportGathers(text: RawSpan) {
    if session.passesMessages, EngineIOPacket.isMessage(text) { receiver.engineGathers(text: text, from: 1) }
  }

  /// In revision 4, where nothing stands in front of binary data.
  func transportGathers(binary: RawSpan) {
    if session.passesMessages { receiver.engineGathers(binary: binary) }
  }

  // MARK: - The session

  func transportOpened(_ facts: TransportFacts, headers: [HTTPHeader]) {
    transportFacts = facts
    observer.opened(facts)
    receiver.engineHeard(headers)
    perform(session.handle(.transportOpened))
  }

  func transportNoticed(_ notice: TransportNotice) {
    switch notice {
    case .version(let number): shownRevision = EngineIORevision(rawValue: number)
    case .switched(let facts):
      transportFacts = facts
      receiver.engineSwitched()
    }
  }

  private func open(_ text: RawSpan) {
    do {
      let handshake = try EngineIOHandshake(parsing: text, pingLimit: pingLimit)
      self.handshake = handshake
      liveness.heardNow()
      // First: the handshake may be what the session ends with.
      liveness.measure(in: Self.firstMeasurement)
      perform(session.handle(.handshake(handshake)))
    } catch { perform(session.handle(.undecodable(error))) }
  }

  func transportEnds() { receiver.engineEnds() }

  /// What the server wrote instead of a handshake matters one level up.
  func transportClosed(_ failure: TransportFailure) {
    transport = nil
    observer.closed(failure.failure)
    perform(session.handle(.transportLost(failure.failure)), lost: failure)
  }

  /// Whether a message is to be pushed on; anything else is performed.
  private func accepts(_ actions: [EngineIOSession.Action]) -> Bool {
    if case .deliver = actions.first { return true }
    perform(actions)
    return false
  }

  /// `lost` is the end of the transport, where that is what the session was told.
  private func perform(_ actions: [EngineIOSession.Action], lost: TransportFailure? = nil) {
    for action in actions {
      switch action {
      case .arm(let delay):
        timers.cancel(timer)
        timer = timers.after(delay) { [reference] in reference.object?.timerFired() }
      case .disarm:
        timers.cancel(timer)
        timer = nil
      case .beat(let settings):
        liveness.begin(settings, by: session.revision == .four ? .server : .client(isExpected: true))
      case .sendPong(let data): send(packet: [UInt8(ascii: "3")] + data)
      case .announce: if let handshake { receiver.engineOpened(handshake) }
      case .deliver: break
      case .end(let failure):
        if transport != nil { receiver.engineEnds() }
        letGo()
        receiver.engineEnded(lost ?? TransportFailure(failure))
      }
    }
  }

  private func send(packet: [UInt8]) {
    observer.sent(packet)
    transport?.send(control: packet.span.bytes)
  }

  private func timerFired() {
    timer = nil
    perform(session.handle(.timerFired))
  }

  private func letGo() {
    liveness.end()
    let transport = transport
    self.transport = nil
    transport?.close()
  }

  // MARK: - Signs of life beyond the heartbeat

  /// To be called before something is written.
  func checkHeartbeat() { liveness.check() }

  /// Asks the peer for a sign of life, which must come within `limit`; otherwise the session ends with `heartbeat`.
  func verify(within limit: Duration) {
    if case .open = session.state { liveness.verify(within: limit) }
  }

  /// Measures the round trip.
  private func measure() {
    if case .open = session.state { liveness.measure() }
  }

  func transportAnsweredProbe() { liveness.answered() }
}
