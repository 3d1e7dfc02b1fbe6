/// One transport to a server with the namespaces that share it. Dials when its first channel comes, finds out the
/// protocol's revision, hands packets to the channels and ends with the last of them.
final class SocketIOLink {
  /// Revision 3 only: where the main namespace stands, which the server joins by itself.
  enum MainNamespace: Equatable {
    /// Not accepted yet. May become `accepted` or `closed`.
    case pending
    case accepted
    /// Refused or ended by the server; no namespace can be joined any more.
    case closed
  }

  let id: String
  let key: LinkKey
  private(set) weak var links: SocketIOLinks?
  private let dialer: any TransportDialer
  private let requester: (any HTTPRequester)?
  let requests: LinkRequests
  var choice: TransportChoice
  let timers: Timers
  let time: any TimeSource

  /// Where the present attempt goes.
  var routes: LinkRoutes
  /// Whether the server has accepted or refused a namespace.
  var isAnswered = false
  var detection: RevisionDetection
  private(set) var engine: EngineIOSocket?
  private var dialled: MonotonicInstant?
  /// What the answer that opened the transport said about the server's clock.
  private(set) var dateSample: ClockSample?
  var decoder: SocketIODecoder
  /// A long event whose text is still coming.
  var longPacket: LongPacket?
  /// A long message of the msgpack parser that is still coming.
  var longMsgpack: MsgpackOutline?
  private(set) var channels: [SocketIOChannel] = []
  private(set) var namespaces = NamespaceIndex()
  var main = MainNamespace.pending
  /// Above every acknowledgement id of the channels that have left. New channels count on from here: what the server
  /// still owes to an earlier one of the same namespace must not answer a later one.
  private var nextAck: UInt64 = 0
  /// Namespaces whose channel left before the server answered our CONNECT, and how many answers are due.
  private var repliesDue: [[UInt8]: Int] = [:]
  private var settleTimer: Timers.ID?
  /// What a packet counts as whose attachments are not complete.
  let partsMemory: MemoryHold
  /// Runs while attachments are awaited.
  var attachmentTimer: Timers.ID?
  /// Whose the bytes are that the transport has not taken.
  let unsentSends: UnsentSends
  /// Bytes of the largest message that was written.
  private(set) var largestWritten = 0
  private var isEnded = false
  /// Puts everything into words while somebody observes one of the channels.
  private(set) var trace: LinkTrace?
  /// Room for the text being written, kept for the next one.
  private var scratch: [UInt8] = []
  private static let keptScratch = 64 << 10

  init(id: String, key: LinkKey, links: SocketIOLinks) {
    self.id = id
    self.key = key
    self.links = links
    dialer = links.dialer
    requester = links.requester
    let routes = LinkRoutes(key.places, remembered: links.route(of: key))
    self.routes = routes
    requests = LinkRequests(key: key.at(routes.current), links: links)
    choice = Self.choice(key, at: routes.current, links)
    timers = links.timers
    time = links.time
    partsMemory = MemoryHold(links.memory.receive, for: key.account)
    unsentSends = UnsentSends(links.memory.send)
    detection = RevisionDetection(remembered: links.revision(of: routes.current.endpoint))
    decoder = SocketIODecoder(attachmentLimit: key.attachmentLimit, byteLimit: key.messageLimit)
    unsentSends.watch(timers) { [weak self] in self?.unsentBytes ?? 0 }
  }

  /// What the server speaks, once it is known.
  var revision: EngineIORevision? { detection.revision }
  /// What carries the link's messages.
  var carrier: TransportName { engine?.transportFacts.flatMap { TransportName(rawValue: $0.name) } ?? choice.current }
  var unsentBytes: Int { engine?.unsentBytes ?? 0 }
  var isCongested: Bool { engine?.isCongested ?? false }

  /// What is known of the link, for `status`; `sid` is the channel's.
  func facts(sid: String?) -> ChannelFacts {
    guard let engine, let handshake = engine.handshake, let revision else {
      return ChannelFacts(link: id, server: routes.current.server, transport: engine?.transportFacts)
    }
    return ChannelFacts(
      link: id, server: routes.current.server, transport: engine.transportFacts,
      protocols: [("engineio", revision.rawValue), ("socketio", revision.socketIORevision)], sid: sid,
      roundTrip: engine.roundTrip.map { Double($0.nanoseconds) / 1e6 },
      heartbeat: (handshake.pingInterval, handshake.pingTimeout),
      heartbeatAge: engine.lastHeartbeat.map { time.now - $0 })
  }

  /// Asks the server for a sign of life.
  func verify() { engine?.verify(within: key.probeLimit) }

  // MARK: - Channels

  /// Whether a channel of this namespace may come: a link carries a namespace once at a time.
  func canCarry(_ namespace: [UInt8]) -> Bool {
    !isEnded && main != .closed && repliesDue[namespace] == nil
      && channel(namespace) == nil
  }

