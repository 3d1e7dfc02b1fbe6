import CCrypto
import GatewayCore

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
    let material = [UInt8]((text + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)
    var digest = [UInt8](repeating: 0, count: Int(SHA_DIGEST_LENGTH))
    EVP_Digest(material, material.count, &digest, nil, EVP_sha1(), nil)
    expectedAccept = digest.withUnsafeBytes { Self.base64($0) }
  }

  private static func base64(_ bytes: UnsafeRawBufferPointer) -> String {
    // EVP_EncodeBlock ends its text with a zero byte.
    var text = [UInt8](repeating: 0, count: (bytes.count + 2) / 3 * 4 + 1)
    EVP_EncodeBlock(&text, bytes.bindMemory(to: UInt8.self).baseAddress, Int32(bytes.count))
    return String(decoding: text.dropLast(), as: UTF8.self)
  }
}
