/// What makes two connections share a link: everything that the server sees of it, whose credentials it carries and
/// which limits apply to it. Holds secrets, so it is never shown.
struct LinkKey: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
  /// Where the link goes.
  private(set) var place: DialTarget
  /// All places where it may go, the preferred one first.
  let places: [DialTarget]
  private let auth: AuthSource
  private let owner: UInt32?
  /// What follows a `?` in the namespace: in revision 3 it is no part of the name, and a name stands on a link once.
  @ByBytes private var namespaceQuery: String
  /// In the order of preference.
  let transports: [TransportName]
  /// Whether a session that began with long-polling may go on as a WebSocket.
  let upgrades: Bool
  /// Whose link it is alone; nil for a link that is shared.
  @ByBytes private var exclusive: String?
  /// Limit of the last phase of a handshake, the joining of a namespace.
  let joinLimit: Duration
  /// From one part of a message with attachments to the next.
  let attachmentTimeLimit: Duration
  /// For the server's answer when it is asked whether it is still there.
  let probeLimit: Duration
  /// Most attachments of a message from the server.
  let attachmentLimit: Int
  /// How packets are written.
  let parser: ParserName

  init(_ specification: UpstreamSpecification) {
    let settings = specification.settings
    places = DialTarget.all(of: specification) { _ in settings.path }
    place = places[0]
    auth = settings.auth
    owner = specification.owner
    namespaceQuery = String(specification.namespace.parts(before: "?").1)
    transports = settings.transports
    upgrades = settings.upgrade
    exclusive = settings.forceNew ? "\(specification.name ?? "")\u{0}\(specification.namespace)" : nil
    joinLimit = settings.connectTimeout ?? settings.handshake
    attachmentTimeLimit = settings.attachmentTimeout
    probeLimit = settings.probeTimeout
    attachmentLimit = settings.attachments
    pingLimit = settings.pingLimit
    parser = settings.parser
  }

  var description: String { "link to \(place)" }
  var customMirror: Mirror { Mirror(reflecting: description) }

  /// The same link at another of its places.
  func at(_ place: DialTarget) -> LinkKey {
    var key = self
    key.place = place
    return key
  }

  /// Limit of a phase of a handshake where something can be fallen back on. A third of the usual one, so that what
  /// follows is there in good time for a request that waits no longer than one phase.
  var fallbackLimit: Duration { place.phaseLimit / 3 }
  /// Largest message from the server, in bytes, alone or with its attachments.
  var messageLimit: Int { place.messageLimit }
  /// On whose account its links hold memory.
  var account: Account { place.account }
  /// Longest ping times that the server may name.
  let pingLimit: Duration

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
    var parameters = "EIO=\(revision.rawValue)&transport=\(transport.rawValue)"
    if let sid { parameters += "&sid=" + PercentEncoding.component(sid) }
    if let stamp { parameters += "&t=" + stamp }
    var request = place.request(parameters: parameters)
    guard transport == .polling else { return request }
    request.messageLimit = payloadLimit
    request.compressionThreshold = nil
    return request
  }

  /// Largest body of a poll: room for two of the largest packets.
  private var payloadLimit: Int {
    let (size, overflow) = packetLimit.multipliedReportingOverflow(by: 2)
    return overflow ? .max : size
  }
}

/// Makes the HTTP requests of one link, all with the cookies that the server has set so far, and collects new ones.
final class LinkRequests: PollingRequests {
  private(set) var key: LinkKey
  private let links: SocketIOLinks
  /// What the credentials' sources gave when the link was made: every request carries it. Nil before that.
  var secrets: ConnectSecrets?

  init(key: LinkKey, links: SocketIOLinks) {
    self.key = key
    self.links = links
  }

  var place: DialTarget { key.place }
  var fallbackLimit: Duration { key.fallbackLimit }
  var packetLimit: Int { key.packetLimit }
  var pingLimit: Duration { key.pingLimit }
  var memory: MemoryBudgets { links.memory }

  var postsApart: Bool { links.postsApart(at: key.place.endpoint) }

  func notePostsApart() { links.notePostsApart(at: key.place.endpoint) }

  /// Whether they carry what HTTP requests carry of these secrets, as far as there are any yet.
  func carry(_ wanted: ConnectSecrets) -> Bool {
    secrets.map { $0.headers == wanted.headers && $0.query == wanted.query } ?? true
  }

  /// The attempt goes on at another place, with the cookies of that one.
  func move(to place: DialTarget) { key = key.at(place) }

  func request(_ transport: TransportName, _ revision: EngineIORevision, sid: String?) -> DialRequest {
    let stamp = transport == .polling ? String(links.random.bits() >> 12, radix: 36) : nil
    return key.request(revision, transport, sid: sid, stamp: stamp).adding(secrets, at: key.place)
      .adding(links.cookies(of: key), at: key.place, now: links.time.wallMilliseconds)
  }

  func heard(_ headers: [HTTPHeader]) {
    guard headers.contains(where: { $0.name == "set-cookie" }) else { return }
    links.changeCookies(of: key) { $0.store(headers, from: key.place, now: links.time.wallMilliseconds) }
  }
}
