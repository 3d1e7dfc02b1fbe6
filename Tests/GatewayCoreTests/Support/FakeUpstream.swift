@testable import GatewayCore

/// A server that does what the test says. One for all connections of a `GatewayHarness`.
final class FakeUpstream: UpstreamKind {
  let schemes = ["http", "https", "ws", "wss"]
  /// Every attempt so far, oldest first, whether it is still alive or not.
  private(set) var channels: [FakeChannel] = []
  /// The largest message that the server takes.
  var messageLimit = 1 << 20
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

  func problem(with specification: UpstreamSpecification) -> MessageProblem? {
    specification.namespace.contains(",") ? .invalid("a namespace has no comma") : nil
  }

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
  let specification: UpstreamSpecification
  private let upstream: FakeUpstream
  var observer: (any UpstreamObserver)?
  var resumption: Resumption?

  init(upstream: FakeUpstream, specification: UpstreamSpecification) {
    self.upstream = upstream
    self.specification = specification
  }

  func prepare(event: String, args: RawSpan, acknowledged: Bool) throws(MessageProblem) -> PreparedMessage {
    guard event != "connect" else { throw .invalid("The event name 'connect' is reserved.") }
    let message = PreparedMessage(event: event, body: args.withUnsafeBytes { Array($0) })
    if let problem = check(message, acknowledged: acknowledged) { throw problem }
    return message
  }

  func prepareAnswer(args: RawSpan) throws(MessageProblem) -> PreparedMessage {
    PreparedMessage(event: "", body: args.withUnsafeBytes { Array($0) })
  }

  func check(_ message: PreparedMessage, acknowledged: Bool) -> MessageProblem? {
    if let problem = upstream.checking?(message, acknowledged) { return problem }
    let size = message.body.count
    return size > upstream.messageLimit ? .tooLarge(limit: upstream.messageLimit, size: size) : nil
  }

  func awaitNewCredentials(_ done: @escaping () -> Void) { upstream.awaitNewCredentials(done) }

  func dial(owner: any UpstreamChannelOwner) -> any UpstreamChannel {
    upstream.awaitNewCredentials(nil)
    let channel = FakeChannel(owner: owner, specification: specification)
    upstream.add(channel)
    return channel
  }
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
  var unsentBytes = 0
  var isCongested = false
  var isRecovered = false
  var facts = ChannelFacts(link: "link", protocols: [("fake", 1)])

  init(owner: any UpstreamChannelOwner, specification: UpstreamSpecification) {
    self.owner = owner
    self.specification = specification
  }

  func write(_ message: PreparedMessage, ack: UInt64?) {
    written.append("\(message.event) \(String(decoding: message.body, as: UTF8.self))" + (ack.map { "#\($0)" } ?? ""))
  }

  func answer(_ id: UInt64, _ message: PreparedMessage) {
    answers.append("\(id) \(String(decoding: message.body, as: UTF8.self))")
  }

  func forget(ack: UInt64) {}
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

  func accept() { owner?.channelOpened(self) }
  func renewCredentials() { owner?.channelHasNewCredentials(self) }
  func tell(_ sample: ClockSample) { owner?.channel(self, sampledTime: sample) }
  func fail(_ failure: UpstreamFailure) {
    isFailed = true
    owner?.channelEnded(self, failure)
  }
  func fail(_ reason: DownReason) { fail(UpstreamFailure(reason, "the test says so")) }

  func emit(_ name: String, _ arguments: String = "", ack: UInt64? = nil) {
    let name = Array("\"\(name)\"".utf8)
    let arguments = Array(arguments.utf8)
    owner?.channel(self, receivedEvent: name.span.bytes, arguments: arguments.span.bytes, ack: ack)
  }

  func acknowledge(_ id: UInt64, _ arguments: String = "") {
    let arguments = Array(arguments.utf8)
    owner?.channel(self, acknowledged: id, arguments: arguments.span.bytes)
  }
}
