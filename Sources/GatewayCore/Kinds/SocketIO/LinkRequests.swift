/// Makes the HTTP requests of one link, all with the cookies that the server has set so far, and collects new ones.
final class LinkRequests {
  private(set) var key: LinkKey
  private let links: SocketIOLinks
  /// What the credentials' sources gave when the link was made: every request carries it. Nil before that.
  var secrets: ConnectSecrets?

  init(key: LinkKey, links: SocketIOLinks) {
    self.key = key
    self.links = links
  }

  var memory: MemoryBudgets { links.memory }

  /// Whether the server refused a POST of several packets that may be small enough each.
  var postsApart: Bool { links.postsApart(at: key.place.endpoint) }

  func notePostsApart() { links.notePostsApart(at: key.place.endpoint) }

  /// The attempt goes on at another place, with the cookies of that one.
  func move(to place: DialTarget) { key = key.at(place) }

  /// One request of this moment; `sid` belongs to a session that is open.
  func request(_ transport: TransportName, _ revision: EngineIORevision, sid: String? = nil) -> DialRequest {
    let stamp = transport == .polling ? String(links.random.bits() >> 12, radix: 36) : nil
    return key.request(revision, transport, sid: sid, stamp: stamp).adding(secrets, at: key.place)
      .adding(links.cookies(of: key), at: key.place, now: links.time.wallMilliseconds)
  }

  /// Takes the cookies out of an answer's header lines.
  func heard(_ headers: [HTTPHeader]) {
    guard headers.contains(where: { $0.name == "set-cookie" }) else { return }
    links.changeCookies(of: key) { $0.store(headers, from: key.place, now: links.time.wallMilliseconds) }
  }
}
