/// One transport to a server with the namespaces that share it. Dials when its first channel comes (`LinkAttempt` says
/// where), finds out the protocol's revision, lets channels join and ends with the last of them. `PacketReceiver` and
/// `PacketWriter` carry what is said meanwhile.
final class SocketIOLink {
  let id: String
  let key: LinkKey
  private weak var links: SocketIOLinks?
  private let timers: Timers
  private let time: any TimeSource

  private let attempt: LinkAttempt
  private var detection: RevisionDetection
  private var settleTimer: Timers.ID?
  private var dialled: MonotonicInstant?
  /// What the answer that opened the transport said about the server's clock.
  private(set) var dateSample: ClockSample?
  /// Nil before the first channel and after the end.
  private var engine: EngineIOSocket?
  private var isEnded = false
  private let namespaces = Namespaces()
  private let trace = LinkTrace()
  private let packets: PacketReceiver
  private let writer: PacketWriter
  /// Whose the bytes are that the transport has not taken.
  let unsentSends: UnsentSends

  init(id: String, key: LinkKey, links: SocketIOLinks) {
    self.id = id
    self.key = key
    self.links = links
    timers = links.timers
    time = links.time
    attempt = LinkAttempt(key, links)
    detection = RevisionDetection(remembered: attempt.revision)
    unsentSends = UnsentSends(links.memory.send)
    packets = PacketReceiver(key, namespaces, trace: trace, timers: links.timers, memory: links.memory.receive)
    writer = PacketWriter(key, trace: trace)
    packets.link = self
    unsentSends.watch(timers) { [weak self] in self?.unsentBytes ?? 0 }
  }

  /// What the server speaks, once it is known.
  var revision: EngineIORevision? { detection.revision }
  /// What carries the link's messages.
  var carrier: TransportName {
    engine?.transportFacts.flatMap { TransportName(rawValue: $0.name) } ?? attempt.transport
  }
  var unsentBytes: Int { engine?.unsentBytes ?? 0 }
  var isCongested: Bool { engine?.isCongested ?? false }
  /// The last measured one.
  var roundTrip: Duration? { engine?.roundTrip }

  /// The largest message that the server takes: as it says, and as it showed.
  var sizeLimit: Int? {
    let shown = attempt.sizeLimit(by: carrier)
    guard let announced = engine?.handshake?.maxPayload else { return shown }
    return min(announced, shown ?? announced)
  }

  /// What is known of the link, for `status`; `sid` is the channel's.
  func facts(sid: String?) -> ChannelFacts {
    guard let engine, let handshake = engine.handshake, let revision else {
      return ChannelFacts(link: id, server: attempt.server, transport: engine?.transportFacts)
    }
    return ChannelFacts(
      link: id, server: attempt.server, transport: engine.transportFacts,
      protocols: [("engineio", revision.rawValue), ("socketio", revision.socketIORevision)], sid: sid,
      roundTrip: engine.roundTrip.map { Double($0.nanoseconds) / 1e6 },
      heartbeat: (handshake.pingInterval, handshake.pingTimeout),
      heartbeatAge: engine.lastHeartbeat.map { time.now - $0 })
  }

  /// As in `EngineIOSocket`.
  func checkHeartbeat() { engine?.checkHeartbeat() }

  /// Asks the server for a sign of life.
  func verify() { engine?.verify(within: key.probeLimit) }

  // MARK: - Channels

  /// Whether a channel of this namespace may come.
  func canCarry(_ namespace: [UInt8]) -> Bool { !isEnded && namespaces.hasRoom(for: namespace) }

  /// Whether its HTTP requests carry these headers and query parameters; nil asks for none.
  func hasSent(_ wanted: ConnectSecrets?) -> Bool {
    guard let wanted, let secrets = attempt.requests.secrets else { return true }
    return secrets.headers == wanted.headers && secrets.query == wanted.query
  }

  /// Whether another channel than this waits for an acknowledgement, or for its bytes to leave.
  func isAwaited(besides channel: SocketIOChannel) -> Bool {
    unsentBytes > 0 || namespaces.channels.contains { $0 !== channel && $0.isAwaiting }
  }

  /// Takes a channel. Its owner hears nothing before this has returned. The secrets count for the first channel: what
  /// is dialled for it serves all.
  func attach(_ channel: SocketIOChannel, _ secrets: ConnectSecrets) {
    namespaces.add(channel)
    if attempt.requests.secrets == nil { attempt.requests.secrets = secrets }
    if trace.isWatched || channel.observer != nil { retrace() }
    if engine == nil { dial(detection.dialled) } else if let revision { join(channel, revision) }
  }

  /// Lets a channel go, and with the last one everything.
  func detach(_ channel: SocketIOChannel, replyDue: Bool) {
    guard !isEnded else { return }
    namespaces.remove(channel, replyDue: replyDue)
    if namespaces.channels.isEmpty {
      trace.hungUp()
      hangUp()
    } else if trace.isWatched {
      retrace()
    }
  }

