@testable import GatewayCore

/// A server that does what the test says. One for all connections of a `GatewayHarness`.
final class FakeUpstream: UpstreamKind {
  let traits = UpstreamTraits(
    "fake", schemes: ["http", "https", "ws", "wss"], path: .namespace, examination: .handshake
  ) { specification in
    specification.namespace.contains(",") ? .invalid("a namespace has no comma") : nil
  }
  /// Every attempt so far, oldest first, whether it is still alive or not.
  private(set) var channels: [FakeChannel] = []
  /// The largest message that the server takes.
  var messageLimit = 1 << 20
  /// The server sends only what it was asked for.
  var confirmedInterests = ConfirmedInterests.none
  /// The link tells of the past.
  var pastLimit: Duration?
  /// What is wrong with a message that waited, beyond its size.
  var checking: ((PreparedMessage, Bool) -> MessageProblem?)?

  /// Who waits for new credentials.
  private var waiting: (() -> Void)?

  fileprivate func awaitNewCredentials(_ done: (() -> Void)?) { waiting = done }

  func changeCredentials() {
    let waiting = waiting
    self.waiting = nil
    waiting?()
  }

  /// The newest attempt.
  var channel: FakeChannel { channels[channels.count - 1] }

  func connector(for specification: UpstreamSpecification) -> any UpstreamConnector {
    let made = FakeConnector(upstream: self, specification: specification)
    connector = made
    return made
  }

  /// The newest one.
  private(set) var connector: FakeConnector?

  fileprivate func add(_ channel: FakeChannel) { channels.append(channel) }
}

final class FakeConnector: UpstreamConnector {
  let kind = "fake"
  var hosts: [String] { [specification.url.host] }
  var route: DialRequest { DialTarget(specification.url, path: "/", specification.settings).request() }
  let specification: UpstreamSpecification
  private let upstream: FakeUpstream
  var observer: (any UpstreamObserver)?
  var resumption: Resumption?

  init(upstream: FakeUpstream, specification: UpstreamSpecification) {
    self.upstream = upstream
    self.specification = specification
  }

  let partsLimit = 2 << 20

  func prepare(_ draft: MessageDraft) throws(MessageProblem) -> PreparedMessage {
    guard draft.event != "connect" else { throw .invalid("The event name 'connect' is reserved.") }
    let message = PreparedMessage(event: draft.event, body: draft.args + (draft.kwargs ?? []))
    if let problem = check(message, acknowledged: draft.isAcknowledged) { throw problem }
    return message
  }

  func prepareAnswer(_ draft: AnswerDraft) throws(MessageProblem) -> PreparedMessage {
    PreparedMessage(event: "", body: Array((draft.error ?? "").utf8) + draft.args + (draft.kwargs ?? []))
  }

  func check(_ message: PreparedMessage, acknowledged: Bool) -> MessageProblem? {
    if let problem = upstream.checking?(message, acknowledged) { return problem }
    let size = message.body.count
    return size > upstream.messageLimit ? .tooLarge(limit: upstream.messageLimit, size: size) : nil
  }

  var confirmedInterests: ConfirmedInterests { upstream.confirmedInterests }
  var pastLimit: Duration? { upstream.pastLimit }

  func problem(with interest: Interest) -> MessageProblem? {
    upstream.confirmedInterests == .all && interest == Interest(.all, answers: true)
      ? .invalid("nobody can answer everything") : nil
  }

  func awaitNewCredentials(_ done: @escaping () -> Void) { upstream.awaitNewCredentials(done) }

  func dial(owner: any UpstreamChannelOwner) -> any UpstreamChannel {
    upstream.awaitNewCredentials(nil)
    let channel = FakeChannel(owner: owner, specification: specification)
    upstream.add(channel)
    return channel
  }
}

/// How far a link has come, as the test says. Each message counts one.
final class FakeProgress: WriteProgress {
  var given = 0
  var taken = 0
  var isOver = false
}

/// One attempt, played by the test.
final class FakeChannel: UpstreamChannel {
  private weak var owner: (any UpstreamChannelOwner)?
  let specification: UpstreamSpecification
  /// `event args` of every message, in order; `#id` behind it where an acknowledgement is wanted.
  private(set) var written: [String] = []
  private(set) var answers: [String] = []
  private(set) var isClosed = false
  private(set) var isFailed = false
  var unsentBytes: Int {
    get {
      looks += 1
      return unsent
    }
    set { unsent = newValue }
  }
  private var unsent = 0
  /// How often the gateway asked what the kernel has not taken.
  var looks = 0
  var isCongested = false
  /// Whether the gateway reads no further for now.
  private(set) var isReadingHeld = false
  func holdReading(_ isHeld: Bool) { isReadingHeld = isHeld }
  /// Set: what was written is sent when it is confirmed up to that number.
  var confirmed: UInt64?
  /// Nothing of what is not confirmed was written, nor will be.
  var isFinal = false
  var confirmations: WriteConfirmations? {
    confirmed.map { WriteConfirmations(written: UInt64(written.count), confirmed: $0, isFinal: isFinal) }
  }
  /// Set before it is accepted: how far its link comes, also after it was closed.
  var messages: FakeProgress?
  var progress: (any WriteProgress)? { messages }
  var isRecovered = false
  /// Where the server would go on in its session.
  var sessionPlace: SessionPlace?
  /// Whether other conversations go over its link.
  var sharesLink = false
  var facts = ChannelFacts(link: "link", protocols: [("fake", 1)])
  /// What the server must not say.
  var secret: String?
  func repeatsCredentials(_ failure: UpstreamFailure) -> Bool {
    secret.map { "\(failure)".contains($0) } ?? false
  }

