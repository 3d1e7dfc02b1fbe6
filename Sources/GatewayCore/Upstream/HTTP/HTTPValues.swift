/// One HTTP request and its response: plain values that cross the `HTTPRequester` seam.

/// A request to the server that a link goes to.
public struct HTTPRequest: Hashable, Sendable {
  /// Where to, by which way and with which headers. `phaseLimit` limits name, TCP, proxy and TLS each, `messageLimit`
  /// the body of the response: a larger one ends the exchange with `tooLarge`.
  public var dial: DialRequest
  /// Nil for GET; otherwise the body of a POST, sent with its length.
  public var body: [UInt8]?
  /// `Content-Type` of the body.
  public var contentType: String?
  /// From the connection's being ready to the last byte of the response. A long poll may take this long.
  public var answerLimit: Duration
  /// On a connection of its own, which nothing used before and nothing uses after it. A header `Connection: close` does
  /// not do that: not every server repeats it in its answer, and to the client the connection is open until then.
  public var isAlone: Bool
  /// Nothing of the request reaches the kernel from that instant on; nil for a link that belongs to this host alone.
  public var writeLimit: MonotonicInstant?
  /// Most bytes of the response's body that are kept; what follows them is passed over.
  public var keptLimit: Int

  init(
    _ dial: DialRequest, body: [UInt8]? = nil, contentType: String? = nil, answerLimit: Duration, isAlone: Bool = false,
    writeLimit: MonotonicInstant? = nil, keptLimit: Int = .max
  ) {
    self.dial = dial
    self.body = body
    self.contentType = contentType
    self.answerLimit = answerLimit
    self.isAlone = isAlone
    self.writeLimit = writeLimit
    self.keptLimit = keptLimit
  }
}

/// A complete response, whatever its status. Redirects are never followed on the way.
public struct HTTPResponse: Equatable, Sendable {
  public var status: Int
  /// Names in lower case, in the order of the lines. They may hold secrets.
  var headers: [HTTPHeader]
  /// With another status than 200 at most `refusalLimit` bytes of it.
  var body: [UInt8]
  /// The negotiated TLS version, such as `TLSv1.3`; nil without TLS.
  var tlsVersion: String?
  /// Host and port of the proxy that the connection goes through; nil without one.
  var proxy: String?

  /// What is kept of the body of a refusal, in bytes: it is words.
  public static let refusalLimit = 64 << 10

  public init(
    status: Int, headers: [HTTPHeader] = [], body: [UInt8] = [], tlsVersion: String? = nil, proxy: String? = nil
  ) {
    self.status = status
    self.headers = headers
    self.body = body
    self.tlsVersion = tlsVersion
    self.proxy = proxy
  }
}

extension HTTPResponse {
  /// From the bytes of a head, status line and header lines, and a body that is no longer in chunks.
  public init(head: [UInt8], body: [UInt8], tlsVersion: String?, proxy: String?) throws(UpstreamFailure) {
    let head = try HTTPResponseHead(parsing: head)
    self.init(status: head.status, headers: head.headers, body: body, tlsVersion: tlsVersion, proxy: proxy)
  }
}

/// Makes single HTTP exchanges. The daemon uses libcurl, which keeps connections open between them.
public protocol HTTPRequester: AnyObject {
  /// Starts one exchange. `done` is called exactly once, later, unless the exchange is cancelled before.
  func start(
    _ request: HTTPRequest, _ done: @escaping (Result<HTTPResponse, UpstreamFailure>) -> Void
  ) -> any HTTPExchange
}

/// One HTTP exchange under way. Letting go of it does not end it.
public protocol HTTPExchange: AnyObject {
  /// Ends it; `done` is not called any more. Behind the limit for writing its connection is reset.
  func cancel()
  /// Moves the `writeLimit` of the request: it is looked at right before each system call that writes, and where there
  /// is something to write behind it, the exchange fails.
  func mayWrite(until limit: MonotonicInstant)
}

extension HTTPExchange {
  /// For one that carries nothing of a fleet.
  public func mayWrite(until limit: MonotonicInstant) {}
}

/// One header line of an HTTP request.
public struct HTTPHeader: Hashable, Sendable {
  @ByBytes public var name: String
  @ByBytes public var value: String
  init(name: String, value: String) {
    self.name = name
    self.value = value
  }
}

extension HTTPHeader {
  /// The `User-Agent` of requests whose headers name none.
  public static let defaultUserAgent = "gatewayd/" + GatewayVersion.current
}