  /// A channel has another name in packets than this one, because the revision is known now.
  func rename(_ channel: SocketIOChannel, from name: [UInt8]) { namespaces.rename(channel, from: name) }

  /// Channels, or their observers, have changed.
  func retrace() {
    let observed = namespaces.channels.compactMap { channel in
      channel.observer.map { LinkTrace.Observed(namespace: channel.namespace, observer: $0) }
    }
    guard !observed.isEmpty else { return trace.stop() }
    trace.tell(
      observed, request: attempt.requests.request(attempt.transport, detection.dialled),
      secrets: namespaces.channels.compactMap(\.payload))
    trace.revision = engine?.revision ?? detection.dialled
  }

  private func join(_ channel: SocketIOChannel, _ revision: EngineIORevision) {
    let isAccepted = namespaces.main == .accepted
    let entry: SocketIOSession.Entry
    switch revision {
    case .four: entry = .ask
    case .three: entry = channel.namespace.isEmpty ? .unasked : isAccepted ? .ask : .behindMain
    }
    channel.linkReady(entry, revision: revision, maxPayload: sizeLimit, nextAck: namespaces.nextAck)
    guard entry == .unasked, isAccepted else { return }
    timers.after(.zero) { [weak channel] in channel?.handle(.accepted) }
  }

  // MARK: - Writing

  /// Writes a message and its attachments with nothing between them.
  func write(_ kind: SocketIOPacket.Kind, _ namespace: [UInt8], ack: UInt64?, _ message: PreparedMessage) {
    if let engine { writer.write(kind, namespace, ack: ack, message, to: engine) }
  }

  /// Asks the server for a namespace; `payload` is JSON, empty for none.
  func connect(_ namespace: [UInt8], _ payload: [UInt8] = []) {
    guard let engine, !writer.connect(namespace, payload, to: engine) else { return }
    end(UpstreamFailure(.auth, "the credentials hold a value that the msgpack parser cannot send"))
  }

  /// Leaves a namespace politely. In revision 3 the main one stays joined while others need it: some servers end them
  /// all with it.
  func leave(_ channel: SocketIOChannel) {
    if revision == .three, channel.namespace.isEmpty, namespaces.channels.count > 1 { return }
    if let engine { writer.disconnect(channel.namespace, to: engine) }
  }

  // MARK: - Dialling

  private func dial(_ revision: EngineIORevision) {
    let engine = EngineIOSocket(
      revision: revision, request: attempt.request(revision), dialer: attempt.dialer(revision), timers: timers,
      time: time, pingLimit: key.pingLimit, trace: trace, receiver: self)
    self.engine = engine
    dialled = time.now
    trace.revision = revision
    engine.dial()
  }

  private func perform(_ step: LinkRoutes.Step) {
    switch step {
    case .dial:
      detection = RevisionDetection(remembered: attempt.revision)
      redial(detection.dialled)
    case .giveUp(let failure): end(failure)
    }
  }

  /// Everything that the old transport knew is void, half a message included.
  private func redial(_ revision: EngineIORevision) {
    engine?.close()
    cancelSettling()
    packets.reset()
    writer.reset()
    namespaces.forgetServer()
    for channel in namespaces.channels { channel.handle(.linkReset) }
    dial(revision)
  }

  private func perform(_ actions: [RevisionDetection.Action]) {
    for action in actions {
      switch action {
      case .redial(let revision): redial(revision)
      case .settle(let delay):
        settleTimer = timers.after(delay) { [weak self] in self?.settleTimePassed() }
      case .switchToThree:
        engine?.switchToThree()
        trace.revision = .three
      case .join:
        cancelSettling()
        guard let revision else { continue }
        for channel in namespaces.channels { join(channel, revision) }
      case .remember(let revision): attempt.revision = revision
      case .forget: attempt.revision = nil
      case .fail(let failure): perform(attempt.failed(failure))
      }
    }
  }

  private func settleTimePassed() {
    settleTimer = nil
    perform(detection.handle(.settleTimePassed))
  }

  private func cancelSettling() {
    timers.cancel(settleTimer)
    settleTimer = nil
  }

  /// No namespace was answered in time. True when that concerns the whole place and not the one namespace, and is dealt
  /// with.
  func moveOn(after failure: UpstreamFailure) -> Bool {
    guard let step = attempt.unanswered(failure) else { return false }
    perform(step)
    return true
  }

  // MARK: - The end

  /// Ends the link and tells every channel why.
  func end(_ failure: UpstreamFailure) {
    guard !isEnded else { return }
    hangUp()
    for channel in namespaces.removeAll() { channel.handle(.failed(failure)) }
  }

  private func hangUp() {
    isEnded = true
    packets.reset()
    cancelSettling()
    let engine = engine
    self.engine = nil
    engine?.close()
    links?.remove(self)
  }
}

// MARK: - What the server says about namespaces

