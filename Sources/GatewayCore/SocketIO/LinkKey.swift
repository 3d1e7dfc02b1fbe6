/// What makes two connections share a link: everything that the server sees of it, whose credentials it carries and
/// which limits apply to it. Holds secrets, so it is never shown.
struct LinkKey: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
  /// The HTTP side of a server, which decides about the protocol's revision.
  struct Endpoint: Hashable, Sendable {
    var secure: Bool
    var host: String
    var port: UInt16
    /// Percent-encoded.
    var path: String
  }

  private(set) var endpoint: Endpoint
  /// Percent-encoded, without the protocol's own parameters; empty or beginning with `&`.
  private let query: String
  private var headers: [HTTPHeader]
  /// Headers and query parameters that are read at each connect: by where from, not by value.
  private let sources: [[SecretMember]]
  private let tls: TLSSettings
  private let proxy: ProxySettings
  /// Which redirects are followed.
  let redirects: RedirectPolicy
  /// The upstream's other URLs, in their order; they have none themselves.
  let alternatives: [LinkKey]
  /// Whether a redirect led to another host than the configured one, which gets no credentials in headers.
  private(set) var isForeign = false
  private let auth: AuthSource
  private let owner: UInt32?
  /// What follows a `?` in the namespace: in revision 3 it is no part of the name, and a name stands on a link once.
  private let namespaceQuery: Substring
  /// In the order of preference.
  let transports: [TransportName]
  /// Whether a session that began with long-polling may go on as a WebSocket.
  let upgrades: Bool
  /// Whose link it is alone; nil for a link that is shared.
  private let exclusive: String?
  /// Limit of each phase of a handshake.
  let phaseLimit: Duration
  /// Limit of the last one, the joining of a namespace.
  let joinLimit: Duration
  /// From one part of a message with attachments to the next.
  let attachmentTimeLimit: Duration
  /// For the server's answer when it is asked whether it is still there.
  let probeLimit: Duration
  /// Largest message from the server, in bytes, alone or with its attachments.
  let messageLimit: Int
  /// Most attachments of a message from the server.
  let attachmentLimit: Int
  private let compression: CompressionSettings
  /// How packets are written.
  let parser: ParserName

  init(_ specification: UpstreamSpecification) {
    let url = specification.url
    let settings = specification.settings
    endpoint = Endpoint(
      secure: url.secure, host: url.host, port: url.effectivePort, path: PercentEncoding.path(settings.path))
    query = Self.query(url, settings)
    headers = Self.headers(url, settings)
    sources = [settings.headerSources, settings.querySources]
    tls = settings.tls
    proxy = settings.proxy
    redirects = settings.redirects
    alternatives = settings.alternatives.map { url in
      var other = specification
      other.url = url
      other.settings.alternatives = []
      return LinkKey(other)
    }
    auth = settings.auth
    owner = specification.owner
    namespaceQuery = specification.namespace.drop { $0 != "?" }
    transports = settings.transports
    upgrades = settings.upgrade
    exclusive = settings.forceNew ? "\(specification.name ?? "")\u{0}\(specification.namespace)" : nil
    phaseLimit = settings.handshake
    joinLimit = settings.connectTimeout ?? settings.handshake
    attachmentTimeLimit = settings.attachmentTimeout
    probeLimit = settings.probeTimeout
    messageLimit = settings.messageLimit
    attachmentLimit = settings.attachments
    compression = settings.compression
    parser = settings.parser
  }

  var description: String { "link to \(endpoint.host):\(endpoint.port)" }
  var customMirror: Mirror { Mirror(reflecting: description) }

  /// Scheme, host and port, for people.
  var server: String {
    let host = UpstreamURL.bracketed(endpoint.host)
    let isUsual = endpoint.port == (endpoint.secure ? 443 : 80)
    return "\(endpoint.secure ? "https" : "http")://\(host)" + (isUsual ? "" : ":\(endpoint.port)")
  }

  /// The same at the place that a server redirects to. Headers with credentials do not go to another host.
  func moved(to target: Endpoint) -> LinkKey {
    var moved = self
    moved.endpoint = target
    if target.host != endpoint.host {
      moved.isForeign = true
      moved.headers.removeAll { $0.isCredential }
    }
    return moved
  }

  var verifiesCertificates: Bool { tls.verify }

  /// Largest packet of long-polling: the largest message as base64, with its packet type.
  var packetLimit: Int {
    let (size, overflow) = messageLimit.addingReportingOverflow(messageLimit / 3 + 8)
    return overflow ? .max : size
  }

  /// What to dial in order to speak a revision by a transport; `sid` goes on with a session, `stamp` keeps caches away.
  /// Engine.IO protocol, section "Handshake".
  func request(
    _ revision: EngineIORevision, _ transport: TransportName, sid: String? = nil, stamp: String? = nil
  ) -> DialRequest {
    var target = endpoint.path + "?EIO=\(revision.rawValue)&transport=\(transport.rawValue)"
    if let sid { target += "&sid=" + PercentEncoding.component(sid) }
    if let stamp { target += "&t=" + stamp }
    var request = DialRequest(
      secure: endpoint.secure, host: endpoint.host, port: endpoint.port,
      target: target + query, headers: headers, tls: tls, proxy: proxy,
      phaseLimit: phaseLimit, messageLimit: transport == .websocket ? messageLimit : payloadLimit)
    request.compressionThreshold = transport == .websocket && compression.enabled ? compression.threshold : nil
    return request
  }

  /// Largest body of a poll: room for two of the largest packets.
  private var payloadLimit: Int {
    let (size, overflow) = packetLimit.multipliedReportingOverflow(by: 2)
    return overflow ? .max : size
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

extension HTTPHeader {
  /// Whether it proves who we are.
  var isCredential: Bool { ["authorization", "cookie", "proxy-authorization"].contains(name.lowercased()) }
}
