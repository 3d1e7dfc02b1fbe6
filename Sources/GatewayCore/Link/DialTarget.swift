/// Where a server is, what a connection to it carries from the configuration, and how it is made: everything about one
/// of an upstream's URLs that no kind adds to. Holds secrets, so it is never shown.
struct DialTarget: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
  /// The place itself.
  struct Endpoint: Hashable, Sendable {
    var secure: Bool
    var host: String
    var port: UInt16
    /// Percent-encoded; empty where the transport has no requests.
    var path: String
  }

  private(set) var endpoint: Endpoint
  /// Percent-encoded, without the parameters that the kind adds; empty or beginning with `&`.
  private let query: String
  private var headers: [HTTPHeader]
  /// Headers and query parameters that are read at each connect: by where from, not by value.
  private let sources: [[SecretMember]]
  private var tls: TLSSettings
  private let proxy: ProxySettings
  /// Which redirects are followed.
  let redirects: RedirectPolicy
  /// Whether a redirect led to another host than the configured one, which gets no credentials in headers.
  private(set) var isForeign = false
  /// Limit of each phase of a handshake.
  let phaseLimit: Duration
  /// Largest message from the server, in bytes.
  let messageLimit: Int
  /// Most bytes of answers that wait for a server which does not read them.
  let answerLimit: Int
  /// From the first byte of a message to its last.
  private let messageTimeLimit: Duration
  /// On whose account a link to it holds memory.
  private(set) var account = Account.configuration
  private let compression: CompressionSettings
  /// Whether a connection begins with an HTTP request.
  private let isWeb: Bool
  private let schemes: URLSchemes

  /// - Parameter path: of the HTTP request, not yet percent-encoded.
  init(_ url: UpstreamURL, path: String, _ settings: UpstreamSettings) {
    endpoint = Endpoint(
      secure: url.secure, host: url.host, port: url.effectivePort, path: PercentEncoding.path(path))
    query = Self.query(url, settings)
    headers = Self.headers(url, settings)
    sources = [settings.headerSources, settings.querySources]
    tls = settings.tls
    proxy = settings.proxy
    redirects = settings.redirects
    phaseLimit = settings.handshake
    messageLimit = settings.messageLimit
    answerLimit = settings.answerLimit
    messageTimeLimit = settings.messageTimeout
    compression = settings.compression
    isWeb = !["tcp", "tls"].contains(url.transportScheme)
    schemes = URLSchemes(of: url)
  }

  /// All places of an upstream, the preferred one first. `path` makes the path of a request from a URL.
  static func all(of specification: UpstreamSpecification, path: (UpstreamURL) -> String) -> [DialTarget] {
    ([specification.url] + specification.settings.alternatives).map {
      var place = DialTarget($0, path: path($0), specification.settings)
      place.account = specification.account
      return place
    }
  }

  var description: String { "\(endpoint.host):\(endpoint.port)" }
  var customMirror: Mirror { Mirror(reflecting: description) }

  /// Scheme, host and port, for people.
  var server: String {
    let host = UpstreamURL.bracketed(endpoint.host)
    if !isWeb { return "\(endpoint.secure ? "tls" : "tcp")://\(host):\(endpoint.port)" }
    let isUsual = endpoint.port == (endpoint.secure ? 443 : 80)
    return "\(endpoint.secure ? "https" : "http")://\(host)" + (isUsual ? "" : ":\(endpoint.port)")
  }

  /// The same at the place that a server redirects to. What was configured for the server that we know is not for
  /// another host: no header, whatever it is for, no client certificate, and no trust that is not checked.
  func moved(to target: Endpoint) -> DialTarget {
    var moved = self
    moved.endpoint = target
    if target.host != endpoint.host {
      moved.isForeign = true
      moved.headers = []
      moved.tls = tls.forStrangers
    }
    return moved
  }

  var verifiesCertificates: Bool { tls.verify }

  /// Whether the configuration says by which proxy it is reached, and not the environment.
  var namesProxy: Bool {
    if case .server = proxy.choice { true } else { false }
  }

  /// How to dial. `parameters` is what the kind puts in front of the query, percent-encoded, without `?`.
  func request(parameters: String = "") -> DialRequest {
    let query = parameters.isEmpty ? String(query.dropFirst()) : parameters + query
    var request = DialRequest(
      secure: endpoint.secure, host: endpoint.host, port: endpoint.port,
      target: endpoint.path + (query.isEmpty ? "" : "?" + query), headers: headers, tls: tls, proxy: proxy,
      phaseLimit: phaseLimit, messageLimit: messageLimit)
    request.answerLimit = answerLimit
    request.messageTimeLimit = messageTimeLimit
    request.account = account
    request.schemes = schemes
    request.compressionThreshold = compression.enabled ? compression.threshold : nil
    return request
  }

  private static func query(_ url: UpstreamURL, _ settings: UpstreamSettings) -> String {
    var query = ""
    for item in settings.query {
      query += "&\(PercentEncoding.component(item.name))=\(PercentEncoding.component(item.value))"
    }
    if let own = url.query, !own.isEmpty { query += "&" + PercentEncoding.query(own) }
    return query
  }

  /// User info becomes basic authentication (RFC 7617).
  private static func headers(_ url: UpstreamURL, _ settings: UpstreamSettings) -> [HTTPHeader] {
    guard let userInfo = url.userInfo else { return settings.headers }
    let credentials = [UInt8]((userInfo.contains(":") ? userInfo : userInfo + ":").utf8)
    var encoded: [UInt8] = []
    Base64.encode(credentials.span.bytes, into: &encoded)
    let value = "Basic " + String(decoding: encoded, as: UTF8.self)
    return settings.headers + [HTTPHeader(name: "Authorization", value: value)]
  }
}

