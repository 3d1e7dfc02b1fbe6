/// The URL of an upstream, taken apart. The path is the namespace, never the HTTP path.
public struct UpstreamURL: Hashable, Sendable {
  /// Lower case: `http`, `https`, `ws`, `wss` or another kind's.
  public var scheme: String
  /// User and password for HTTP basic authentication, percent-decoded; nil when absent. Secret.
  public var userInfo: String?
  /// Lower case; an IPv6 address without brackets.
  public var host: String
  /// Nil when the URL names none.
  public var port: UInt16?
  /// As written, percent-encoding kept; empty or beginning with `/`.
  public var path: String
  /// As written, without `?`; nil when absent. May hold secrets.
  public var query: String?
  /// Without `#`; nil when absent.
  public var fragment: String?

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

  /// TLS by scheme.
  public var secure: Bool { scheme.hasSuffix("s") && scheme != "ws" }

  /// The port, or the scheme's default (80, or 443 with TLS).
  public var effectivePort: UInt16 { port ?? (secure ? 443 : 80) }

  /// The host as it stands in a URL or a `Host` header: an IPv6 address gets its brackets.
  public var bracketedHost: String { Self.bracketed(host) }

  /// A host as it stands in a URL: an IPv6 address in brackets (RFC 3986 section 3.2.2), anything else as it is.
  public static func bracketed(_ host: String) -> String { host.contains(":") ? "[\(host)]" : host }

  /// For `status`, logs and errors: no user info, every query value replaced.
  public var redacted: String {
    var text = "\(scheme)://\(bracketedHost)"
    if let port { text += ":\(port)" }
    text += path
    if let query {
      let pairs = query.split(separator: "&", omittingEmptySubsequences: true).map { pair in
        guard let equals = pair.firstIndex(of: "=") else { return String(pair) }
        return pair[..<equals] + "=***"
      }
      text += "?" + pairs.joined(separator: "&")
    }
    return text
  }
}
