/// One connection with a transport of its own: reads the credentials, dials, lets the kind's session shake hands, and
/// keeps the transport alive. What messages mean is the session's affair.
final class DirectLink: UpstreamChannel, TransportReceiver {
  let id: String
  let way: DirectConnectorState
  private(set) weak var owner: (any UpstreamChannelOwner)?
  private let makeSession: (DirectLink) -> any DirectSession
  private var machine = DirectMachine()
  private(set) var session: (any DirectSession)?
  private(set) var transport: (any Transport)?
  private var transportFacts: TransportFacts?
  private var routes: LinkRoutes
  private let attempt: ConnectAttempt
  private var timer: Timers.ID?
  /// What was wanted before there was a session that could be told.
  private var wanted: Set<Interest> = []
  /// What of that the session has not been told yet.
  private var untold: Set<Interest> = []
  /// Of what was wanted before, so much is told in one turn.
  static let toldAtOnce = 256
  private(set) var trace: DirectTrace?
  private var dialled: MonotonicInstant?
  /// Bytes of the largest message that was written.
  private var largest = 0
  /// Nothing is written from then on.
  private var writeLimit: MonotonicInstant?
  /// The server's goodbye is awaited.
  private var pendingClose: PendingCloses.PendingClose?

  /// Nil before the conversation.
  private var liveness: Liveness?

  init(
    _ way: DirectConnectorState, owner: any UpstreamChannelOwner,
    _ makeSession: @escaping (DirectLink) -> any DirectSession
  ) {
    self.way = way
    self.owner = owner
    self.makeSession = makeSession
    id = way.seams.random.uuid()
    routes = LinkRoutes(way.places, remembered: way.remembered, among: way.seams.servers)
    attempt = ConnectAttempt(way.credentials, timers: way.seams.timers, time: way.seams.time)
  }

  var timers: Timers { way.seams.timers }
  var now: MonotonicInstant { way.seams.time.now }
  var isJoined: Bool { machine.state == .joined }
  /// What was read for this attempt. Secret.
  var secrets: ConnectSecrets? { attempt.secrets }
  /// A redirect led to another host, whose business the credentials are not.
  var isForeign: Bool { routes.current.isForeign }

  /// Whether no third party could listen on the way that was taken. A proxy hears everything that has no TLS, also what
  /// goes to a host that is called `localhost`; only one that the configuration names may.
  var isPrivate: Bool {
    let endpoint = routes.current.endpoint
    let isMeant = transportFacts?.proxy == nil || routes.current.namesProxy
    return endpoint.secure || isMeant && UpstreamURL.isThisMachine(endpoint.host)
  }

  /// Reads the credentials and dials; the owner is told nothing from here.
  func start() {
    retrace()
    attempt.start(
      begin: { [weak self] _ in self?.perform(.secretsRead) }, end: { [weak self] in self?.perform(.failed($0)) })
  }

  /// The observer of the connection has changed.
  func retrace() {
    trace = way.observer.map { DirectTrace($0, layer: way.layer, server: routes.current.server, secrets) }
  }

  // MARK: - From the session

  func send(text: RawSpan, compress: Bool = true) { transport?.send(text: text, compress: compress) }
  func send(control text: RawSpan) { transport?.send(control: text) }
  func send(binary: RawSpan, compress: Bool = true) { transport?.send(binary: binary, compress: compress) }

  /// The kind's handshake is done.
  func ready() { perform(.ready) }

  /// What the server said or did not say ends the attempt, or the conversation.
  func fail(_ failure: UpstreamFailure) {
    switch machine.state {
    case .joined, .leaving, .left, .reading: failForGood(failure)
    case .dialling, .joining:
      guard attempt.mayTryAgain(after: failure), owner != nil else { return goOn(routes.failed(failure)) }
      attempt.tryAgain(after: failure)
      perform(.triedAgain)
    }
  }

  /// The server refused how the session introduced itself, which knows another way: the same server is dialled once
  /// more within the attempt, with the same credentials.
  func startOver() {
    guard machine.state == .joining, owner != nil else { return }
    goOn(.dial)
  }

