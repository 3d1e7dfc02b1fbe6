import GatewayCore

/// Dials connections that carry lines, and holds what all of them share on one loop.
final class LinesDialer: TransportDialer {
  let loop: EventLoop
  /// What they connect with, the same as for WebSockets: proxies and certificates are known there.
  let multi: CurlMulti
  /// Memory for their output.
  let blocks = SendQueue.Pool()
  /// Where a read puts its bytes; they are used up before the next read, whichever transport makes it.
  let readBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
  /// How long the rest of the output may take after the receiver has gone.
  let farewellLimit: Duration

  /// Transports that were let go of and are still writing.
  private var leaving: [ObjectIdentifier: LinesTransport] = [:]

  init(multi: CurlMulti, farewellLimit: Duration = .seconds(1)) {
    loop = multi.loop
    self.multi = multi
    self.farewellLimit = farewellLimit
  }

  deinit { readBuffer.deallocate() }

  func dial(_ request: DialRequest, receiver: any TransportReceiver) -> any Transport {
    let transport = LinesTransport(dialer: self, request: request, receiver: receiver)
    transport.start()
    return transport
  }

  /// A proxy that cannot be used is reported by the attempt.
  func firstHost(of request: DialRequest) -> String {
    let proxy = try? multi.proxies.proxy(for: request)
    return proxy?.host ?? request.host
  }

  /// Keeps a transport alive until `farewellEnded`.
  func farewellBegan(_ transport: LinesTransport) { leaving[ObjectIdentifier(transport)] = transport }

  func farewellEnded(_ transport: LinesTransport) { leaving[ObjectIdentifier(transport)] = nil }
}
