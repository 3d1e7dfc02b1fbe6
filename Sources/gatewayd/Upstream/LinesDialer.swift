import GatewayCore

/// Dials connections that carry lines.
final class LinesDialer: TransportDialer {
  private let ground: TransportGround

  init(on ground: TransportGround) { self.ground = ground }

  func dial(_ request: DialRequest, receiver: any TransportReceiver) -> any Transport {
    let transport = LinesTransport(on: ground, request: request, receiver: receiver)
    transport.start()
    return transport
  }

  func firstHost(of request: DialRequest) -> String { ground.firstHost(of: request) }
}
