/// By which way the servers of an upstream are reached. Holds secrets: never logged, never shown.
public struct ProxySettings: Hashable, Sendable {
  /// Who decides about the proxy.
  public enum Choice: Hashable, Sendable {
    /// The usual variables of the daemon's environment: `http_proxy`, `https_proxy`, `all_proxy`, `no_proxy`.
    case environment
    /// No proxy, whatever the environment says.
    case none
    case server(ProxyServer)
  }

  public var choice = Choice.environment
  /// File with the password for the proxy, read at each connect; nil means the one of the proxy's URL.
  public var passwordFile: String?
  /// Hosts that are reached without a proxy: names with all that is below them, addresses, networks such as
  /// `10.0.0.0/8`, or `*`. Nil means those of the environment, where the proxy comes from there too.
  public var exceptions: [String]?

  init() {}
}

/// One proxy.
public struct ProxyServer: Hashable, Sendable {
  /// How it is spoken to. The raw value is the scheme of its URL.
  public enum Kind: String, CaseIterable, Sendable {
    /// A tunnel by HTTP CONNECT (RFC 9110 section 9.3.6), for servers without TLS too.
    case http
    /// SOCKS 5 (RFC 1928); we look up the server's name.
    case socks5
    /// SOCKS 5; the proxy looks up the server's name.
    case socks5h
  }

  public var kind: Kind
  /// Host name or address; an IPv6 address without brackets.
  public var host: String
  public var port: UInt16
  /// Percent-decoded; nil means that the proxy is used without a login. Secret.
  public var user: String?
  /// Percent-decoded. Secret.
  public var password: String?

  public init(kind: Kind, host: String, port: UInt16, user: String? = nil, password: String? = nil) {
    self.kind = kind
    self.host = host
    self.port = port
    self.user = user
    self.password = password
  }

  /// Host and port as they are shown: no user, no password.
  public var place: String { UpstreamURL.bracketed(host) + ":\(port)" }
}
