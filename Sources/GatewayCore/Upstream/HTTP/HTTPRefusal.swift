/// What to say about an HTTP answer that came instead of a WebSocket, or of a poll's. Statuses whose own words say
/// enough stay as they are.
enum HTTPRefusalText {
  /// `name` is the status with the server's own words, such as `HTTP 404 Not Found`.
  static func sentence(_ head: HTTPResponseHead, name: String) -> String {
    switch head.status {
    case 200..<300 where isPage(head):
      "the server answered the WebSocket handshake with a web page (\(name)): this is no WebSocket server, or a login "
        + "page or a captive portal stands before it"
    default: login(head.status, name: name) ?? "the server answered \(name) instead of opening a WebSocket"
    }
  }

  /// The sentence for a status by which something on the way asks for a login; nil for others.
  static func login(_ status: Int, name: String) -> String? {
    switch status {
    case 407: "a proxy on the way wants a user and a password (\(name))"
    case 511: "the network wants a login before it lets anything through (\(name)): a captive portal"
    default: nil
    }
  }

  private static func isPage(_ head: HTTPResponseHead) -> Bool {
    head.values("content-type").contains { $0.lowercased().hasPrefix("text/html") }
  }
}

/// What is said about answers that are no HTTP, whichever transport asked.
extension UpstreamFailure {
  /// The first line is no HTTP/1 status line: another protocol altogether.
  static let notHTTP = UpstreamFailure(.http, "the server's answer is not HTTP")

  /// A status line, then a line that is no header, or a header that contradicts itself.
  static let malformedHead = UpstreamFailure(.protocolError, "the server's HTTP header is malformed")

  /// The first bytes of an answer that does not begin as HTTP does. To a request in clear, a server that expects TLS
  /// answers with an alert record (RFC 8446 section 5.1).
  public static func foreignAnswer(_ bytes: RawSpan, to request: DialRequest) -> UpstreamFailure {
    let first = (0..<min(2, bytes.byteCount)).map { bytes.unsafeLoad(fromByteOffset: $0, as: UInt8.self) }
    guard !request.secure, first.first == 0x15, first.count == 1 || first[1] == 0x03 else { return .notHTTP }
    return UpstreamFailure(.tls, "the server speaks TLS on this port: use \(request.schemes.secure)")
  }
}

/// How long a server wants to be left alone: the header `Retry-After`, RFC 9110 section 10.2.3.
enum RetryAfter {
  /// Longest time that a server is obeyed for; a longer one counts as this.
  static let limit: Duration = .seconds(3_600)

  /// Nil unless the status says that the server is overloaded and a header says for how long. `now` is the wall clock
  /// in milliseconds since 1970, for servers that name a date.
  static func duration(_ status: Int?, _ headers: [HTTPHeader], now: Int64) -> Duration? {
    guard status == 503 || status == 429, let text = headers.first(where: { $0.name == "retry-after" })?.value else {
      return nil
    }
    if !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) {
      return min(limit, .seconds(Int64(text) ?? 3_600))
    }
    guard let date = HTTPDate.seconds(text) else { return nil }
    return min(limit, max(.zero, .milliseconds(date &* 1_000 &- now)))
  }
}
