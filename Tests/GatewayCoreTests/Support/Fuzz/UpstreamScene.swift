@testable import GatewayCore

/// A Socket.IO upstream without a network: the fuzzer plays the server, and whatever the daemon's side does is noted.
final class UpstreamScene {
  private final class Clock: TimeSource {
    var now = MonotonicInstant(nanoseconds: 1_000_000_000)
    var wallMilliseconds: Int64 { now.nanoseconds / 1_000_000 }
  }

  private final class Dice: RandomSource {
    private var state: UInt64 = 1
    func bits() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1
      return state
    }
  }

  private final class NoCredentials: CredentialReader {
    func read(
      _ request: SecretRequest, while isWanted: @escaping () -> Bool,
      _ done: @escaping (Result<[UInt8], CredentialProblem>) -> Void
    ) {
      done(.failure(CredentialProblem("there are no files")))
    }

    func version(of source: SecretSource) -> SecretVersion? { nil }
  }

  /// Nothing that the fuzzer plays needs any.
  private final class NoCryptography: Cryptography {
    func sha256(_ data: [UInt8]) -> [UInt8] { [] }
    func hmacSHA256(key: [UInt8], _ data: [UInt8]) -> [UInt8] { [] }
    func ed25519PublicKey(_ key: [UInt8]) -> [UInt8]? { nil }
    func ed25519Sign(_ message: [UInt8], key: [UInt8]) -> [UInt8]? { nil }
    func saslPrepared(_ text: String) -> String? { nil }
    func derive(
      _ derivation: KeyDerivation, for account: Account, while isWanted: @escaping () -> Bool,
      _ done: @escaping ([UInt8]?) -> Void
    ) {}
  }

  /// One frame that the daemon's side sent.
  enum Frame: Equatable {
    case text([UInt8])
    case binary([UInt8])
  }

  final class Line: Transport {
    let request: DialRequest
    weak var receiver: (any TransportReceiver)?
    var sent: [Frame] = []
    var isClosed = false
    var unsentBytes: Int { 0 }
    var isCongested: Bool { false }

    init(_ request: DialRequest, _ receiver: any TransportReceiver) {
      self.request = request
      self.receiver = receiver
    }

    func send(text: RawSpan) { sent.append(.text(text.withUnsafeBytes { Array($0) })) }
    func send(control text: RawSpan) { send(text: text) }
    func send(binary: RawSpan) { sent.append(.binary(binary.withUnsafeBytes { Array($0) })) }
    func close() {
      isClosed = true
      receiver = nil
    }
  }

  private final class Dialer: TransportDialer {
    var lines: [Line] = []
    func dial(_ request: DialRequest, receiver: any TransportReceiver) -> any Transport {
      lines.append(Line(request, receiver))
      return lines[lines.count - 1]
    }
  }

  /// What the owner of a channel was told.
  final class Owner: UpstreamChannelOwner {
    struct Event {
      var name: [UInt8]
      var arguments: [UInt8]
      var ack: UInt64?
      var kwargs: [UInt8]?
    }

    var opened = 0
    var events: [Event] = []
    var acknowledgements: [(id: UInt64, arguments: [UInt8])] = []
    var endings: [UpstreamFailure] = []
    /// The first thing that must not have happened.
    var problem: String?

    private func note(_ isAllowed: Bool, _ sentence: String) {
      if !isAllowed, problem == nil { problem = sentence }
    }

    func channelOpened(_ channel: any UpstreamChannel) {
      note(opened == 0 && endings.isEmpty, "a channel opened twice or after its end")
      opened += 1
    }

    func channel(
      _ channel: any UpstreamChannel, receivedEvent name: RawSpan, arguments: RawSpan, kwargs: RawSpan?, ack: UInt64?
    ) {
      note(opened == 1 && endings.isEmpty, "an event came while the channel was not open")
      var event = Event(
        name: name.withUnsafeBytes { Array($0) }, arguments: arguments.withUnsafeBytes { Array($0) }, ack: ack)
      if let kwargs { event.kwargs = kwargs.withUnsafeBytes { Array($0) } }
      events.append(event)
    }

    func channel(_ channel: any UpstreamChannel, dropped event: DroppedEvent) {
      note(opened == 1 && endings.isEmpty, "an event was dropped while the channel was not open")
    }

    func channel(_ channel: any UpstreamChannel, acknowledged id: UInt64, arguments: RawSpan, kwargs: RawSpan?) {
      note(opened == 1 && endings.isEmpty, "an acknowledgement came while the channel was not open")
      acknowledgements.append((id, arguments.withUnsafeBytes { Array($0) }))
    }

    func channelHasNewCredentials(_ channel: any UpstreamChannel) {
      note(false, "credentials that nobody reads changed")
    }

    func channelEnded(_ channel: any UpstreamChannel, _ failure: UpstreamFailure) {
      note(endings.isEmpty, "a channel ended twice")
      endings.append(failure)
    }
  }

  /// One connection with its owner.
  final class Connection {
    let connector: any UpstreamConnector
    let owner = Owner()
    var channel: (any UpstreamChannel)?
    init(_ connector: any UpstreamConnector) { self.connector = connector }
  }

  private let clock = Clock()
  private let timers: Timers
  private let dialer = Dialer()
  let kind: SocketIOKind

  init() {
    timers = Timers(time: clock)
    kind = SocketIOKind(
      dialer: dialer, requester: nil, credentials: NoCredentials(), timers: timers, time: clock, random: Dice())
  }

  /// The newest transport.
  var line: Line? { dialer.lines.last }
  var dialCount: Int { dialer.lines.count }
  var pendingTimers: Int { timers.count }

  func dial(_ namespace: String, parser: ParserName = .json) -> Connection {
    var settings = UpstreamSettings()
    settings.messageLimit = 1 << 20
    settings.parser = parser
    let specification = UpstreamSpecification(
      name: nil, url: UpstreamURL(scheme: "http", host: "h"), namespace: namespace, settings: settings, owner: nil)
    let connection = Connection(kind.connector(for: specification))
    connection.channel = connection.connector.dial(owner: connection.owner)
    return connection
  }

  /// The same for the other kinds.
  func dial(_ url: UpstreamURL, _ change: (inout UpstreamSettings) -> Void) -> Connection {
    var settings = UpstreamSettings()
    settings.messageLimit = 1 << 20
    change(&settings)
    let specification = UpstreamSpecification(name: nil, url: url, namespace: "/", settings: settings, owner: nil)
    let seams = UpstreamSeams(
      webSockets: dialer, lines: dialer, requester: nil, credentials: NoCredentials(), timers: timers, time: clock,
      random: Dice(), cryptography: NoCryptography())
    let kinds = UpstreamKinds.make(seams).all
    let kind = kinds.first { $0.traits.schemes.contains(url.scheme) } ?? self.kind
    let connection = Connection(kind.connector(for: specification))
    connection.channel = connection.connector.dial(owner: connection.owner)
    return connection
  }

  func open() {
    line?.receiver?.transportOpened(TransportFacts(name: "websocket", tlsVersion: nil, verified: true), headers: [])
  }
  func receive(text: [UInt8]) { line?.receiver?.transportReceived(text: text.span.bytes) }
  func receive(text: String) { receive(text: Array(text.utf8)) }
  func receive(binary: [UInt8]) { line?.receiver?.transportReceived(binary: binary.span.bytes) }

  func fail(_ failure: TransportFailure) {
    guard let line, let receiver = line.receiver else { return }
    line.close()
    receiver.transportClosed(failure)
  }

  func advance(_ duration: Duration) {
    clock.now = clock.now + duration
    timers.fire()
  }

  /// Everything that was sent since the last look, on the newest transport.
  func takeSent() -> [Frame] {
    guard let line else { return [] }
    defer { line.sent = [] }
    return line.sent
  }
}