  /// The server has answered our goodbye.
  func closeEnded() { perform(.closeEnded) }

  // MARK: - After a failure

  private func goOn(_ step: LinkRoutes.Step) {
    switch step {
    case .dial:
      perform(.triedAgain)
      retrace()
      perform(.secretsRead)
    case .giveUp(let failure): failForGood(failure)
    }
  }

  private func failForGood(_ failure: UpstreamFailure) { perform(.failed(attempt.explained(failure))) }

  // MARK: - From the owner

  func write(_ message: PreparedMessage, ack: UInt64?) {
    guard isJoined else { return }
    noteSize(message)
    session?.write(message, ack: ack)
  }

  private func noteSize(_ message: PreparedMessage) {
    let size = MessageSize(message)
    largest = max(largest, size.body, size.attachment)
  }

  func answer(_ id: UInt64, _ message: PreparedMessage) {
    guard isJoined else { return }
    noteSize(message)
    session?.answer(id, message)
  }

  func decline(_ id: UInt64, _ why: AnswerAbsence) -> Bool { isJoined && session?.decline(id, why) == true }
  func forget(ack: UInt64) { session?.forget(ack: ack) }

  func want(_ interest: Interest) {
    wanted.insert(interest)
    if isJoined, !untold.contains(interest) { session?.want(interest) }
  }

  func drop(_ interest: Interest) {
    wanted.remove(interest)
    if isJoined, untold.remove(interest) == nil { session?.drop(interest) }
  }

  func close() {
    owner = nil
    perform(.leave)
  }

  var unsentBytes: Int { transport?.unsentBytes ?? 0 }
  var progress: (any WriteProgress)? { transport?.progress }
  var isCongested: Bool { transport?.isCongested ?? false }
  func repeatsCredentials(_ failure: UpstreamFailure) -> Bool { attempt.areRepeated(in: failure) }

  func mayWrite(until limit: MonotonicInstant) {
    writeLimit = limit
    transport?.mayWrite(until: limit)
  }

  func holdReading(_ isHeld: Bool) { transport?.holdReading(isHeld) }

  var facts: ChannelFacts {
    ChannelFacts(
      link: id, server: routes.current.server, transport: transportFacts, protocols: session?.protocols ?? [],
      sid: session?.sid, roundTrip: liveness?.roundTrip.map { Double($0.nanoseconds) / 1e6 },
      heartbeat: liveness?.heartbeat.map { ($0.settings.interval, $0.settings.timeout) },
      heartbeatAge: liveness?.lastHeard.map { now - $0 })
  }

  func checkHeartbeat() { liveness?.check() }
  func verify() { liveness?.verify(within: way.probeLimit) }

  // MARK: - From the transport

  func transportOpened(_ facts: TransportFacts, headers: [HTTPHeader]) {
    transportFacts = facts
    trace?.opened(facts)
    way.heard(headers, at: routes.current)
    if let dialled, let sample = ClockSample(dateOf: headers, asked: dialled, heard: now) {
      owner?.channel(self, sampledTime: sample)
    }
    perform(.transportOpened)
  }

  func transportReceived(text: RawSpan) {
    liveness?.heardNow()
    session?.received(text: text)
  }

  func transportGathers(text: RawSpan) { session?.gathers(text: text) }

  func transportReceived(binary: RawSpan) {
    liveness?.heardNow()
    session?.received(binary: binary)
  }

  func transportAnsweredProbe() { answeredProbe() }

  /// The server has answered what the session asked it for a sign of life.
  func answeredProbe() { liveness?.answeredNow() }

  func transportEnds() { owner?.channelEnds(self) }

