import CLinux
import Glibc

/// Addresses of connected sockets.
enum SocketAddress {
  /// The far end's numeric address; nil for a socket that has none.
  static func peer(of descriptor: Int32) -> String? {
    let address = gw_peer_address(descriptor)
    let text = withUnsafeBytes(of: address.text) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    return text.isEmpty ? nil : text
  }
}
