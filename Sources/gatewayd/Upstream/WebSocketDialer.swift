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

/// The nonce of one WebSocket handshake and the answer that proves the server understood it (RFC 6455 section 4).
struct WebSocketKey: Equatable, Sendable {
  /// `Sec-WebSocket-Key`: sixteen bytes in base64.
  let text: String
  /// What `Sec-WebSocket-Accept` must be.
  let expectedAccept: String

  /// A key from 128 random bits.
  init(random: any RandomSource) {
    self.init(text: withUnsafeBytes(of: (random.bits(), random.bits())) { Self.base64($0) })
  }

  init(text: String) {
    self.text = text
    let digest = OpenSSL.sha1([UInt8]((text + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8))
    expectedAccept = digest.withUnsafeBytes { Self.base64($0) }
  }

  private static func base64(_ bytes: UnsafeRawBufferPointer) -> String {
    var text: [UInt8] = []
    Base64.encode(bytes.bytes, into: &text)
    return String(decoding: text, as: UTF8.self)
  }
}
