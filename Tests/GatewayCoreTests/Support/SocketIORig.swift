@testable import GatewayCore

/// A transport whose far end is the test.
final class FakeTransport: Transport {
  let request: DialRequest
  private(set) var receiver: (any TransportReceiver)?
  /// Everything that was sent and not read by the test yet; binary as `<01 02>`.
  private var unread: [String] = []
  private(set) var isClosed = false
  var unsentBytes = 0
  var isCongested = false

  init(_ request: DialRequest, _ receiver: any TransportReceiver) {
    self.request = request
    self.receiver = receiver
  }

  func send(text: RawSpan) {
    unread.append(text.withUnsafeBytes { String(decoding: $0, as: UTF8.self) })
  }

  func send(control text: RawSpan) { send(text: text) }

  func send(binary: RawSpan) {
    let bytes = binary.withUnsafeBytes { [UInt8]($0) }
    unread.append("<" + bytes.map { String($0, radix: 16) }.joined(separator: " ") + ">")
  }

  /// How often it was asked for a sign of life; whether it can be asked.
  private(set) var probes = 0
  var canProbe = true

  func probe() -> Bool {
    if canProbe { probes += 1 }
    return canProbe
  }

  func answerProbe() { receiver?.transportAnsweredProbe() }

  func close() {
    isClosed = true
    receiver = nil
  }

  /// What was sent since the last look.
  func takeSent() -> [String] {
    defer { unread = [] }
    return unread
  }

  func open(headers: [HTTPHeader] = [], proxy: String? = nil) {
    let facts = TransportFacts(name: "websocket", tlsVersion: nil, verified: true, proxy: proxy)
    receiver?.transportOpened(facts, headers: headers)
  }

  func receive(_ texts: String...) {
    for text in texts {
      let bytes = [UInt8](text.utf8)
      receiver?.transportReceived(text: bytes.span.bytes)
    }
  }

  /// The same for one text that is looked at while it comes, in pieces of so many bytes.
  func receive(_ text: String, inPiecesOf size: Int) {
    let bytes = [UInt8](text.utf8)
    for end in stride(from: size, to: bytes.count, by: size) {
      receiver?.transportGathers(text: bytes.span.bytes.extracting(0..<end))
    }
    receiver?.transportReceived(text: bytes.span.bytes)
  }

  func receive(binary bytes: [UInt8], inPiecesOf size: Int) {
    for end in stride(from: size, to: bytes.count, by: size) {
      receiver?.transportGathers(binary: bytes.span.bytes.extracting(0..<end))
    }
    receiver?.transportReceived(binary: bytes.span.bytes)
  }

  func receive(binary bytes: [UInt8]) { receiver?.transportReceived(binary: bytes.span.bytes) }

  func fail(_ failure: UpstreamFailure, body: String = "", headers: [HTTPHeader] = []) {
    let receiver = receiver
    self.receiver = nil
    isClosed = true
    receiver?.transportClosed(TransportFailure(failure, headers: headers, httpBody: [UInt8](body.utf8)))
  }
}

/// Hands every dialled transport to the test.
final class FakeTransportDialer: TransportDialer {
  private(set) var transports: [FakeTransport] = []

  func dial(_ request: DialRequest, receiver: any TransportReceiver) -> any Transport {
    let transport = FakeTransport(request, receiver)
    transports.append(transport)
    return transport
  }

  func forgetTransports() { transports = [] }
}

/// Files by path, and what commands print, by program; one that is missing cannot be read. With `isHeldBack` the test
/// decides when reading ends.
final class FakeCredentials: CredentialReader {
  var files: [String: String] = [:] { didSet { version += 1 } }
  /// What each run prints, in turn; the last one for ever.
  var output: [String: [String]] = [:]
  private var version: Int64 = 0
  var isHeldBack = false
  private var held: [() -> Void] = []
  private(set) var reads = 0

  func read(
    _ request: SecretRequest, while isWanted: @escaping () -> Bool,
    _ done: @escaping (Result<[UInt8], CredentialProblem>) -> Void
  ) {
    reads += 1
    let finish = { [self] in
      let text: String?
      switch request.source {
      case .file(let path), .credential(let path): text = files[path]
      case .command(let words): text = nextOutput(of: words[0])
      }
      done(text.map { .success([UInt8]($0.utf8)) } ?? .failure(CredentialProblem("no such file")))
    }
    if isHeldBack { held.append(finish) } else { finish() }
  }

