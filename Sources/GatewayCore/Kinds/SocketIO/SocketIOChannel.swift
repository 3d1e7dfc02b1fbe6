/// One namespace on one link: performs what the namespace's session asks for and speaks to the connection.
final class SocketIOChannel: UpstreamChannel {
  /// For what does not keep it.
  let reference = LightReference<SocketIOChannel>()
  private let connector: SocketIOConnector
  /// Hears everything until the session is `left`. It lets go of the channel when that has ended, or was closed.
  let owner: any UpstreamChannelOwner
  private var session = SocketIOSession()
  /// The server's id for the namespace, where it gave one.
  private var sid: String?
  private var link: SocketIOLink?
  private let attempt: ConnectAttempt
  private var timer: Timers.ID?
  private var held: HeldEvents
  /// What the event ends with that the owner is being told of.
  private var telling: SocketIORecovery.Ending?
  private var acks = PendingAcks()
  /// Nil where nothing is configured from which the server's time could be learnt, and before the joining.
  private var clock: SocketIOClock?
  /// The server has gone on where the last channel ended.
  private(set) var isRecovered = false
  /// Nothing is written from then on; nil for a link that belongs to this host alone.
  private(set) var writeLimit: MonotonicInstant?
  /// The server is to be read no further for now.
  private(set) var holdsReading = false
  /// The namespace as packets name it; empty for the main one.
  private(set) var namespace: [UInt8] {
    didSet { if namespace != oldValue { link?.rename(self, from: oldValue) } }
  }

  init(connector: SocketIOConnector, owner: any UpstreamChannelOwner) {
    self.connector = connector
    self.owner = owner
    namespace = connector.wireNamespace(nil)
    attempt = ConnectAttempt(connector.credentials, timers: connector.links.timers, time: connector.links.time)
    held = HeldEvents(
      byteLimit: connector.key.messageLimit, MemoryHold(connector.links.memory.receive, for: connector.key.account))
    reference.begin(self)
  }

  deinit { reference.end() }

  /// The trace that looks on; nil while there is none.
  var observer: (any UpstreamObserver)? { connector.observer }

  func observerChanged() { link?.retrace() }

  /// The CONNECT payload, once it was read. Secret.
  var payload: [UInt8]? { attempt.secrets?.payload }

  /// The id that the next acknowledgement will have on the wire.
  var nextAck: UInt64 { acks.next }

  /// Reads the credentials and looks for a link; the owner is told nothing from here.
  func start() {
    attempt.start(
      begin: { [reference] in reference.object?.takeLink($0) },
      end: { [reference] in reference.object?.readingFailed($0) })
  }

  private func readingFailed(_ failure: UpstreamFailure) { perform(session.handle(.failed(failure))) }

  private func takeLink(_ secrets: ConnectSecrets) {
    let link = connector.links.link(
      for: connector.key, namespace: namespace, sent: attempt.isSecond ? secrets : nil)
    self.link = link
    link.attach(self, secrets)
  }

  // MARK: - From the link

  /// The link knows what the server speaks; `nextAck` goes on from earlier channels, as the server cannot tell
  /// them apart.
  func linkReady(
    _ entry: SocketIOSession.Entry, revision: EngineIORevision, maxPayload: Int?, nextAck: UInt64
  ) {
    connector.learn(revision: revision, maxPayload: maxPayload, transport: link?.carrier ?? .websocket)
    namespace = connector.wireNamespace(revision)
    if observer != nil { observerChanged() }
    acks = PendingAcks(next: nextAck)
    clock = SocketIOClock(
      connector.serverTime, channel: self, timers: connector.links.timers, time: connector.links.time)
    handle(.linkReady(entry))
  }

  /// The owner looks a last time at what has left.
  func linkEnds() { owner.channelEnds(self) }

  /// The link goes on over a WebSocket.
  func transportSwitched() {
    guard let link, let revision = link.revision else { return }
    connector.learn(revision: revision, maxPayload: link.sizeLimit, transport: .websocket)
  }

