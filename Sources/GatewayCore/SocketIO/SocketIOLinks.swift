/// The pool of links: channels with the same key share one. A link enters when it is made for its first channel and
/// leaves when it ends.
final class SocketIOLinks {
  let dialer: any TransportDialer
  let timers: Timers
  let time: any TimeSource
  private let random: any RandomSource
  private var links: [LinkKey: [SocketIOLink]] = [:]
  private var revisions: [LinkKey.Endpoint: EngineIORevision] = [:]
  private var routes: [LinkKey: Int] = [:]

  /// Most servers whose revision is remembered; beyond it an arbitrary one is forgotten, which costs it one detection.
  private static let revisionLimit = 4_096

  init(dialer: any TransportDialer, timers: Timers, time: any TimeSource, random: any RandomSource) {
    self.dialer = dialer
    self.timers = timers
    self.time = time
    self.random = random
  }

  /// How many links exist.
  var count: Int { links.values.reduce(0) { $0 + $1.count } }

  /// A link that can take this namespace: one that exists, else a new one. A link carries a namespace once at a time.
  func link(for key: LinkKey, namespace: [UInt8]) -> SocketIOLink {
    if let link = links[key]?.first(where: { $0.canCarry(namespace) }) { return link }
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
    if routes[key] == nil, routes.count >= Self.revisionLimit { _ = routes.popFirst() }
    routes[key] = index
  }

  /// What worked with a server the last time.
  func revision(of endpoint: LinkKey.Endpoint) -> EngineIORevision? { revisions[endpoint] }

  /// Remembers what worked, or, with nil, forgets what no longer does.
  func setRevision(_ revision: EngineIORevision?, of endpoint: LinkKey.Endpoint) {
    if revision != nil, revisions[endpoint] == nil, revisions.count >= Self.revisionLimit { _ = revisions.popFirst() }
    revisions[endpoint] = revision
  }
}
