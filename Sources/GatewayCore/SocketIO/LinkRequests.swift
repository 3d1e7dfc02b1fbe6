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

  /// The attempt goes on at another place, with the cookies of that one.
  func move(to key: LinkKey) { self.key = key }

  /// One request of this moment; `sid` belongs to a session that is open.
  func request(_ transport: TransportName, _ revision: EngineIORevision, sid: String? = nil) -> DialRequest {
    let stamp = transport == .polling ? String(links.random.bits() >> 12, radix: 36) : nil
    var request = key.request(revision, transport, sid: sid, stamp: stamp)
    if var secrets {
      // What was declared to be a secret does not go to a host that a redirect named.
      if key.isForeign { secrets.headers = [] }
      request = request.adding(secrets)
    }
    let now = links.time.wallMilliseconds
    guard let cookies = links.cookies(of: key).header(path: key.endpoint.path, now: now) else { return request }
    if let own = request.headers.firstIndex(where: { $0.name.lowercased() == "cookie" }) {
      request.headers[own].value += "; " + cookies
    } else {
      request.headers.append(HTTPHeader(name: "Cookie", value: cookies))
    }
    return request
  }

  /// Takes the cookies out of an answer's header lines.
  func heard(_ headers: [HTTPHeader]) {
    guard headers.contains(where: { $0.name == "set-cookie" }) else { return }
    let origin = Cookie.Origin(
      host: key.endpoint.host, path: key.endpoint.path, isSecure: key.endpoint.secure,
      now: links.time.wallMilliseconds)
    links.changeCookies(of: key) { $0.store(headers, from: origin) }
  }
}
