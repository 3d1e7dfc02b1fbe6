/// Engine.IO over HTTP requests: a GET that the server answers when it has something to say, and POSTs. At any time
/// there is at most one of each, because servers end a session over a second. Engine.IO protocol, section "HTTP
/// long-polling".
final class PollingTransport: Transport, WriteProgress {
  private enum Phase: Equatable {
    /// The first GET is under way. May become `open` or `over`.
    case opening
    /// Packets flow. May become `leaving` or `over`.
    case open
    /// The receiver has gone; what waits is still sent, and the goodbye. May become `over`.
    case leaving
    /// Nothing is held any more.
    case over
  }

  private struct Body {
    let bytes: [UInt8]
    var reader: PayloadReader
  }

  /// How long the packets of an answer are handed out before others have their turn.
  private static let turnLimit: Duration = .milliseconds(1)
  /// How much of an answer is looked at before it is looked at the clock, in bytes.
  private static let portion = 64 << 10
  /// How long a goodbye may take.
  static let closeLimit: Duration = .seconds(1)

  private let requests: any PollingRequests
  private let requester: any HTTPRequester
  private let timers: Timers
  private weak var receiver: (any TransportReceiver)?
  private var phase = Phase.opening
  /// What was asked for, and then what the server answered in.
  private(set) var revision: EngineIORevision
  /// Once it has come.
  private(set) var handshake: EngineIOHandshake?
  private var get: (any HTTPExchange)?
  private var post: (any HTTPExchange)?
  private var outbox = PollingOutbox()
  /// Content of the POST that is under way, in bytes.
  private var postedBytes = 0
  /// Content of the POSTs that the server took, in bytes.
  private var takenBytes = 0
  private var control: ControlBacklog
  /// What waits to be posted, and was not answered, counts as this.
  private let memory: MemoryHold
  private var flushTimer: Timers.ID?
  private var closeTimer: Timers.ID?
  private var isPaused = false
  /// Nothing is asked for now.
  private var isReadingHeld = false
  /// Nothing is asked or posted from then on.
  private var writeLimit: MonotonicInstant?
  /// The answer to a poll whose packets are being handed out, in turns.
  private var body: Body?
  /// The server hears no goodbye any more.
  private var serverHasLeft = false
  /// Called once, when it is paused and neither a GET nor a POST is under way.
  private var onQuiet: (() -> Void)?

  init(
    revision: EngineIORevision, requests: any PollingRequests, requester: any HTTPRequester, timers: Timers,
    receiver: any TransportReceiver
  ) {
    self.revision = revision
    self.requests = requests
    self.requester = requester
    self.timers = timers
    self.receiver = receiver
    control = ControlBacklog(limit: requests.place.answerLimit)
    memory = MemoryHold(requests.memory.send, for: requests.place.account)
  }

  /// Starts the handshake; the receiver is not called back from here.
  func start() { startGet(answerLimit: requests.place.phaseLimit) }

  // MARK: - Transport

  var unsentBytes: Int { outbox.byteCount + postedBytes }
  var progress: (any WriteProgress)? { self }
  var given: Int { takenBytes + unsentBytes }
  var taken: Int { takenBytes }
  var isOver: Bool { phase == .over }
  var isCongested: Bool { post != nil || isPaused }

  func send(text: RawSpan) { send(text, isBinary: false) }
  func send(binary: RawSpan) { send(binary, isBinary: true) }

  func send(control text: RawSpan) {
    guard phase == .open, !control.isFull else { return }
    send(text, isBinary: false)
    control.add(text.byteCount + PollingOutbox.packetCost, taken: takenBytes, waiting: unsentBytes)
  }

  /// Packets of one turn leave together at the beginning of the next one.
  private func send(_ span: RawSpan, isBinary: Bool) {
    guard phase == .open else { return }
    outbox.append(PollingOutbox.Packet(isBinary: isBinary, bytes: span.withUnsafeBytes { [UInt8]($0) }))
    memory.set(unsentBytes)
    guard flushTimer == nil, post == nil, !isPaused else { return }
    flushTimer = timers.after(.zero) { [weak self] in
      self?.flushTimer = nil
      self?.flush()
    }
  }

  func mayWrite(until limit: MonotonicInstant) {
    writeLimit = limit
    get?.mayWrite(until: limit)
    post?.mayWrite(until: limit)
    poll()
    if !outbox.isEmpty { flush() }
  }

