@testable import GatewayCore
import Glibc
import Testing

@testable import gatewayd

/// A loop with a dialer, and a receiver that keeps what it hears.
final class WebSocketDialing: TransportReceiver {
  /// What the connections carry that it dials.
  enum Carrying { case webSockets, lines, resp }

  let loop: EventLoop
  let context: TransportContext
  let dialer: any TransportDialer
  var transport: (any Transport)?
  var opened: [TransportFacts] = []
  var texts: [String] = []
  var binaries: [[UInt8]] = []
  var closed: [TransportFailure] = []
  /// How many calls came while one of our own calls was under way.
  var callsFromWithin = 0
  var isCalling = false
  var onOpened: () -> Void = {}
  var onText: (String) -> Void = { _ in }
  var onBinary: ([UInt8]) -> Void = { _ in }

  init(closeLimit: Duration = .seconds(30), carrying: Carrying = .webSockets) throws {
    SystemEvents.takeSignals([])
    loop = try EventLoop()
    context = TransportContext(
      multi: CurlMulti(loop: loop, environment: { _ in nil }), closeLimit: closeLimit)
    dialer =
      switch carrying {
      case .webSockets: WebSocketDialer(on: context, random: SystemRandom())
      case .lines: StreamDialer(of: LineStream.self, on: context)
      case .resp: StreamDialer(of: RESPStream.self, on: context)
      }
  }

  static func request(_ port: UInt16, host: String = "127.0.0.1", secure: Bool = false) -> DialRequest {
    var tls = TLSSettings()
    if secure { tls.ca = .file(WebSocketPeerTLS.files.authority) }
    return DialRequest(
      secure: secure, host: host, port: port, target: "/socket.io/?EIO=4&transport=websocket",
      headers: [HTTPHeader(name: "X-Test", value: "yes")], tls: tls, phaseLimit: .seconds(30), messageLimit: 16 << 20)
  }

  func dial(_ request: DialRequest) {
    calling { transport = dialer.dial(request, receiver: self) }
  }

  func send(_ text: String) { calling { transport?.send(text: Array(text.utf8).span.bytes) } }
  func send(_ bytes: [UInt8]) { calling { transport?.send(binary: bytes.span.bytes) } }
  func close() { calling { transport?.close() } }

  /// Turns until the condition holds; false when it does not within the limit.
  @discardableResult
  func run(within limit: Duration = .seconds(60), until condition: () -> Bool) throws -> Bool {
    let end = loop.time.now + limit
    while !condition() {
      if loop.time.now > end { return false }
      try loop.turn(sleepingAtMost: .milliseconds(10))
    }
    return true
  }

  /// Dials and turns until the transport is open or over; the failure, if it is over.
  @discardableResult
  func open(_ request: DialRequest) throws -> TransportFailure? {
    dial(request)
    try run { !opened.isEmpty || !closed.isEmpty }
    return closed.first
  }

  /// Dials and turns until the transport is over.
  func failure(_ request: DialRequest) throws -> TransportFailure {
    dial(request)
    try run { !closed.isEmpty }
    return try #require(closed.first)
  }

  /// Turns until no goodbye is under way.
  func becomeQuiet() throws {
    var isQuiet = false
    context.whenQuiet { isQuiet = true }
    #expect(try run { isQuiet })
  }

  private func calling(_ body: () -> Void) {
    isCalling = true
    body()
    isCalling = false
  }

  private func heard() { if isCalling { callsFromWithin += 1 } }

  func transportOpened(_ facts: TransportFacts, headers: [HTTPHeader]) {
    heard()
    opened.append(facts)
    onOpened()
  }

  func transportReceived(text: RawSpan) {
    heard()
    let text = text.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    texts.append(text)
    onText(text)
  }

  func transportReceived(binary: RawSpan) {
    heard()
    let binary = binary.withUnsafeBytes { [UInt8]($0) }
    binaries.append(binary)
    onBinary(binary)
  }

  func transportClosed(_ failure: TransportFailure) {
    heard()
    closed.append(failure)
  }
}