  /// Whether its HTTP requests carry these headers and query parameters; nil asks for none.
  func hasSent(_ wanted: ConnectSecrets?) -> Bool {
    guard let wanted, let secrets = requests.secrets else { return true }
    return secrets.headers == wanted.headers && secrets.query == wanted.query
  }

  /// Whether another channel than this waits for an acknowledgement, or for its bytes to leave.
  func isAwaited(besides channel: SocketIOChannel) -> Bool {
    unsentBytes > 0 || channels.contains { $0 !== channel && $0.isAwaiting }
  }

  /// Takes a channel. Its owner hears nothing before this has returned. The secrets count for the first channel: what is
  /// dialled for it serves all.
  func attach(_ channel: SocketIOChannel, _ secrets: ConnectSecrets) {
    channels.append(channel)
    namespaces.add(channel)
    if requests.secrets == nil { requests.secrets = secrets }
    if trace != nil || channel.observer != nil { retrace() }
    if engine == nil { dial(detection.dialled) } else if let revision { join(channel, revision) }
  }

  /// Lets a channel go, and with the last one everything.
  func detach(_ channel: SocketIOChannel, replyDue: Bool) {
    channels.removeAll { $0 === channel }
    namespaces.remove(channel, named: channel.namespace)
    guard !isEnded else { return }
    if replyDue { repliesDue[channel.namespace, default: 0] += 1 }
    nextAck = max(nextAck, channel.nextAck)
    if channels.isEmpty {
      trace?.hungUp()
      hangUp()
    } else if trace != nil {
      retrace()
    }
  }

  /// A channel has another name in packets, because the revision is known now.
  func renamed(_ channel: SocketIOChannel, from name: [UInt8]) {
    if namespaces.remove(channel, named: name) { namespaces.add(channel) }
  }

  /// Channels, or those who observe them, have changed.
  func retrace() {
    let observed = channels.compactMap { channel in
      channel.observer.map { LinkTrace.Observed(namespace: channel.namespace, observer: $0) }
    }
    if observed.isEmpty {
      trace = nil
    } else {
      trace = LinkTrace(
        observed, request: requests.request(choice.current, detection.dialled), secrets: channels.compactMap(\.payload))
      trace?.revision = engine?.revision ?? detection.dialled
    }
    engine?.observer = trace
  }

  /// Leaves a namespace politely. In revision 3 the main one stays joined while others need it: some servers end them
  /// all with it.
  func leave(_ channel: SocketIOChannel) {
    if revision == .three, channel.namespace.isEmpty, channels.count > 1 { return }
    send(.disconnect, channel.namespace)
  }

  /// The channel of a namespace, as packets name it.
  func channel(_ namespace: [UInt8]) -> SocketIOChannel? { namespaces.first(namespace.span.bytes) { _ in true } }

  /// Whether an answer to a CONNECT belongs to a channel that has left; it is counted off.
  func takeDueReply(_ namespace: [UInt8]) -> Bool {
    guard let due = repliesDue[namespace] else { return false }
    repliesDue[namespace] = due > 1 ? due - 1 : nil
    return true
  }

  private func join(_ channel: SocketIOChannel, _ revision: EngineIORevision) {
    let limit = sizeLimit
    guard revision == .three else {
      return channel.linkReady(.ask, revision: revision, maxPayload: limit, nextAck: nextAck)
    }
    guard channel.namespace.isEmpty else {
      return channel.linkReady(
        main == .accepted ? .ask : .behindMain, revision: revision, maxPayload: limit, nextAck: nextAck)
    }
    channel.linkReady(.unasked, revision: revision, maxPayload: limit, nextAck: nextAck)
    guard main == .accepted else { return }
    timers.after(.zero) { [weak channel] in channel?.handle(.accepted(sid: nil)) }
  }

  // MARK: - Writing

  /// Writes a message and its attachments with nothing between them.
  func write(_ kind: SocketIOPacket.Kind, _ namespace: [UInt8], ack: UInt64?, _ message: PreparedMessage) {
    largestWritten = max(largestWritten, message.bodyCount)
    guard message.tail.isEmpty else { return send(kind, namespace, ack: ack, long: message) }
    send(
      kind, namespace, attachments: message.attachments.count, ack: ack, body: message.head, compress: message.compress)
    for attachment in message.attachments {
      largestWritten = max(largestWritten, attachment.count)
      engine?.send(binary: attachment, compress: message.compress)
    }
  }

  /// Writes a message whose tail stays where it is.
  private func send(_ kind: SocketIOPacket.Kind, _ namespace: [UInt8], ack: UInt64?, long message: PreparedMessage) {
    if key.parser == .msgpack { return send(kind, namespace, ack: ack, body: message.body, compress: message.compress) }
    var frame: [UInt8] = []
    SocketIOEncoder.append(kind, namespace: namespace, ack: ack, body: message.head, to: &frame)
    engine?.send(text: frame.span.bytes, body: message.tail, compress: message.compress)
    guard let trace else { return }
    let body = message.body
    trace.sent(kind, namespace, attachments: 0, ack: ack, payload: body.span.bytes)
  }

