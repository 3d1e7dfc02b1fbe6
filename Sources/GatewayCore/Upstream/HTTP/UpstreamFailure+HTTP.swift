/// What is said about answers that are no HTTP, whichever transport asked.
extension UpstreamFailure {
  /// A head that cannot be read.
  init(_ problem: HTTPResponseHead.Problem) {
    switch problem {
    case .notHTTP: self.init(.http, "the server's answer is not HTTP")
    case .malformed: self.init(.protocolError, "the server's HTTP header is malformed")
    }
  }

  /// The first bytes of an answer that does not begin as HTTP does. To a request in clear, a server that expects TLS
  /// answers with an alert record (RFC 8446 section 5.1).
  public static func foreignAnswer(_ bytes: RawSpan, secure: Bool) -> UpstreamFailure {
    let first = (0..<min(2, bytes.byteCount)).map { bytes.unsafeLoad(fromByteOffset: $0, as: UInt8.self) }
    guard !secure, first.first == 0x15, first.count == 1 || first[1] == 0x03 else { return UpstreamFailure(.notHTTP) }
    return UpstreamFailure(.tls, "the server speaks TLS on this port: use wss:// or https://")
  }
}