  func holdReading(_ isHeld: Bool) {
    isReadingHeld = isHeld
    poll()
  }

  private var isPastLimit: Bool { writeLimit.map { timers.now >= $0 } ?? false }

  func close() {
    receiver = nil
    onQuiet = nil
    guard phase == .open, handshake != nil, !serverHasLeft, !isPastLimit else {
      if phase != .leaving { release() }
      return
    }
    phase = .leaving
    isPaused = false
    outbox.append(PollingOutbox.Packet(isBinary: false, bytes: [UInt8(ascii: "1")]))
    closeTimer = timers.after(Self.closeLimit) { [self] in release() }
    flush()
  }

  // MARK: - For the upgrade

  /// Starts no further request, and calls back once, when those under way have ended; possibly before it returns.
  func pause(_ onQuiet: @escaping () -> Void) {
    isPaused = true
    self.onQuiet = onQuiet
    checkQuiet()
  }

  /// Goes on as if there had been no pause.
  func resume() {
    isPaused = false
    onQuiet = nil
    poll()
    flush()
  }

  /// Lets go of everything without a goodbye, and returns what was not sent: the session goes on elsewhere.
  func handOver() -> [PollingOutbox.Packet] {
    let unsent = outbox.takeAll()
    receiver = nil
    release()
    return unsent
  }

  private func checkQuiet() {
    guard isPaused, get == nil, post == nil, body == nil, let tell = onQuiet else { return }
    onQuiet = nil
    tell()
  }

  // MARK: - GET

  private func poll() {
    guard phase == .open, !isPaused, !isReadingHeld, !isPastLimit, get == nil, body == nil, let handshake else {
      return
    }
    startGet(answerLimit: handshake.pingInterval + handshake.pingTimeout)
  }

  private func startGet(answerLimit: Duration) {
    let request = HTTPRequest(
      requests.request(.polling, revision, sid: handshake?.sid), answerLimit: answerLimit, writeLimit: writeLimit)
    get = requester.start(request) { [weak self] in self?.polled($0) }
  }

  private func polled(_ result: Result<HTTPResponse, UpstreamFailure>) {
    get = nil
    guard phase != .leaving else { return }
    switch result {
    case .failure(let failure): fail(TransportFailure(Self.explain(failure, isOpening: handshake == nil)))
    case .success(let response):
      requests.heard(response.headers)
      if phase == .opening { open(response) } else { receive(response) }
    }
    poll()
    checkQuiet()
  }

  private func open(_ response: HTTPResponse) {
    guard response.status == 200 else { return fail(PollingRefusal.opening(response)) }
    guard let form = PayloadForm(opening: response.body, contentType: Self.contentType(response)) else {
      return fail(PollingRefusal.foreign(response))
    }
    phase = .open
    revision = form.revision
    let place = requests.place
    receiver?.transportOpened(
      TransportFacts(
        name: TransportName.polling.rawValue, tlsVersion: response.tlsVersion,
        verified: !place.endpoint.secure || place.verifiesCertificates, proxy: response.proxy),
      headers: response.headers)
    receiver?.transportNoticed(.version(form.revision.rawValue))
    deliver(response.body, form)
  }

  private func receive(_ response: HTTPResponse) {
    if let failure = PollingRefusal.later(response) { return fail(failure) }
    deliver(
      response.body, PayloadForm(body: response.body, contentType: Self.contentType(response), revision: revision))
  }

  private func deliver(_ bytes: [UInt8], _ form: PayloadForm) {
    body = Body(bytes: bytes, reader: PayloadReader(form: form, sizeLimit: requests.packetLimit))
    deliverRest()
  }

  /// Hands out the packets of an answer, until others are due. The next poll begins behind the last of them.
  private func deliverRest() {
    guard let bytes = body?.bytes else { return }
    let end = timers.now + Self.turnLimit
    do throws(EngineIOProblem) {
      while phase == .open, let step = try body?.reader.step(in: bytes, budget: Self.portion) {
        switch step {
        case .packet(let packet): deliver(packet, bytes)
        case .part(let part): if !part.isBinary { show(part.range, bytes) }
        }
        if control.isFull { return fail(TransportFailure(.unreadAnswers(limit: control.limit))) }
        guard timers.now < end else { return deliverLater() }
      }
      body = nil
    } catch { fail(TransportFailure(error.failure)) }
  }

