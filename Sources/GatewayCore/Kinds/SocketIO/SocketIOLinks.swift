/// The pool of links: channels with the same key share one. A link enters when it is made for its first channel and
/// leaves when it ends.
final class SocketIOLinks {
  let dialer: any TransportDialer
  let timers: Timers
  let time: any TimeSource
  let random: any RandomSource
  let memory: MemoryBudgets
  /// Nil: long-polling is passed over.
  let requester: (any HTTPRequester)?
  private var links: [LinkKey: [SocketIOLink]] = [:]
  private var revisions: [DialTarget.Endpoint: EngineIORevision] = [:]
  private var routes: [LinkKey: Int] = [:]
  private var transports: [DialTarget.Endpoint: TransportName] = [:]
  private var jars: [LinkKey: CookieJar] = [:]
  private var sizeLimits: [Carrier: (bytes: Int, until: MonotonicInstant)] = [:]
  private var apart: [DialTarget.Endpoint: MonotonicInstant] = [:]

  /// What a limit of size holds for: a proxy that bounds the bodies of requests does not look into a WebSocket.
  private struct Carrier: Hashable {
    var endpoint: DialTarget.Endpoint
    var transport: TransportName
  }

  /// How long a limit counts that a server showed by refusing: it may be raised.
  private static let sizeLimitTime: Duration = .seconds(3_600)

  /// Most servers of which something is remembered; beyond it an arbitrary one is forgotten, which costs it one detection.
  private static let memoryLimit = 4_096

  init(
    dialer: any TransportDialer, requester: (any HTTPRequester)?, timers: Timers, time: any TimeSource,
    random: any RandomSource, memory: MemoryBudgets
  ) {
    self.memory = memory
    self.dialer = dialer
    self.requester = requester
    self.timers = timers
    self.time = time
    self.random = random
  }

  /// A random number in 0 ..< 1.
  func fraction() -> Double { random.fraction() }

  /// How many links exist.
  var count: Int { links.values.reduce(0) { $0 + $1.count } }

  /// A link that can take this namespace: one that exists, else a new one. A link carries a namespace once at a time.
  /// - Parameter sent: what its HTTP requests must have carried; nil for no matter what.
  func link(for key: LinkKey, namespace: [UInt8], sent: ConnectSecrets? = nil) -> SocketIOLink {
    if let link = links[key]?.first(where: { $0.canCarry(namespace) && $0.hasSent(sent) }) { return link }
    let link = SocketIOLink(id: random.uuid(), key: key, links: self)
    links[key, default: []].append(link)
    return link
  }

  /// Forgets a link that has ended.
  func remove(_ link: SocketIOLink) {
    links[link.key]?.removeAll { $0 === link }
    if links[link.key]?.isEmpty == true { links[link.key] = nil }
  }

  /// Which of the upstream's URLs worked the last time; nil for the first.
  func route(of key: LinkKey) -> Int? { routes[key] }

  /// Remembers that one.
  func setRoute(_ index: Int, of key: LinkKey) {
    guard index > 0 else { return routes[key] = nil }
    if routes[key] == nil, routes.count >= Self.memoryLimit { _ = routes.popFirst() }
    routes[key] = index
  }

  /// What worked with a server the last time.
  func revision(of endpoint: DialTarget.Endpoint) -> EngineIORevision? { revisions[endpoint] }

  /// Remembers what worked, or, with nil, forgets what no longer does.
  func setRevision(_ revision: EngineIORevision?, of endpoint: DialTarget.Endpoint) {
    if revision != nil, revisions[endpoint] == nil, revisions.count >= Self.memoryLimit { _ = revisions.popFirst() }
    revisions[endpoint] = revision
  }

  /// The transport that worked with a server the last time.
  func transport(of endpoint: DialTarget.Endpoint) -> TransportName? { transports[endpoint] }

  func setTransport(_ transport: TransportName, of endpoint: DialTarget.Endpoint) {
    if transports[endpoint] == nil, transports.count >= Self.memoryLimit { _ = transports.popFirst() }
    transports[endpoint] = transport
  }

  /// The largest message that a server takes, in bytes, if it was seen not to take a larger one.
  func sizeLimit(of endpoint: DialTarget.Endpoint, by transport: TransportName) -> Int? {
    sizeLimits[Carrier(endpoint: endpoint, transport: transport)].flatMap { time.now < $0.until ? $0.bytes : nil }
  }

  func setSizeLimit(_ bytes: Int, of endpoint: DialTarget.Endpoint, by transport: TransportName) {
    let carrier = Carrier(endpoint: endpoint, transport: transport)
    if sizeLimits[carrier] == nil, sizeLimits.count >= Self.memoryLimit { _ = sizeLimits.popFirst() }
    sizeLimits[carrier] = (bytes, time.now + Self.sizeLimitTime)
  }

  /// Whether packets are posted one by one, because the server refused several together.
  func postsApart(at endpoint: DialTarget.Endpoint) -> Bool {
    guard !apart.isEmpty, let until = apart[endpoint] else { return false }
    return time.now < until
  }

  func notePostsApart(at endpoint: DialTarget.Endpoint) {
    if apart[endpoint] == nil, apart.count >= Self.memoryLimit { _ = apart.popFirst() }
    apart[endpoint] = time.now + Self.sizeLimitTime
  }

  /// The cookies of links with this key; they outlive the links.
  func cookies(of key: LinkKey) -> CookieJar { jars[key] ?? CookieJar() }

  func changeCookies(of key: LinkKey, _ change: (inout CookieJar) -> Void) {
    if jars[key] == nil, jars.count >= Self.memoryLimit { _ = jars.popFirst() }
    var jar = cookies(of: key)
    change(&jar)
    jars[key] = jar.isEmpty ? nil : jar
  }
}