  /// Writes one packet's text.
  func send(
    _ kind: SocketIOPacket.Kind, _ namespace: [UInt8], attachments: Int = 0, ack: UInt64? = nil, body: [UInt8] = [],
    compress: Bool = true
  ) {
    if key.parser == .msgpack { return send(msgpack: kind, namespace, ack: ack, body: body, compress: compress) }
    let isLong = body.count > Self.keptScratch
    var frame = scratch
    scratch = []
    frame.removeAll(keepingCapacity: true)
    SocketIOEncoder.append(
      kind, attachments: attachments, namespace: namespace, ack: ack, body: isLong ? [] : body, to: &frame)
    if isLong {
      engine?.send(text: frame.span.bytes, body: body[...], compress: compress)
    } else {
      engine?.send(text: frame.span.bytes, compress: compress)
    }
    trace?.sent(kind, namespace, attachments: attachments, ack: ack, payload: body.span.bytes)
    if frame.capacity <= Self.keptScratch { scratch = frame }
  }

  /// A CONNECT's body is JSON as the credentials were read; every other one was prepared as MessagePack.
  private func send(
    msgpack kind: SocketIOPacket.Kind, _ namespace: [UInt8], ack: UInt64?, body: [UInt8], compress: Bool
  ) {
    var data = body
    if kind == .connect, !body.isEmpty {
      guard let payload = try? MsgpackWriter.write(body.span.bytes, binaryLimit: key.attachmentLimit) else {
        return end(UpstreamFailure(.auth, "the credentials hold a value that the msgpack parser cannot send"))
      }
      data = payload
    }
    var output = MsgpackOutput()
    MsgpackPacket.append(kind, namespace: namespace, ack: ack, data: data, to: &output)
    engine?.send(binary: output.bytes, compress: compress)
    trace?.sent(msgpack: kind, namespace, ack: ack, size: data.count)
  }

  // MARK: - The revision

  func perform(_ actions: [RevisionDetection.Action]) {
    for action in actions {
      switch action {
      case .redial(let revision): redial(revision)
      case .settle(let delay):
        settleTimer = timers.after(delay) { [weak self] in self?.settleTimePassed() }
      case .switchToThree:
        engine?.switchToThree()
        trace?.revision = .three
      case .join:
        cancelSettling()
        guard let revision else { continue }
        for channel in channels { join(channel, revision) }
      case .remember(let revision): links?.setRevision(revision, of: routes.current.endpoint)
      case .forget: links?.setRevision(nil, of: routes.current.endpoint)
      case .fail(let failure): attemptFailed(failure)
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

  private func dial(_ revision: EngineIORevision) {
    let transport = choice.current
    var request = requests.request(transport, revision)
    if choice.isHurried { request.fallbackLimit = key.at(routes.current).fallbackLimit }
    let engine = EngineIOSocket(
      revision: revision, request: request,
      dialer: transport == .polling ? pollingDialer(revision) : dialer, timers: timers, time: time,
      pingLimit: key.pingLimit, receiver: self)
    self.engine = engine
    dialled = time.now
    trace?.revision = revision
    engine.observer = trace
    engine.dial()
  }

  /// Notes the date in the header lines of the answer that opened the transport.
  func noteDate(_ headers: [HTTPHeader]) {
    dateSample = dialled.flatMap { ClockSample(dateOf: headers, asked: $0, heard: time.now) }
  }

  private func pollingDialer(_ revision: EngineIORevision) -> any TransportDialer {
    guard let requester else { return dialer }
    return PollingDialer(
      revision: revision, requests: requests, requester: requester, timers: timers,
      webSockets: choice.mayUpgrade ? dialer : nil)
  }

  /// Starts again with the transport that is the choice now.
  func dialAgain() {
    detection = RevisionDetection(remembered: links?.revision(of: routes.current.endpoint))
    redial(detection.dialled)
  }

  /// Notes that a transport carries a session.
  func transportWorks(_ transport: TransportName) { links?.setTransport(transport, of: routes.current.endpoint) }

  /// Everything that the old transport knew is void, half a message included.
  private func redial(_ revision: EngineIORevision) {
    engine?.close()
    cancelSettling()
    timers.cancel(attachmentTimer)
    attachmentTimer = nil
    decoder = SocketIODecoder(attachmentLimit: key.attachmentLimit, byteLimit: key.messageLimit)
    longPacket = nil
    longMsgpack = nil
    largestWritten = 0
    partsMemory.set(0)
    repliesDue = [:]
    main = .pending
    for channel in channels { channel.handle(.linkReset) }
    dial(revision)
  }

  // MARK: - The end

  /// Ends the link and tells every channel why.
  func end(_ failure: UpstreamFailure) {
    guard !isEnded else { return }
    hangUp()
    let ended = channels
    channels = []
    namespaces.removeAll()
    for channel in ended { channel.handle(.failed(failure)) }
  }

  private func hangUp() {
    isEnded = true
    longPacket = nil
    longMsgpack = nil
    partsMemory.set(0)
    cancelSettling()
    timers.cancel(attachmentTimer)
    engine?.close()
    links?.remove(self)
  }
}
