import GatewayCore

/// Dials WebSockets, and holds what only they share.
final class WebSocketDialer: TransportDialer {
  /// What they share with other transports.
  let context: TransportContext
  /// Keys and masks.
  let random: any RandomSource
  /// What compresses and inflates their messages.
  let compression = CompressionContexts()

  init(on context: TransportContext, random: any RandomSource) {
    self.context = context
    self.random = random
  }

  func dial(_ request: DialRequest, receiver: any TransportReceiver) -> any Transport {
    let transport = WebSocketTransport(dialer: self, request: request, receiver: receiver)
    transport.start()
    return transport
  }

  func firstHost(of request: DialRequest) -> String { context.firstHost(of: request) }
}
