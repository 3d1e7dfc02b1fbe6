/// One transport to a server with the namespaces that share it. Dials what `SocketIORoute` says when its first channel
/// comes, lets channels join and ends with the last of them. `PacketReceiver` and `PacketWriter` carry what is said
/// meanwhile.
final class SocketIOLink {
  let id: String
  let key: LinkKey
  private weak var links: SocketIOLinks?
  private let timers: Timers
  private let time: any TimeSource

  private let route: SocketIORoute
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
    route = SocketIORoute(key, links)
    unsentSends = UnsentSends(links.memory.send)
    packets = PacketReceiver(key, namespaces, trace: trace, timers: links.timers, memory: links.memory.receive)
    writer = PacketWriter(key, trace: trace)
    packets.link = self
    unsentSends.watch(timers) { [unowned self] in unsentBytes }
  }

  /// What the server speaks, once it is known.
  var revision: EngineIORevision? { route.revision }
  /// What carries the link's messages.
  var carrier: TransportName {
    engine?.transportFacts.flatMap { TransportName(rawValue: $0.name) } ?? route.transport
  }
  var unsentBytes: Int { engine?.unsentBytes ?? 0 }
  var progress: (any WriteProgress)? { engine?.progress }
  /// Whether it carries something, so that it can be said what has left.
  var isUp: Bool { engine?.isUp == true }
  var isCongested: Bool { engine?.isCongested ?? false }
  /// Whether it has several channels.
  var isShared: Bool { namespaces.channels.count > 1 }
  /// The last measured one.
  var roundTrip: Duration? { engine?.roundTrip }

  /// The largest message that the server takes: as it says, and as it showed.
  var sizeLimit: Int? {
    let shown = route.sizeLimit(by: carrier)
    guard let announced = engine?.handshake?.maxPayload else { return shown }
    return min(announced, shown ?? announced)
  }

  /// What is known of the link, for `status`; `sid` is the channel's.
  func facts(sid: String?) -> ChannelFacts {
    guard let engine, let handshake = engine.handshake, let revision else {
      return ChannelFacts(link: id, server: route.server, transport: engine?.transportFacts)
    }
    return ChannelFacts(
      link: id, server: route.server, transport: engine.transportFacts,
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
  func hasSent(_ wanted: ConnectSecrets?) -> Bool { wanted.map(route.requests.carry) ?? true }

  /// Whether another channel than this waits for an acknowledgement, for its bytes to leave, or for a sign that the link
  /// outlives them.
  func isAwaited(besides channel: SocketIOChannel) -> Bool {
    unsentBytes > 0 || namespaces.channels.contains { $0 !== channel && $0.isAwaiting }
  }

  /// Takes a channel. Its owner hears nothing before this has returned. The secrets count for the first channel: what
  /// is dialled for it serves all.
  func attach(_ channel: SocketIOChannel, _ secrets: ConnectSecrets) {
    namespaces.add(channel)
    if route.requests.secrets == nil { route.requests.secrets = secrets }
    if trace.isWatched || channel.observer != nil { retrace() }
    guard engine != nil else { return dial(route.asked) }
    if channel.writeLimit != nil { limitWrites() }
    if let revision { join(channel, revision) }
  }

  /// Lets a channel go, and with the last one everything.
  func detach(_ channel: SocketIOChannel, replyDue: Bool) {
    guard !isEnded else { return }
    namespaces.remove(channel, replyDue: replyDue)
    if namespaces.channels.isEmpty {
      trace.hungUp()
      hangUp()
    } else {
      if channel.writeLimit != nil { limitWrites() }
      if channel.holdsReading { holdReading() }
      if trace.isWatched { retrace() }
    }
  }

  /// The channels of a link that is held for a fleet may write until then: the earliest end of theirs counts.
  func limitWrites() {
    if let limit = namespaces.channels.compactMap(\.writeLimit).min() { engine?.mayWrite(until: limit) }
  }

  /// What is read is for all channels: one of them is enough to hold it.
  func holdReading() { engine?.holdReading(namespaces.channels.contains { $0.holdsReading }) }

  /// A channel has another name in packets than this one, because the revision is known now.
  func rename(_ channel: SocketIOChannel, from name: [UInt8]) { namespaces.rename(channel, from: name) }

  /// Channels, or their observers, have changed.
  func retrace() {
    let observed = namespaces.channels.compactMap { channel in
      channel.observer.map { LinkTrace.Observed(namespace: channel.namespace, observer: $0) }
    }
    guard !observed.isEmpty else { return trace.stop() }
    trace.tell(
      observed, request: route.requests.request(route.transport, route.asked, sid: nil),
      secrets: namespaces.channels.compactMap(\.payload))
    trace.revision = engine?.revision ?? route.asked
  }

  private func join(_ channel: SocketIOChannel, _ revision: EngineIORevision) {
    let entry = namespaces.entry(of: channel, revision)
    channel.linkReady(entry, revision: revision, maxPayload: sizeLimit, nextAck: namespaces.nextAck)
    guard entry == .unasked, namespaces.main == .accepted else { return }
    timers.after(.zero) { [reference = channel.reference] in reference.object?.handle(.accepted) }
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
      revision: revision, request: route.request(revision), dialer: route.dialer(revision), timers: timers,
      time: time, pingLimit: key.pingLimit, observer: trace, receiver: self)
    self.engine = engine
    dialled = time.now
    trace.revision = revision
    engine.dial()
    limitWrites()
  }

  private func perform(_ actions: [SocketIORoute.Action]) {
    for action in actions {
      switch action {
      case .dial(let revision): redial(revision)
      case .settle(let delay):
        // It is cancelled at the end, until when the engine keeps the link.
        settleTimer = timers.after(delay) { [unowned self] in
          settleTimer = nil
          perform(route.settleTimePassed())
        }
      case .switchToThree:
        engine?.switchToThree()
        trace.revision = .three
      case .join(let revision):
        cancelSettling()
        for channel in namespaces.channels { join(channel, revision) }
      case .end(let failure): end(failure)
      }
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

  private func cancelSettling() {
    timers.cancel(settleTimer)
    settleTimer = nil
  }

  /// No namespace was answered in time. True when that concerns the whole place and not the one namespace, and is dealt
  /// with.
  func moveOn(after failure: UpstreamFailure) -> Bool {
    let actions = route.unanswered(failure)
    perform(actions)
    return !actions.isEmpty
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
    route.answered()
    if engine?.revision == .four {
      perform(route.accepted(withID: sid != nil))
      guard revision != nil else { return }
    }
    if namespaces.takeDueReply(namespace) {
      if let engine { writer.disconnect(namespace, to: engine) }
      return
    }
    namespaces.accepted(namespace, revision, sid: sid, pid: pid)
  }

  /// The server accepted a namespace with words that are not read.
  func failed(_ namespace: [UInt8], _ problem: SocketIOProblem) {
    route.answered()
    if !namespaces.takeDueReply(namespace) { namespaces.channel(namespace)?.handle(.failed(problem.failure)) }
  }

  /// The server refused a namespace.
  func refused(_ namespace: [UInt8], _ refusal: SocketIORefusal) {
    route.answered()
    if namespace.isEmpty { perform(route.mainRefused()) }
    if !namespaces.takeDueReply(namespace) { namespaces.refused(namespace, revision, refusal) }
  }

  /// The server has ended a namespace.
  func disconnected(_ namespace: [UInt8], _ refusal: SocketIORefusal) {
    namespaces.disconnected(namespace, revision, refusal)
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
    route.requests.heard(headers)
    dateSample = dialled.flatMap { ClockSample(dateOf: headers, asked: $0, heard: time.now) }
  }

  func engineOpened(_ handshake: EngineIOHandshake) {
    perform(route.opened(handshake, shown: engine?.shownRevision))
  }

  func engineSwitched() {
    route.works(.websocket)
    for channel in namespaces.channels { channel.transportSwitched() }
  }

  func engineEnds() {
    for channel in namespaces.channels { channel.linkEnds() }
  }

  func engineEnded(_ failure: TransportFailure) {
    var failure = failure
    failure.failure.retryAfter = RetryAfter.duration(
      failure.failure.status, failure.headers, now: time.wallMilliseconds)
    route.requests.heard(failure.headers)
    // From what size on the server refuses messages, if that was why, is remembered, so that none is written again.
    if let refusal = writer.refusal(shownBy: failure, revision ?? .four, longestName: namespaces.longestName) {
      route.note(refusal)
      failure.failure.refusedSize = refusal.size
    }
    perform(route.ended(failure, wasOpen: engine?.transportFacts != nil))
  }
}