  /// A server that never answered for a namespace may have a better one beside it.
  private func joinTimePassed() {
    if link?.moveOn(after: SocketIOSession.timeout) == true { return }
    handle(.abandoned(SocketIOSession.timeout))
  }

  /// The server accepted the namespace. `pid` is its secret name for what it keeps for us, where it keeps anything.
  func accepted(sid: String?, pid: String?) {
    if case .joining = session.state {
      isRecovered = connector.recovery.accepted(pid: pid)
      self.sid = sid
    }
    handle(.accepted)
  }

  func handle(_ event: SocketIOSession.Event) {
    connector.recovery.note(event, in: session.state)
    // What an earlier server sent early must not be delivered as the next one's.
    if event == .linkReset { held.removeAll() }
    guard case .failed(let failure) = event else { return perform(session.handle(event)) }
    if attempt.mayTryAgain(after: failure) { return tryAgain(after: failure) }
    perform(session.handle(.failed(attempt.explained(failure))))
  }

  /// Leaves the link, so that the credentials that are read again go to the server from the beginning.
  private func tryAgain(after failure: UpstreamFailure) {
    attempt.tryAgain(after: failure)
    perform(session.handle(.triedAgain))
    namespace = connector.wireNamespace(nil)
    held.removeAll()
  }

  // MARK: - Events

  /// Whether messages flow.
  var isJoined: Bool { session.state == .joined }

  /// Delivers an event in the local form to the owner, without the offset that the server has added to it, or holds it
  /// until the namespace is accepted. One that comes at another time is dropped: in revision 3 the main namespace is
  /// joined whether wanted or not, and others may just have been left.
  func receive(event name: RawSpan, _ arguments: RawSpan, ack: UInt64?) {
    guard isJoined, clock == nil, !mayEndWithOffset(ack) else { return receiveOther(event: name, arguments, ack: ack) }
    owner.channel(self, receivedEvent: name, arguments: arguments, kwargs: nil, ack: ack)
  }

  /// The same for one that comes early, that may tell the server's time, or that may end with an offset.
  @inline(never)
  private func receiveOther(event name: RawSpan, _ arguments: RawSpan, ack: UInt64?) {
    guard isJoined else {
      let copy: (RawSpan) -> [UInt8] = { $0.withUnsafeBytes { [UInt8]($0) } }
      return hold(.event(name: copy(name), arguments: copy(arguments), ack: ack))
    }
    if let clock, let sample = clock.sample(name, arguments, roundTrip: link?.roundTrip) { sampled(sample) }
    guard let ending = ending(of: arguments, ack) else {
      return owner.channel(self, receivedEvent: name, arguments: arguments, kwargs: nil, ack: ack)
    }
    let end = ending.argumentsEnd ?? arguments.byteCount
    telling = ending
    owner.channel(self, receivedEvent: name, arguments: arguments.extracting(0..<end), kwargs: nil, ack: nil)
    told()
  }

  /// The same for an event that is longer than a line. What the server remembers of it counts as received like that of
  /// any other.
  func receive(tooLong event: LongEvent) {
    guard isJoined else { return hold(.tooLong(event)) }
    if let arguments = event.ending {
      telling = ending(of: arguments.span.bytes, event.ack)
    } else if event.ack == nil, connector.recovery.isOffered {
      connector.recovery.missedOffset()
    }
    owner.channel(self, receivedEvent: event.name.span.bytes, tooLong: event.size, ack: event.ack)
    told()
  }

  /// Tells of an event that cannot be shown. An offset behind it counts as received.
  func receive(_ event: FlawedEvent) {
    guard isJoined else { return hold(.flawed(event)) }
    if let arguments = event.ending { telling = ending(of: arguments.span.bytes, event.ack) }
    owner.channel(self, dropped: event.dropped)
    told()
  }

