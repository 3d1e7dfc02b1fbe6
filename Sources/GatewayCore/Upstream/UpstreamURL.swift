/// The URL of an upstream, taken apart. What its path means is the affair of its kind. Equal where all bytes are.
public struct UpstreamURL: Hashable, Sendable {
  /// Lower case: `http`, `https`, `ws`, `wss` or another kind's, whose part behind the last `+` names the transport.
  @ByBytes var scheme: String
  /// User and password for HTTP basic authentication, percent-decoded; nil when absent. Secret.
  @ByBytes var userInfo: String?
  /// Lower case; an IPv6 address without brackets.
  @ByBytes var host: String
  /// Nil when the URL names none.
  var port: UInt16?
  /// As written, percent-encoding kept; empty or beginning with `/`.
  @ByBytes var path: String
  /// As written, without `?`; nil when absent. May hold secrets.
  @ByBytes var query: String?
  /// Without `#`; nil when absent.
  @ByBytes var fragment: String?

  public init(
    scheme: String, userInfo: String? = nil, host: String, port: UInt16? = nil, path: String = "",
    query: String? = nil, fragment: String? = nil
  ) {
    self.scheme = scheme
    self.userInfo = userInfo
    self.host = host
    self.port = port
    self.path = path
    self.query = query
    self.fragment = fragment
  }

  /// How the server is reached: the scheme, or its part behind the last `+`.
  var transportScheme: Substring {
    scheme[(scheme.lastIndex(of: "+").map { scheme.index(after: $0) } ?? scheme.startIndex)...]
  }

  /// TLS by scheme.
  var secure: Bool { ["https", "wss", "tls"].contains(transportScheme) }

  /// Whether no third party can listen on the way, unless it goes through a proxy: TLS, or no way that leaves the
  /// machine.
  var isPrivate: Bool { secure || Self.isThisMachine(host) }

  /// Whether a host is certainly the machine that we are on. The addresses of no host lead there, too, on Linux.
  static func isThisMachine(_ host: String) -> Bool {
    if isLoopbackName(host) || ["::1", "::", "0.0.0.0"].contains(host) { return true }
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
  }

  /// Whether a name means the loopback everywhere, whatever a name server says: libcurl asks none for these (RFC 6761
  /// section 6.3).
  public static func isLoopbackName(_ host: String) -> Bool { host == "localhost" || host.hasSuffix(".localhost") }

  /// A URL of HTTP or of WebSocket alone, which has no use for a fragment (RFC 6455 section 3).
  var isWeb: Bool { ["http", "https", "ws", "wss"].contains(scheme) }

  /// The port, or the default of HTTP (80, or 443 with TLS).
  var effectivePort: UInt16 { port ?? (secure ? 443 : 80) }

  /// The host as it stands in a URL or a `Host` header: an IPv6 address gets its brackets.
  var bracketedHost: String { Self.bracketed(host) }

  /// A host as it stands in a URL: an IPv6 address in brackets (RFC 3986 section 3.2.2), anything else as it is.
  public static func bracketed(_ host: String) -> String { host.contains(":") ? "[\(host)]" : host }
}

/// Turns the text of a URL into a value. The daemon uses libcurl's URL interface.
public protocol URLReader: AnyObject {
  /// Throws `URLProblem` with a sentence that says what is wrong.
  func read(_ text: String) throws(URLProblem) -> UpstreamURL
}

/// A URL that cannot be used, and why, in one sentence for a person.
public struct URLProblem: Error, Equatable, Sendable {
  public var message: String
  /// Nothing is wrong with the URL: for now none can be read, as while a library is being replaced.
  public var isOfReader = false

  public init(_ message: String) { self.message = message }

  /// That no URL can be read.
  public static func ofReader(_ message: String) -> URLProblem {
    var problem = URLProblem(message)
    problem.isOfReader = true
    return problem
  }
}
