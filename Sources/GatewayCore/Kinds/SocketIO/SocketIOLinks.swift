/// The pool of links: channels with the same key share one. A link enters when it is made for its first channel and
/// leaves when it ends.
final class SocketIOLinks {
  let dialer: any TransportDialer
  let timers: Timers
  let time: any TimeSource
  let random: any RandomSource
  let memory: MemoryBudgets
  let servers: ConfiguredServers
  /// Nil: long-polling is passed over.
  let requester: (any HTTPRequester)?
  private var links: [LinkKey: [SocketIOLink]] = [:]
  private var revisions = ServerMemory<DialTarget.Endpoint, EngineIORevision>()
  private var routes = ServerMemory<LinkKey, Int>()
  private var transports = ServerMemory<DialTarget.Endpoint, TransportName>()
  private var jars = ServerMemory<LinkKey, CookieJar>()
  private var sizeLimits = RefusalMemory<Carrier, Int>()
  /// Of which a POST of several packets was refused.
  private var apart = RefusalMemory<DialTarget.Endpoint, Bool>()

  /// What a limit of size holds for: a proxy that bounds the bodies of requests does not look into a WebSocket.
  private struct Carrier: Hashable {
    var endpoint: DialTarget.Endpoint
    var transport: TransportName
  }

  init(
    dialer: any TransportDialer, requester: (any HTTPRequester)?, timers: Timers, time: any TimeSource,
    random: any RandomSource, memory: MemoryBudgets, servers: ConfiguredServers
  ) {
    self.servers = servers
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
  func setRoute(_ index: Int, of key: LinkKey) { routes[key] = index > 0 ? index : nil }

  /// What worked with a server the last time.
  func revision(of endpoint: DialTarget.Endpoint) -> EngineIORevision? { revisions[endpoint] }

  /// Remembers what worked, or, with nil, forgets what no longer does.
  func setRevision(_ revision: EngineIORevision?, of endpoint: DialTarget.Endpoint) { revisions[endpoint] = revision }

  /// The transport that worked with a server the last time.
  func transport(of endpoint: DialTarget.Endpoint) -> TransportName? { transports[endpoint] }

  func setTransport(_ transport: TransportName, of endpoint: DialTarget.Endpoint) { transports[endpoint] = transport }

  /// The largest message that a server takes, in bytes, if it was seen not to take a larger one.
  func sizeLimit(of endpoint: DialTarget.Endpoint, by transport: TransportName) -> Int? {
    sizeLimits.value(of: Carrier(endpoint: endpoint, transport: transport), at: time.now)
  }

  func setSizeLimit(_ bytes: Int, of endpoint: DialTarget.Endpoint, by transport: TransportName) {
    sizeLimits.note(bytes, of: Carrier(endpoint: endpoint, transport: transport), at: time.now)
  }

  /// Whether packets are posted one by one, because the server refused several together.
  func postsApart(at endpoint: DialTarget.Endpoint) -> Bool { apart.value(of: endpoint, at: time.now) == true }

  func notePostsApart(at endpoint: DialTarget.Endpoint) { apart.note(true, of: endpoint, at: time.now) }

  /// The cookies of links with this key; they outlive the links.
  func cookies(of key: LinkKey) -> CookieJar { jars[key] ?? CookieJar() }

  func changeCookies(of key: LinkKey, _ change: (inout CookieJar) -> Void) {
    var jar = cookies(of: key)
    change(&jar)
    jars[key] = jar.isEmpty ? nil : jar
  }
}
