import GatewayCore

/// Dials connections that carry lines.
final class LinesDialer: TransportDialer {
  private let context: TransportContext

  init(on context: TransportContext) { self.context = context }

  func dial(_ request: DialRequest, receiver: any TransportReceiver) -> any Transport {
    let transport = LinesTransport(on: context, request: request, receiver: receiver)
    transport.start()
    return transport
  }

  func firstHost(of request: DialRequest) -> String { context.firstHost(of: request) }
}
