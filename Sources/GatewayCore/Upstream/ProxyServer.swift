/// By which way the servers of an upstream are reached. Holds secrets: never logged, never shown.
public struct ProxySettings: Hashable, Sendable {
  /// What decides about the proxy.
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
  var port: UInt16
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

extension ProxyServer {
  /// Longest text of a proxy's URL, in bytes.
  static let textLimit = 2_000

  /// From a text such as `http://user:password@proxy.example:3128` or `socks5h://[::1]`. What is wrong is said without
  /// the text, which may hold a password.
  public init(parsing text: String) throws(URLProblem) {
    guard text.utf8.count <= Self.textLimit, text.utf8.allSatisfy({ (33..<127).contains($0) }) else {
      throw URLProblem("the proxy's URL is longer than \(Self.textLimit) bytes, or not printable ASCII")
    }
    guard let mark = text.firstRange(ofText: "://") else {
      throw URLProblem("the proxy's URL has no scheme; write for example http://proxy.example:3128")
    }
    let scheme = text[..<mark.lowerBound].lowercased()
    guard let kind = Kind(rawValue: scheme) else {
      throw URLProblem(
        "the proxy's URL must begin with one of \(Kind.allCases.map { $0.rawValue + "://" }.joined(separator: ", "))")
    }
    var rest = text[mark.upperBound...]
    if rest.hasSuffix("/") { rest.removeLast() }
    guard !rest.contains(where: { "/?#".contains($0) }) else {
      throw URLProblem("the proxy's URL must end with its port")
    }
    var login: [Substring] = []
    if let at = rest.lastIndex(of: "@") {
      login = rest[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      rest = rest[rest.index(after: at)...]
    }
    let (host, port) = try Self.place(rest)
    self.init(
      kind: kind, host: host, port: port, user: login.first.map { PercentEncoding.decode($0) },
      password: login.dropFirst().first.map { PercentEncoding.decode($0) })
  }

  private static func place(_ text: Substring) throws(URLProblem) -> (String, UInt16) {
    var host = text
    var digits = text[text.endIndex...]
    if text.hasPrefix("[") {
      guard let end = text.firstIndex(of: "]") else { throw noHost }
      host = text[text.index(after: text.startIndex)..<end]
      digits = text[text.index(after: end)...]
    } else if let colon = text.firstIndex(of: ":") {
      host = text[..<colon]
      digits = text[colon...]
    }
    let isHost: (UInt8) -> Bool = { $0.isASCIILetterOrDigit || "-._:".utf8.contains($0) }
    guard !host.isEmpty, host.utf8.count <= 253, host.utf8.allSatisfy(isHost) else { throw noHost }
    guard !digits.isEmpty else { return (host.lowercased(), 1_080) }
    guard digits.first == ":", let port = UInt16(digits.dropFirst()), port > 0 else {
      throw URLProblem("the port of the proxy's URL is not a number from 1 to 65535")
    }
    return (host.lowercased(), port)
  }

  private static let noHost = URLProblem("the proxy's URL names no host; write for example http://proxy.example:3128")

  /// The URL, secrets included.
  var urlText: String {
    var login = user.map { PercentEncoding.component($0) } ?? ""
    if let password { login += ":" + PercentEncoding.component(password) }
    return "\(kind.rawValue)://" + (login.isEmpty ? "" : login + "@") + place
  }
}
