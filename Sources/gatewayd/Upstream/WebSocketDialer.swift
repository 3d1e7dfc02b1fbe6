import GatewayCore

/// Dials WebSockets, and holds what only they share.
final class WebSocketDialer: TransportDialer {
  /// What they share with other transports.
  let ground: TransportGround
  /// Keys and masks.
  let random: any RandomSource
  /// What compresses and inflates their messages.
  let compression = CompressionContexts()

  init(on ground: TransportGround, random: any RandomSource) {
    self.ground = ground
    self.random = random
  }

  func dial(_ request: DialRequest, receiver: any TransportReceiver) -> any Transport {
    let transport = WebSocketTransport(dialer: self, request: request, receiver: receiver)
    transport.start()
    return transport
  }

  func firstHost(of request: DialRequest) -> String { ground.firstHost(of: request) }
}