  func version(of source: SecretSource) -> SecretVersion? {
    switch source {
    case .file(let path), .credential(let path): files[path].map { _ in SecretVersion([version]) }
    case .command: nil
    }
  }

  private func nextOutput(of program: String) -> String? {
    guard let texts = output[program], let first = texts.first else { return nil }
    if texts.count > 1 { output[program]?.removeFirst() }
    return first
  }

  func release() {
    let finishing = held
    held = []
    for finish in finishing { finish() }
  }
}

/// Writes down what a channel tells its owner.
final class ChannelLog: UpstreamChannelOwner {
  enum Entry: Equatable {
    case opened
    /// `name(arguments)#ack`, with keyword arguments before the `#`
    case event(String)
    case dropped(GapReason, _ detail: String? = nil, name: String? = nil, ack: UInt64? = nil)
    /// The id of an answer that cannot be shown.
    case unreadable(UInt64)
    /// `name of SIZE bytes#ack`, or `id of SIZE bytes` for an answer
    case tooLong(String)
    /// `id(arguments)`, with keyword arguments behind
    case acknowledged(String)
    /// `id name(arguments)`
    case failed(String)
    case newCredentials
    case ended(UpstreamFailure)
  }

  private var entries: [Entry] = []
  var lineLimit = Int.max
  /// All looks at the server's clock.
  private(set) var samples: [ClockSample] = []
  /// Set while the connection is inside a call that must not call back.
  var mustBeSilent = false
  private(set) var wasDisturbed = false
  /// Run when the channel opens, after it was written down.
  var onOpened: ((any UpstreamChannel) -> Void)?
  /// Run at each event, after it was written down.
  var onEvent: ((any UpstreamChannel) -> Void)?

  /// What was told since the last look.
  func take() -> [Entry] {
    defer { entries = [] }
    return entries
  }

  private func note(_ entry: Entry) {
    if mustBeSilent { wasDisturbed = true }
    entries.append(entry)
  }

  private func text(_ span: RawSpan) -> String { span.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }

  /// What had not left when the end came; nil before.
  private(set) var unsentAtEnd: Int?
  func channelEnds(_ channel: any UpstreamChannel) { unsentAtEnd = channel.unsentBytes }

  func channelOpened(_ channel: any UpstreamChannel) {
    note(.opened)
    onOpened?(channel)
  }

  func channel(
    _ channel: any UpstreamChannel, receivedEvent name: RawSpan, arguments: RawSpan, kwargs: RawSpan?, ack: UInt64?
  ) {
    let keywords = if let kwargs { text(kwargs) } else { "" }
    note(.event("\(text(name))(\(text(arguments)))\(keywords)" + (ack.map { "#\($0)" } ?? "")))
    onEvent?(channel)
  }

  func channel(_ channel: any UpstreamChannel, receivedEvent name: RawSpan, tooLong size: Int, ack: UInt64?) {
    note(.tooLong("\(text(name)) of \(size) bytes" + (ack.map { "#\($0)" } ?? "")))
  }

  func channel(_ channel: any UpstreamChannel, answered id: UInt64, tooLong size: Int, isPart: Bool) {
    note(.tooLong("\(id) of \(size) bytes"))
  }

  func channel(_ channel: any UpstreamChannel, dropped event: DroppedEvent) {
    let name = event.name.map { String(decoding: $0, as: UTF8.self) }
    note(.dropped(event.reason, event.detail, name: name, ack: event.ack))
  }

  func channel(_ channel: any UpstreamChannel, answeredUnreadably id: UInt64) { note(.unreadable(id)) }

  func channel(_ channel: any UpstreamChannel, acknowledged id: UInt64, arguments: RawSpan, kwargs: RawSpan?) {
    let keywords = if let kwargs { text(kwargs) } else { "" }
    note(.acknowledged("\(id)(\(text(arguments)))\(keywords)"))
  }

  func channel(_ channel: any UpstreamChannel, failed id: UInt64, _ error: RemoteError) {
    note(.failed("\(id) \(error.name)(\(String(decoding: error.answer.args, as: UTF8.self)))"))
  }

  func channelHasNewCredentials(_ channel: any UpstreamChannel) { note(.newCredentials) }

  func channel(_ channel: any UpstreamChannel, sampledTime sample: ClockSample) {
    if mustBeSilent { wasDisturbed = true }
    samples.append(sample)
  }