  private func deliverLater() {
    timers.after(.zero) { [weak self] in
      guard let self, body != nil else { return }
      deliverRest()
      poll()
      checkQuiet()
    }
  }

  private func deliver(_ packet: PayloadReader.Packet, _ body: [UInt8]) {
    let span = body.span.bytes.extracting(packet.range)
    guard !packet.isBinary else { receiver?.transportReceived(binary: span); return }
    switch body[packet.range.lowerBound] {
    case UInt8(ascii: "0") where handshake == nil:
      handshake = try? EngineIOHandshake(
        parsing: body.span.bytes.extracting(packet.range.dropFirst()), pingLimit: requests.pingLimit)
    case UInt8(ascii: "1"): serverHasLeft = true
    default: break
    }
    receiver?.transportReceived(text: span)
  }

  /// A long text is looked at as early as one that comes over a WebSocket.
  private func show(_ part: Range<Int>, _ body: [UInt8]) {
    receiver?.transportGathers(text: body.span.bytes.extracting(part))
  }

  private static func contentType(_ response: HTTPResponse) -> String? {
    response.headers.first { $0.name == "content-type" }?.value
  }

  // MARK: - POST

  private func flush() {
    guard phase == .open || phase == .leaving, !isPaused, post == nil, let handshake else { return }
    if isPastLimit {
      if phase == .leaving { release() }
      return
    }
    let unsent = outbox.byteCount
    let body = outbox.takeBatch(
      revision, sizeLimit: handshake.maxPayload ?? revision.usualPayloadLimit,
      packetLimit: requests.postsApart ? 1 : PollingOutbox.packetLimit)
    guard let body else {
      if phase == .leaving { release() }
      return
    }
    postedBytes = unsent - outbox.byteCount
    let request = HTTPRequest(
      requests.request(.polling, revision, sid: handshake.sid), body: body,
      contentType: PollingOutbox.contentType(revision), answerLimit: handshake.pingInterval + handshake.pingTimeout,
      writeLimit: writeLimit)
    post = requester.start(request) { [weak self] in self?.posted($0) }
  }

  private func posted(_ result: Result<HTTPResponse, UpstreamFailure>) {
    post = nil
    let isRefused = if case .success(let response) = result { response.status == Self.contentTooLarge } else { false }
    // Nothing of it was taken, and the session may go on. Sent apart they show which one is too large.
    let goesAgain = isRefused && outbox.putBack()
    if goesAgain { requests.notePostsApart() } else if Self.isTaken(result) { takenBytes += postedBytes }
    postedBytes = 0
    memory.set(unsentBytes)
    switch result {
    case .failure(let failure): fail(TransportFailure(failure))
    case .success(let response):
      requests.heard(response.headers)
      if !goesAgain, var failure = PollingRefusal.later(response) {
        failure.refused = isRefused ? outbox.lone : nil
        fail(failure)
      }
    }
    flush()
    checkQuiet()
  }

  private static func isTaken(_ result: Result<HTTPResponse, UpstreamFailure>) -> Bool {
    guard case .success(let response) = result else { return false }
    return PollingRefusal.later(response) == nil
  }

  /// RFC 9110 section 15.5.14.
  private static let contentTooLarge = 413

  // MARK: - The end

  /// A poll that the server does not answer for so long is what a heartbeat that stays away is on other transports.
  private static func explain(_ failure: UpstreamFailure, isOpening: Bool) -> UpstreamFailure {
    guard !isOpening else { return failure.closing(before: "its Engine.IO handshake") }
    guard failure.reason == .timeout else { return failure }
    return UpstreamFailure(.heartbeat, "the server fell silent: it left a poll without an answer")
  }

  private func fail(_ failure: TransportFailure) {
    let receiver = receiver
    release()
    receiver?.transportClosed(failure)
  }

  private func release() {
    phase = .over
    receiver = nil
    onQuiet = nil
    body = nil
    timers.cancel(flushTimer)
    timers.cancel(closeTimer)
    get?.cancel()
    post?.cancel()
    get = nil
    post = nil
    outbox.removeAll()
    postedBytes = 0
    memory.set(0)
  }
}