extension SocketIOLink {
  /// The server accepted a namespace.
  func accepted(_ namespace: [UInt8], sid: String?, pid: String?) {
    attempt.answered()
    if engine?.revision == .four {
      perform(detection.handle(sid == nil ? .oldAnswer : .newAnswer))
      guard revision != nil else { return }
    }
    if namespaces.takeDueReply(namespace) {
      if let engine { writer.disconnect(namespace, to: engine) }
      return
    }
    guard revision == .three else {
      let channel = namespaces.channel(namespace)
      guard sid != nil else { channel?.handle(.failed(SocketIOProblem.missingSid.failure)); return }
      channel?.accepted(sid: sid, pid: pid)
      return
    }
    // Revision 3 has no id but that of the Engine.IO session, which is a secret: it suffices to take the session over.
    guard namespace.isEmpty else { namespaces.channel(namespace)?.handle(.accepted); return }
    guard namespaces.main == .pending else { return }
    namespaces.main = .accepted
    for channel in namespaces.channels { channel.handle(channel.namespace.isEmpty ? .accepted : .mainAccepted) }
  }

  /// The server accepted a namespace with words that are not read.
  func failed(_ namespace: [UInt8], _ problem: SocketIOProblem) {
    attempt.answered()
    if !namespaces.takeDueReply(namespace) { namespaces.channel(namespace)?.handle(.failed(problem.failure)) }
  }

  /// The server refused a namespace.
  func refused(_ namespace: [UInt8], _ refusal: SocketIORefusal) {
    attempt.answered()
    if detection.state == .settling, namespace.isEmpty { perform(detection.handle(.oldAnswer)) }
    if namespaces.takeDueReply(namespace) { return }
    let failure = refusal.failure(.refused, namespace)
    if revision == .three, namespace.isEmpty, namespaces.main == .pending { return mainClosed(failure) }
    guard let channel = namespaces.channel(namespace) else { return }
    // Revision 3 servers also report errors of single packets this way.
    if revision == .three, channel.isJoined { return }
    channel.handle(.failed(failure))
  }

  /// The server has ended a namespace.
  func disconnected(_ namespace: [UInt8], _ refusal: SocketIORefusal) {
    if revision == .three, namespace.isEmpty { namespaces.main = .closed }
    namespaces.channel(namespace)?.handle(.failed(refusal.failure(.kicked, namespace)))
  }

  /// Without the main namespace a revision 3 server admits to no other.
  private func mainClosed(_ failure: UpstreamFailure) {
    namespaces.main = .closed
    for channel in namespaces.channels { channel.handle(.failed(failure)) }
  }
}

// MARK: - From the session

extension SocketIOLink: EngineIOSocket.Receiver {
  func engineReceived(text: RawSpan, from start: Int) { packets.receive(text: text, from: start) }
  func engineReceived(binary: RawSpan) { packets.receive(binary: binary) }
  func engineSkips(binaryCount: Int) -> Bool { packets.skips(binaryCount: binaryCount) }
  func engineGathers(text: RawSpan, from start: Int) { packets.gather(text: text, from: start) }
  func engineGathers(binary: RawSpan) { packets.gather(binary: binary) }

  func engineHeard(_ headers: [HTTPHeader]) {
    attempt.requests.heard(headers)
    dateSample = dialled.flatMap { ClockSample(dateOf: headers, asked: $0, heard: time.now) }
  }

  func engineOpened(_ handshake: EngineIOHandshake) {
    if let revision = engine?.shownRevision {
      perform(detection.handle(.shownHandshake(revision)))
    } else {
      perform(detection.handle(.handshake(namesMaxPayload: handshake.maxPayload != nil)))
    }
    if revision != nil || detection.state == .settling {
      attempt.works(attempt.transport)
    }
  }

  func engineSwitched() {
    attempt.works(.websocket)
    for channel in namespaces.channels { channel.transportSwitched() }
  }

  func engineEnded(_ failure: TransportFailure) {
    var failure = failure
    failure.failure.retryAfter = RetryAfter.duration(
      failure.failure.status, failure.headers, now: time.wallMilliseconds)
    attempt.requests.heard(failure.headers)
    failure.failure.refusedSize = noteSizeLimit(failure)
    if let step = attempt.redirected(failure) { return perform(step) }
    let explained = EngineIORefusal.explain(failure, attempt.transport)
    guard case .dialling = detection.state else { return perform(attempt.failed(explained)) }
    if failure.failure.reason == .http, EngineIORefusal(body: failure.httpBody) == .unsupportedRevision {
      return perform(detection.handle(.revisionRefused))
    }
    let isOpen = engine?.transportFacts != nil && attempt.transport == .websocket
    let told = isOpen ? explained.closing(before: "its Engine.IO handshake") : explained
    perform(attempt.transportFailed(told, beforeHTTP: failure.isBeforeHTTP))
  }

  /// The transport has ended. From what size on the server refuses messages, if that was why, is remembered, so that
  /// none is written again.
  private func noteSizeLimit(_ failure: TransportFailure) -> MessageSize? {
    let longestName = namespaces.channels.map(\.namespace.count).max() ?? 0
    guard let refusal = writer.refusal(shownBy: failure, revision ?? .four, longestName: longestName) else {
      return nil
    }
    attempt.note(refusal)
    return refusal.size
  }
}
