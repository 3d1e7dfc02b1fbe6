import GatewayCore

/// Dials WebSockets, and holds what all of them share on one loop.
final class WebSocketDialer: TransportDialer {
  /// What the transports run on.
  let loop: EventLoop
  /// What they connect with.
  let multi: CurlMulti
  /// Keys and masks.
  let random: any RandomSource
  /// How long a goodbye may take: the rest of the output, the close frame, the peer's answer.
  let farewellLimit: Duration
  /// Memory for their output.
  let blocks = SendQueue.Pool()
  /// What compresses and inflates their messages.
  let compression = CompressionContexts()
  /// Where a read puts its bytes; they are used up before the next read, whichever transport makes it.
  let readBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)

  /// Transports that were let go of and are still saying goodbye.
  private var leaving: [ObjectIdentifier: WebSocketTransport] = [:]
  private var onQuiet: (() -> Void)?

  /// Throws when libcurl cannot be started.
  init(
    loop: EventLoop, random: any RandomSource, environment: @escaping (String) -> String? = { _ in nil },
    farewellLimit: Duration = .seconds(1)
  ) throws(SystemError) {
    self.loop = loop
    self.random = random
    self.farewellLimit = farewellLimit
    multi = try CurlMulti(loop: loop, environment: environment)
  }

  deinit { readBuffer.deallocate() }

  func dial(_ request: DialRequest, receiver: any TransportReceiver) -> any Transport {
    let transport = WebSocketTransport(dialer: self, request: request, receiver: receiver)
    transport.start()
    return transport
  }

  /// A proxy that cannot be used is reported by the attempt.
  func firstHost(of request: DialRequest) -> String {
    let proxy = try? multi.proxies.proxy(for: request)
    return proxy?.host ?? request.host
  }

  /// Calls back once, later, when no transport is saying goodbye any more: after `farewellLimit` at the latest, counted
  /// from the last `close()`.
  func whenQuiet(_ body: @escaping () -> Void) {
    onQuiet = body
    if leaving.isEmpty { loop.onNextTurn { [weak self] in self?.checkQuiet() } }
  }

  /// Keeps a transport alive until `farewellEnded`.
  func farewellBegan(_ transport: WebSocketTransport) { leaving[ObjectIdentifier(transport)] = transport }

  /// Lets go of a transport; of one that never said goodbye, nothing is held.
  func farewellEnded(_ transport: WebSocketTransport) {
    guard leaving.removeValue(forKey: ObjectIdentifier(transport)) != nil else { return }
    checkQuiet()
  }

  private func checkQuiet() {
    guard leaving.isEmpty, let body = onQuiet else { return }
    onQuiet = nil
    body()
  }
}