  /// A server that remembers what it has sent puts an offset behind each event that wants no answer.
  private func mayEndWithOffset(_ ack: UInt64?) -> Bool { ack == nil && connector.recovery.isOffered }

  /// What an event ends with, where that may be an offset.
  private func ending(of arguments: RawSpan, _ ack: UInt64?) -> SocketIORecovery.Ending? {
    guard mayEndWithOffset(ack) else { return nil }
    return connector.recovery.ending(of: arguments, at: .init(connector.links.time.arrival, link?.dateSample))
  }

  /// The owner has the event, which counts as received from now on: what it has written down meanwhile ends before it.
  private func told() {
    guard let ending = telling else { return }
    telling = nil
    connector.recovery.received(ending)
  }

  /// What is too much to be held now would be too much again: the server is not asked to repeat it.
  private func hold(_ item: HeldEvents.Item) {
    guard case .joining = session.state else { return }
    if held.append(item) { return }
    connector.recovery.forget()
    handle(.abandoned(Self.tooManyEarlyEvents))
  }

  private static let tooManyEarlyEvents = UpstreamFailure(
    .tooLarge, "the server sent too many events before it accepted the namespace")

  // MARK: - Acknowledgements

  /// Delivers an acknowledgement in the local form; one that the owner does not await is ignored.
  func receive(acknowledgement id: UInt64, arguments: RawSpan) {
    if clock?.awaits(id) == true {
      if let sample = clock?.answered(arguments) { sampled(sample) }
      return
    }
    guard isJoined, let ownerID = acks.take(id) else { return }
    owner.channel(self, acknowledged: ownerID, arguments: arguments)
  }

  /// The same for one that is longer than a line.
  func receive(acknowledgement id: UInt64, tooLong size: Int) {
    guard let ownerID = takeOmitted(id) else { return }
    owner.channel(self, answered: ownerID, tooLong: size, isPart: false)
  }

  /// The server has acknowledged, but with what cannot be shown.
  func receive(unreadableAcknowledgement id: UInt64) {
    guard let ownerID = takeOmitted(id) else { return }
    owner.channel(self, answeredUnreadably: ownerID)
  }

  /// The owner's id of an acknowledgement that is not handed on; nil for one that the owner does not await.
  private func takeOmitted(_ id: UInt64) -> UInt64? {
    if clock?.awaits(id) == true {
      let nothing: [UInt8] = []
      _ = clock?.answered(nothing.span.bytes)
      return nil
    }
    return isJoined ? acks.take(id) : nil
  }

  /// Whether this acknowledgement is awaited.
  func awaits(_ id: UInt64) -> Bool { acks.isPending(id) || clock?.awaits(id) == true }

  // MARK: - From the owner

  func write(_ message: PreparedMessage, ack: UInt64?) {
    guard isJoined else { return }
    let id = ack.map { acks.add($0) }
    link?.write(message.attachmentCount == 0 ? .event : .binaryEvent, namespace, ack: id, message)
  }

  func answer(_ id: UInt64, _ message: PreparedMessage) {
    guard isJoined else { return }
    let kind = message.attachmentCount == 0 ? SocketIOPacket.Kind.acknowledgement : .binaryAcknowledgement
    link?.write(kind, namespace, ack: id, message)
  }

  func forget(ack: UInt64) { acks.forget(ack) }

  func close() { handle(.leave) }
  func suspend() { handle(.suspend) }
  var sessionPlace: SessionPlace? { connector.recovery.place(behind: telling) }
  var sharesLink: Bool { link?.isShared ?? false }

  func checkHeartbeat() { link?.checkHeartbeat() }
  func verify() { link?.verify() }

  func mayWrite(until limit: MonotonicInstant) {
    writeLimit = limit
    link?.limitWrites()
  }

  func holdReading(_ isHeld: Bool) {
    holdsReading = isHeld
    link?.holdReading()
  }