extension TLSSettings {
  /// What of them is for another host than the configured one: which authorities are trusted, and how strictly.
  fileprivate var forStrangers: TLSSettings {
    var settings = TLSSettings()
    (settings.ca, settings.minimum, settings.pins) = (ca, minimum, pins)
    return settings
  }
}

/// What a request of a link gets beyond the configuration: secrets that were read for the attempt, and cookies.
extension DialRequest {
  /// With the headers and query parameters that were read. What was declared to be a secret does not go to a host that
  /// a redirect named.
  func adding(_ secrets: ConnectSecrets?, at place: DialTarget) -> DialRequest {
    guard var secrets else { return self }
    if place.isForeign { secrets.headers = [] }
    return adding(secrets)
  }

  /// With the cookies that the server has set so far.
  func adding(_ cookies: CookieJar, at place: DialTarget, now: Int64) -> DialRequest {
    guard let text = cookies.header(path: place.endpoint.path, now: now) else { return self }
    var request = self
    if let own = headers.firstIndex(where: { $0.name.lowercased() == "cookie" }) {
      request.headers[own].value += "; " + text
    } else {
      request.headers.append(HTTPHeader(name: "Cookie", value: text))
    }
    return request
  }
}

extension CookieJar {
  /// Takes the cookies out of an answer's header lines.
  mutating func store(_ headers: [HTTPHeader], from place: DialTarget, now: Int64) {
    let endpoint = place.endpoint
    store(
      headers,
      from: Cookie.Origin(host: endpoint.host, path: endpoint.path, isSecure: endpoint.secure, now: now))
  }
}

/// Whether a server of any kind could be dialled, judged before it is.
enum LinkCheck {
  /// Why it could not, as a sentence; nil when it could.
  static func problem(with specification: UpstreamSpecification) -> String? {
    let (url, settings) = (specification.url, specification.settings)
    guard !url.host.isEmpty else { return "the URL names no host" }
    let headers = settings.headers.map(\.name) + settings.headerSources.map(\.name)
    if url.userInfo != nil, headers.contains(where: { $0.lowercased() == "authorization" }) {
      return "the URL has a user name and the configuration an Authorization header: only one of them can be sent"
    }
    return nil
  }
}
