/// A transport that begins with long-polling and goes on as a WebSocket where the server has one: performs what
/// `TransportUpgrade` asks for. The session above notices it only by `TransportNotice.switched`. Decision 0012.
final class UpgradingTransport: Transport {
  private let requests: any PollingRequests
  private let timers: Timers
  /// Nil: it stays with polling.
  private let webSockets: (any TransportDialer)?
  private weak var receiver: (any TransportReceiver)?
  private var upgrade = TransportUpgrade()
  private var polling: PollingTransport?
  private var written: UpgradeProgress?
  private var webSocket: (any Transport)?
  private var webSocketFacts: TransportFacts?
  private var probeListener: Probe?
  private var deadline: Timers.ID?
  /// Nothing is written from then on.
  private var writeLimit: MonotonicInstant?
  /// The server is read no further for now.
  private var isReadingHeld = false

  init(
    requests: any PollingRequests, timers: Timers, webSockets: (any TransportDialer)?, receiver: any TransportReceiver
  ) {
    self.requests = requests
    self.timers = timers
    self.webSockets = webSockets
    self.receiver = receiver
  }

  /// Starts the handshake; the receiver is not called from here.
  func start(_ revision: EngineIORevision, _ requester: any HTTPRequester) {
    let polling = PollingTransport(
      revision: revision, requests: requests, requester: requester, timers: timers, receiver: self)
    self.polling = polling
    written = UpgradeProgress(polling)
    polling.start()
  }

  // MARK: - Transport

  /// Where what is sent now goes to.
  private var carrier: (any Transport)? { polling ?? webSocket }

  var unsentBytes: Int { carrier?.unsentBytes ?? 0 }
  var progress: (any WriteProgress)? { written }
  var isCongested: Bool { carrier?.isCongested ?? false }
  func send(text: RawSpan) { carrier?.send(text: text) }
  func send(binary: RawSpan) { carrier?.send(binary: binary) }
  func send(text: RawSpan, compress: Bool) { carrier?.send(text: text, compress: compress) }
  func send(binary: RawSpan, compress: Bool) { carrier?.send(binary: binary, compress: compress) }
  func send(text head: RawSpan, body: ArraySlice<UInt8>, compress: Bool) {
    carrier?.send(text: head, body: body, compress: compress)
  }
  func send(control text: RawSpan) { carrier?.send(control: text) }
  func probe() -> Bool { carrier?.probe() ?? false }

  func mayWrite(until limit: MonotonicInstant) {
    writeLimit = limit
    polling?.mayWrite(until: limit)
    webSocket?.mayWrite(until: limit)
  }

  /// The answer to the question whether the WebSocket works is read all the same.
  func holdReading(_ isHeld: Bool) {
    isReadingHeld = isHeld
    carrier?.holdReading(isHeld)
  }

  func close() {
    receiver = nil
    let carrier = carrier
    let isUpgraded = upgrade.state == .upgraded
    perform(upgrade.handle(.ended))
    polling = nil
    if isUpgraded { webSocket = nil }
    carrier?.close()
  }

  // MARK: - The WebSocket

  /// Hears of the WebSocket; polling speaks to the transport itself.
  private final class Probe: TransportReceiver {
    weak var owner: UpgradingTransport?
    init(_ owner: UpgradingTransport) { self.owner = owner }

    func transportOpened(_ facts: TransportFacts, headers: [HTTPHeader]) {
      owner?.requests.heard(headers)
      owner?.webSocketFacts = facts
      owner?.handle(.probeOpened)
    }
    func transportReceived(text: RawSpan) { owner?.webSocketReceived(text: text) }
    func transportReceived(binary: RawSpan) { owner?.webSocketReceived(binary: binary) }
    func transportGathers(text: RawSpan) { owner?.webSocketGathers(text: text) }
    func transportGathers(binary: RawSpan) { owner?.webSocketGathers(binary: binary) }
    func transportAnsweredProbe() { owner?.receiver?.transportAnsweredProbe() }
    func transportEnds() { owner?.webSocketEnds() }
    func transportClosed(_ failure: TransportFailure) { owner?.webSocketClosed(failure) }
  }

  private static let question = [UInt8]("2probe".utf8)
  private static let answer = [UInt8]("3probe".utf8)
  private static let upgradePacket = [UInt8(ascii: "5")]

  private func webSocketReceived(text: RawSpan) {
    guard upgrade.state != .upgraded else { receiver?.transportReceived(text: text); return }
    let isAnswer = text.withUnsafeBytes { $0.elementsEqual(Self.answer) }
    handle(isAnswer ? .probeAnswered : .probeMisspoke)
  }

  private func webSocketGathers(text: RawSpan) {
    if upgrade.state == .upgraded { receiver?.transportGathers(text: text) }
  }

  private func webSocketGathers(binary: RawSpan) {
    if upgrade.state == .upgraded { receiver?.transportGathers(binary: binary) }
  }