  var unsentBytes: Int { link?.unsentBytes ?? 0 }
  var progress: (any WriteProgress)? { link?.progress }
  var isCongested: Bool { link?.isCongested ?? false }
  func repeatsCredentials(_ failure: UpstreamFailure) -> Bool { attempt.areRepeated(in: failure) }
  var unsentSends: UnsentSends? { link?.unsentSends }
  var isAwaiting: Bool { !acks.isEmpty || owner.doubtsLink }
  var isAwaitedByOthers: Bool { link?.isAwaited(besides: self) ?? false }

  var facts: ChannelFacts {
    guard let link else { return ChannelFacts(link: "") }
    return link.facts(sid: sid)
  }

  // MARK: - What the session asks for

  private func perform(_ actions: [SocketIOSession.Action]) {
    for action in actions {
      switch action {
      case .sendConnect: sendConnect()
      case .sendDisconnect: link?.leave(self)
      case .arm:
        connector.links.timers.cancel(timer)
        timer = connector.links.timers.after(connector.key.joinLimit) { [reference] in
          reference.object?.joinTimePassed()
        }
      case .disarm:
        connector.links.timers.cancel(timer)
        timer = nil
      case .announce: announce()
      case .detach(let replyDue):
        if link?.isUp == true { linkEnds() }
        let link = link
        self.link = nil
        clock = nil
        if session.state == .left { attempt.stop() }
        link?.detach(self, replyDue: replyDue)
      case .end(let failure):
        observer?.observed(TraceFact(.incoming, .socketio, "END \(TraceDescription.failure(failure))"))
        owner.channelEnded(self, failure)
      }
    }
  }

  private func announce() {
    attempt.accepted()
    if let sample = link?.dateSample { sampled(sample) }
    owner.channelOpened(self)
    watchExpiry()
    clock?.start()
    for item in held.takeAll() where isJoined {
      switch item {
      case .event(let name, let arguments, let ack): receive(event: name.span.bytes, arguments.span.bytes, ack: ack)
      case .flawed(let event): receive(event)
      case .tooLong(let event): receive(tooLong: event)
      }
    }
  }

  private func sampled(_ sample: ClockSample) { owner.channel(self, sampledTime: sample) }

  /// Writes an event without arguments of the gateway's own. The id of its acknowledgement; nil where it cannot be
  /// written now, or would have to wait for what is written already.
  func ask(_ event: String) -> UInt64? {
    guard isJoined, let link, !link.isCongested,
      let message = try? connector.prepare(MessageDraft(event: event, args: Self.noArguments, isAcknowledged: true))
    else { return nil }
    let id = acks.reserve()
    link.write(.event, namespace, ack: id, message)
    return id
  }

  private static let noArguments = [UInt8]("[]".utf8)

  /// The owner decides when the namespace is joined anew.
  private func watchExpiry() {
    guard isJoined else { return }
    attempt.watchExpiry(connector.refresh, fraction: connector.links.fraction()) { [reference] in
      guard let channel = reference.object, channel.isJoined else { return }
      channel.owner.channelHasNewCredentials(channel)
    }
  }

  /// Revision 4 takes the payload as JSON, revision 3 as the query of the namespace.
  private func sendConnect() {
    guard let link else { return }
    guard link.revision == .three else { return link.connect(namespace, connector.recovery.payload(payload)) }
    guard let name = SocketIOCredentials.name(namespace, query: connector.namespaceQuery, payload) else {
      return failLater(Self.unwritableCredentials)
    }
    link.connect(name)
  }

  private static let unwritableCredentials = UpstreamFailure(
    .auth, "servers of Socket.IO 2 take only texts and numbers as credentials of a namespace")

  /// Outside of whatever the owner has just called.
  private func failLater(_ failure: UpstreamFailure) {
    connector.links.timers.after(.zero) { [reference] in reference.object?.handle(.failed(failure)) }
  }
}