  func channelEnded(_ channel: any UpstreamChannel, _ failure: UpstreamFailure) { note(.ended(failure)) }
}

/// A Socket.IO kind with fakes all around it.
final class SocketIORig {
  let time = FakeTime()
  let timers: Timers
  let dialer = FakeTransportDialer()
  let credentials = FakeCredentials()
  let requester = FakeRequester()
  let kind: SocketIOKind

  static let handshake = #"0{"sid":"engine","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000}"#
  /// Without `maxPayload`, as servers before 4.5 send it.
  static let oldHandshake = #"0{"sid":"engine","upgrades":[],"pingInterval":25000,"pingTimeout":20000}"#

  init() {
    timers = Timers(time: time)
    kind = SocketIOKind(
      dialer: dialer, requester: requester, credentials: credentials, timers: timers, time: time, random: FakeRandom())
  }

  /// One connection with its log and its present channel.
  final class Connection {
    let connector: any UpstreamConnector
    let log = ChannelLog()
    var channel: (any UpstreamChannel)?
    init(_ connector: any UpstreamConnector) { self.connector = connector }

    /// Dials, and checks that the owner is left in peace meanwhile.
    func dial() {
      log.mustBeSilent = true
      channel = connector.dial(owner: log)
      log.mustBeSilent = false
    }

    func close() {
      log.mustBeSilent = true
      channel?.close()
      log.mustBeSilent = false
      channel = nil
    }

    func send(_ event: String, _ args: String = "[]", ack: UInt64? = nil) throws {
      let bytes = [UInt8](args.utf8)
      log.mustBeSilent = true
      channel?.write(
        try connector.prepare(MessageDraft(event: event, args: bytes, isAcknowledged: ack != nil)), ack: ack)
      log.mustBeSilent = false
    }
  }

  func specification(
    _ namespace: String = "/", url: UpstreamURL = UpstreamURL(scheme: "http", host: "h"), owner: UInt32? = nil,
    _ change: (inout UpstreamSettings) -> Void = { _ in }
  ) -> UpstreamSpecification {
    var settings = UpstreamSettings()
    settings.transports = [.websocket]
    change(&settings)
    return UpstreamSpecification(name: "chat", url: url, namespace: namespace, settings: settings, owner: owner)
  }

  func connection(
    _ namespace: String = "/", _ change: (inout UpstreamSettings) -> Void = { _ in }
  ) -> Connection {
    let connection = Connection(kind.connector(for: specification(namespace, change)))
    connection.dial()
    return connection
  }

  /// The newest transport.
  var transport: FakeTransport { dialer.transports.last ?? FakeTransport.none }

  func advance(_ duration: Duration) {
    time.advance(by: duration)
    timers.fire()
  }

  /// Runs what was put off to the next turn of the loop.
  func turn() { timers.fire() }

  /// A connection of revision 4 whose namespace is accepted, with everything read so far.
  func joined(_ namespace: String = "/", _ change: (inout UpstreamSettings) -> Void = { _ in }) -> Connection {
    let connection = connection(namespace, change)
    transport.open()
    transport.receive(Self.handshake, "40" + prefix(namespace) + #"{"sid":"socket"}"#)
    _ = transport.takeSent()
    _ = connection.log.take()
    return connection
  }

  /// The same with a server of revision 3.
  func joinedThree(_ namespace: String = "/") -> Connection {
    let connection = connection(namespace)
    transport.open()
    transport.receive(Self.oldHandshake, "40")
    if namespace != "/" { transport.receive("40" + namespace) }
    _ = transport.takeSent()
    _ = connection.log.take()
    return connection
  }

  private func prefix(_ namespace: String) -> String { namespace == "/" ? "" : namespace + "," }
}

extension FakeTransport {
  /// Stands in when nothing was dialled, so that a test fails by its expectations.
  static var none: FakeTransport {
    final class Nobody: TransportReceiver {
      func transportOpened(_ facts: TransportFacts, headers: [HTTPHeader]) {}
      func transportReceived(text: RawSpan) {}
      func transportReceived(binary: RawSpan) {}
      func transportClosed(_ failure: TransportFailure) {}
    }
    return FakeTransport(
      DialRequest(
        secure: false, host: "", port: 0, target: "", headers: [], tls: TLSSettings(), phaseLimit: .zero,
        messageLimit: 0), Nobody())
  }
}