  func transportClosed(_ failure: TransportFailure) {
    transport = nil
    trace?.closed(failure.failure)
    way.heard(failure.headers, at: routes.current)
    var told = failure.failure
    told.retryAfter = RetryAfter.duration(told.status, failure.headers, now: way.seams.time.wallMilliseconds)
    if told.isMessageTooBig, largest > 0 {
      // It was the largest one: all that the server took were smaller.
      told.refusedSize = MessageSize(body: largest, attachment: largest)
      way.refused(largest, by: routes.index)
    }
    if machine.state == .dialling, let step = routes.redirected(told, failure.headers) { return goOn(step) }
    if machine.state == .joining, let session { told = told.closing(before: "it answered \(session.awaited)") }
    fail(told)
  }

  // MARK: - What the machine asks for

  private func perform(_ event: DirectMachine.Event) {
    for action in machine.handle(event) {
      switch action {
      case .dial: dial()
      case .beginHandshake: beginHandshake()
      case .announce: announce()
      case .sayGoodbye: sayGoodbye()
      case .hangUp: hangUp()
      case .end(let failure):
        trace?.ended(failure)
        let owner = owner
        self.owner = nil
        owner?.channelEnded(self, failure)
      }
    }
  }

  private func dial() {
    let request = way.request(to: routes.current, secrets)
    retrace()
    trace?.dialled(request)
    dialled = now
    transport = way.seams.dialer.dial(request, receiver: self)
    if let writeLimit { transport?.mayWrite(until: writeLimit) }
  }

  private func beginHandshake() {
    let session = makeSession(self)
    self.session = session
    timer = timers.after(way.joinLimit) { [weak self] in
      self?.fail(UpstreamFailure(.timeout, "the server did not answer \(session.awaited) in time"))
    }
    guard let transportFacts else { return }
    session.begin(transportFacts)
  }

  private func announce() {
    stopTimer()
    attempt.accepted()
    way.remembered = routes.index
    beginLiveness()
    guard let owner else { return close() }
    owner.channelOpened(self)
    guard isJoined else { return }
    untold = wanted
    tell(wanted.makeIterator())
    attempt.watchExpiry(way.refresh, fraction: way.seams.random.fraction()) { [weak self] in
      guard let self, isJoined else { return }
      self.owner?.channelHasNewCredentials(self)
    }
  }

  /// Tells the session what was wanted before it began: thousands take tens of milliseconds, so a portion in each turn.
  private func tell(_ rest: Set<Interest>.Iterator) {
    var rest = rest
    var portion = Portion(Self.toldAtOnce, timers)
    while isJoined, let session, portion.takesMore() {
      guard let interest = rest.next() else { return untold = [] }
      if untold.remove(interest) != nil { session.want(interest) }
    }
    guard isJoined else { return }
    timers.after(.zero) { [weak self] in self?.tell(rest) }
  }

  private func beginLiveness() {
    let liveness = Liveness(
      timers: timers, time: way.seams.time, ask: { [weak self] in self?.session?.probe() == true },
      fail: { [weak self] in self?.fail(Self.failure($0)) })
    liveness.heardNow()
    if let settings = session?.heartbeat { liveness.begin(settings, by: .client(isExpected: false)) }
    self.liveness = liveness
  }

  private static func failure(_ silence: Liveness.Silence) -> UpstreamFailure {
    switch silence {
    case .heartbeat, .atWriting: UpstreamFailure(.heartbeat, "the server did not answer the heartbeat in time")
    case .probe: .unansweredProbe
    }
  }

  /// No connection holds the link any more: the timer does, until its goodbye is over.
  private func sayGoodbye() {
    liveness = nil
    guard session?.leave() == true else { return closeEnded() }
    pendingClose = way.seams.pendingCloses.begin()
    timer = timers.after(DirectConnectorState.closeLimit) { [self] in closeEnded() }
  }

  private func hangUp() {
    stopTimer()
    liveness = nil
    if machine.state == .left { attempt.stop() }
    if transport != nil { owner?.channelEnds(self) }
    let (session, transport) = (session, transport)
    self.session = nil
    self.transport = nil
    session?.end()
    if transport != nil { trace?.hungUp() }
    transport?.close()
    // Last: from here on the transport's own goodbye is waited for.
    pendingClose = nil
  }

  private func stopTimer() {
    timers.cancel(timer)
    timer = nil
  }
}