  init(owner: any UpstreamChannelOwner, specification: UpstreamSpecification) {
    self.owner = owner
    self.specification = specification
  }

  func write(_ message: PreparedMessage, ack: UInt64?) {
    messages?.given += 1
    written.append("\(message.event) \(String(decoding: message.body, as: UTF8.self))" + (ack.map { "#\($0)" } ?? ""))
  }

  func answer(_ id: UInt64, _ message: PreparedMessage) {
    answers.append("\(id) \(String(decoding: message.body, as: UTF8.self))")
  }

  /// Whether the server can be told that no client will answer.
  var hasWordsForAbsence = true
  private(set) var declined: [String] = []
  func decline(_ id: UInt64, _ why: AnswerAbsence) -> Bool {
    if hasWordsForAbsence { declined.append("\(id) \(why)") }
    return hasWordsForAbsence
  }

  private(set) var forgotten: [UInt64] = []
  func forget(ack: UInt64) { forgotten.append(ack) }
  /// `+name` for what was wanted and `-name` for what was dropped, in order; `!` in front of those who answer.
  private(set) var asked: [String] = []
  func want(_ interest: Interest) { asked.append("+\(interest.answers ? "!" : "")\(interest)") }
  func drop(_ interest: Interest) { asked.append("-\(interest.answers ? "!" : "")\(interest)") }
  /// How often it was asked for the past.
  private(set) var pastRequests = 0
  func tellPast() { pastRequests += 1 }
  /// What it tells from now on is news.
  private(set) var isCurrent = false
  func close() { isClosed = true }
  /// The server keeps what it knows of the gateway.
  private(set) var isSuspended = false
  func suspend() {
    isClosed = true
    isSuspended = true
  }
  /// How often the gateway doubted that the server is still there.
  private(set) var verifications = 0
  func verify() { verifications += 1 }
  /// Set: the next thing that is to be written finds the heartbeat overdue.
  var isOverdue = false
  func checkHeartbeat() {
    guard isOverdue else { return }
    isOverdue = false
    fail(.heartbeat)
  }

  // What the server does.

  func accept() {
    isCurrent = true
    owner?.channelOpened(self)
  }
  func renewCredentials() { owner?.channelHasNewCredentials(self) }
  func tell(_ sample: ClockSample) { owner?.channel(self, sampledTime: sample) }
  func fail(_ failure: UpstreamFailure) {
    isFailed = true
    owner?.channelEnded(self, failure)
  }
  func refuse(_ write: UnconfirmedWrite) {
    owner?.channel(self, refused: write, .tooLarge(limit: 100, size: 101))
  }
  func fail(_ reason: DownReason) { fail(UpstreamFailure(reason, "the test says so")) }

  /// All that there is of the past was told.
  func toldPast() { owner?.channelToldPast(self) }

  /// The next event has this place.
  func place(_ place: EventPlace) { owner?.channel(self, at: place) }

  func emit(_ name: String, _ arguments: String = "", ack: UInt64? = nil) {
    let name = Array("\"\(name)\"".utf8)
    let arguments = Array(arguments.utf8)
    owner?.channel(self, receivedEvent: name.span.bytes, arguments: arguments.span.bytes, ack: ack)
  }

  /// An event comes that cannot be shown.
  func emit(_ event: DroppedEvent) { owner?.channel(self, dropped: event) }

  func emit(_ name: String, _ arguments: String = "", kwargs: String) {
    let name = Array("\"\(name)\"".utf8)
    let (arguments, kwargs) = (Array(arguments.utf8), Array(kwargs.utf8))
    owner?.channel(
      self, receivedEvent: name.span.bytes, arguments: arguments.span.bytes, kwargs: kwargs.span.bytes, ack: nil)
  }

  func acknowledge(_ id: UInt64, _ arguments: String = "") {
    let arguments = Array(arguments.utf8)
    owner?.channel(self, acknowledged: id, arguments: arguments.span.bytes)
  }

  func acknowledge(_ id: UInt64, _ arguments: String, kwargs: String) {
    let (arguments, kwargs) = (Array(arguments.utf8), Array(kwargs.utf8))
    owner?.channel(self, acknowledged: id, arguments: arguments.span.bytes, kwargs: kwargs.span.bytes)
  }

  func progress(_ id: UInt64, _ arguments: String) {
    let arguments = Array(arguments.utf8)
    owner?.channel(self, progressed: id, arguments: arguments.span.bytes, kwargs: nil)
  }

  func decline(_ id: UInt64, _ error: RemoteError) { owner?.channel(self, failed: id, error) }
  func withdraw(_ ack: UInt64) { owner?.channel(self, withdrew: ack) }

  func agree(_ name: String, answers: Bool = false) {
    agree(Interest(.name(ExactText(name)), answers: answers))
  }

  func agree(_ interest: Interest) { owner?.channel(self, answered: interest, nil) }

  func refuse(_ name: String, _ words: String = "no.such.right") {
    let refusal = UpstreamFailure(.refused, "not for you", serverMessage: words)
    owner?.channel(self, answered: Interest(.name(ExactText(name))), refusal)
  }
}