  private func webSocketReceived(binary: RawSpan) {
    guard upgrade.state != .upgraded else { receiver?.transportReceived(binary: binary); return }
    handle(.probeMisspoke)
  }

  private func webSocketEnds() {
    if upgrade.state == .upgraded { receiver?.transportEnds() }
  }

  private func webSocketClosed(_ failure: TransportFailure) {
    webSocket = nil
    guard upgrade.state == .upgraded else {
      requests.heard(failure.headers)
      return handle(.probeLost)
    }
    perform(upgrade.handle(.ended))
    let receiver = receiver
    self.receiver = nil
    receiver?.transportClosed(failure)
  }

  // MARK: - What the upgrade asks for

  private func handle(_ event: TransportUpgrade.Event) { perform(upgrade.handle(event)) }

  private func perform(_ actions: [TransportUpgrade.Action]) {
    for action in actions {
      switch action {
      case .dial: dial()
      case .arm: arm(requests.place.phaseLimit)
      case .disarm:
        timers.cancel(deadline)
        deadline = nil
      case .ask: webSocket?.send(text: Self.question.span.bytes)
      case .pause:
        // From here on everything waits.
        arm(requests.fallbackLimit)
        polling?.pause { [weak self] in self?.handle(.pollingRests) }
      case .switchOver: switchOver()
      case .discardProbe:
        let webSocket = webSocket
        self.webSocket = nil
        probeListener = nil
        webSocket?.close()
      case .resume: polling?.resume()
      }
    }
  }

  private func arm(_ limit: Duration) {
    timers.cancel(deadline)
    deadline = timers.after(limit) { [weak self] in self?.handle(.deadlinePassed) }
  }

  private func dial() {
    guard let polling, let sid = polling.handshake?.sid, let webSockets else { return }
    let probe = Probe(self)
    probeListener = probe
    webSocket = webSockets.dial(requests.request(.websocket, polling.revision, sid: sid), receiver: probe)
    if let writeLimit { webSocket?.mayWrite(until: writeLimit) }
  }

  private func switchOver() {
    guard let polling, let webSocket else { return }
    self.polling = nil
    let (given, taken) = (polling.given, polling.taken)
    let unsent = polling.handOver()
    if isReadingHeld { webSocket.holdReading(true) }
    webSocket.send(text: Self.upgradePacket.span.bytes)
    for packet in unsent {
      if packet.isBinary {
        webSocket.send(binary: packet.bytes.span.bytes)
      } else {
        webSocket.send(text: packet.bytes.span.bytes)
      }
    }
    if let progress = webSocket.progress { written?.switched(to: progress, given: given, taken: taken) }
    if let webSocketFacts { receiver?.transportNoticed(.switched(webSocketFacts)) }
  }
}

/// What comes by polling.
extension UpgradingTransport: TransportReceiver {
  func transportOpened(_ facts: TransportFacts, headers: [HTTPHeader]) {
    receiver?.transportOpened(facts, headers: headers)
  }

  func transportNoticed(_ notice: TransportNotice) { receiver?.transportNoticed(notice) }

  func transportReceived(text: RawSpan) {
    receiver?.transportReceived(text: text)
    guard upgrade.state == .waiting, let handshake = polling?.handshake else { return }
    handle(.handshake(mayUpgrade: webSockets != nil && handshake.offersWebSocket))
  }

  func transportReceived(binary: RawSpan) { receiver?.transportReceived(binary: binary) }
  func transportGathers(text: RawSpan) { receiver?.transportGathers(text: text) }
  func transportGathers(binary: RawSpan) { receiver?.transportGathers(binary: binary) }

  func transportClosed(_ failure: TransportFailure) {
    polling = nil
    perform(upgrade.handle(.ended))
    let receiver = receiver
    self.receiver = nil
    receiver?.transportClosed(failure)
  }
}

/// Dials long-polling where `EngineIOSocket` expects a dialer.
final class PollingDialer: TransportDialer {
  private let revision: EngineIORevision
  private let requests: any PollingRequests
  private let requester: any HTTPRequester
  private let timers: Timers
  /// Nil: a session that began with polling stays with it.
  private let webSockets: (any TransportDialer)?

  init(
    revision: EngineIORevision, requests: any PollingRequests, requester: any HTTPRequester, timers: Timers,
    webSockets: (any TransportDialer)?
  ) {
    self.revision = revision
    self.requests = requests
    self.requester = requester
    self.timers = timers
    self.webSockets = webSockets
  }

  /// The request says nothing that the link's requests do not.
  func dial(_ request: DialRequest, receiver: any TransportReceiver) -> any Transport {
    let transport = UpgradingTransport(
      requests: requests, timers: timers, webSockets: webSockets, receiver: receiver)
    transport.start(revision, requester)
    return transport
  }
}
