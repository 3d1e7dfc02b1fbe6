/// Where an attempt goes: through the URLs of an upstream in turn, and along redirects where they may be followed. What
/// a redirect named is forgotten with the link. Decision 0014.
struct LinkRoutes {
  enum Step: Equatable {
    /// Dial `current`.
    case dial
    /// Nothing is left; with several URLs the failure says what became of each.
    case giveUp(UpstreamFailure)
  }

  private struct Attempt {
    var server: String
    var failure: UpstreamFailure
  }

  /// Most redirects in a row.
  static let redirectLimit = 5
  /// Longest part of a failure's detail about one of several URLs, in bytes.
  static let detailLimit = 160

  /// The place that is dialled now.
  private(set) var current: DialTarget
  /// Which of the URLs that place belongs to, counted from 0.
  private(set) var index: Int
  private let places: [DialTarget]
  private var left: [Int]
  private var attempts: [Attempt] = []
  private var redirects = 0
  /// No redirect leads to one of these that is not the upstream's own.
  private let servers: ConfiguredServers

  /// Begins with the URL that worked the last time, else with the first. `places` is not empty.
  init(_ places: [DialTarget], remembered: Int?, among servers: ConfiguredServers = ConfiguredServers()) {
    self.places = places
    self.servers = servers
    let first = remembered.flatMap { places.indices.contains($0) ? $0 : nil } ?? 0
    index = first
    current = places[first]
    left = places.indices.filter { $0 != first }
  }

  /// The present place failed, for good, before the server had accepted or refused us.
  mutating func failed(_ failure: UpstreamFailure) -> Step {
    attempts.append(Attempt(server: places[index].server, failure: failure))
    guard Self.othersMayDoBetter(failure), let next = left.first else { return .giveUp(conclusion(failure)) }
    left.removeFirst()
    index = next
    current = places[next]
    redirects = 0
    return .dial
  }

  /// The present place answered with a redirect, which counts as its failure where it must not be followed. Nil when
  /// the failure is none, or when its own words are right: redirects are not to be followed at all, or name no place.
  mutating func redirected(_ failure: UpstreamFailure, _ headers: [HTTPHeader]) -> Step? {
    guard current.redirects != .never, let status = failure.status, [301, 302, 303, 307, 308].contains(status),
      let location = headers.first(where: { $0.name == "location" })?.value,
      let target = target(of: location)
    else { return nil }
    if let obstacle = obstacle(to: target) {
      let place = current.moved(to: target).server
      let detail = "the server redirects to \(place) (HTTP \(status)), which is not followed: \(obstacle)"
      return failed(UpstreamFailure(.http, detail, status: status))
    }
    redirects += 1
    current = current.moved(to: target)
    return .dial
  }

  /// Nil when the text names no place that could be dialled.
  private func target(of location: String) -> DialTarget.Endpoint? {
    guard var target = RedirectTarget.endpoint(location, from: current.endpoint),
      let host = servers.host(target.host)
    else { return nil }
    target.host = host
    return target
  }

  private func obstacle(to target: DialTarget.Endpoint) -> String? {
    if redirects >= Self.redirectLimit { return "it is the \(Self.redirectLimit + 1)th redirect in a row" }
    if current.endpoint.secure, !target.secure { return "it leads from TLS to plain text" }
    if current.redirects == .sameHost, target.host != current.endpoint.host { return "it is another host" }
    let address = ServerAddress(host: target.host, port: target.port)
    let isOwn = places.contains { ServerAddress(host: $0.endpoint.host, port: $0.endpoint.port) == address }
    if !isOwn, servers.contains(address) { return "it is the server of another configured upstream" }
    return nil
  }

  /// What refuses us, or what we lack, would be the same at every place.
  private static func othersMayDoBetter(_ failure: UpstreamFailure) -> Bool {
    switch failure.reason {
    case .http: !failure.isRefusal
    case .unreachable, .tls, .incompatible, .closed, .timeout, .protocolError, .heartbeat: true
    case .idle, .requested, .offline, .refused, .kicked, .tooLarge, .auth, .fleet, .draining: false
    }
  }

  /// The last failure gives the reason, and the place that asks for the longest rest gets it.
  private func conclusion(_ last: UpstreamFailure) -> UpstreamFailure {
    guard attempts.count > 1 else { return last }
    var failure = last
    failure.retryAfter = attempts.compactMap(\.failure.retryAfter).max()
    failure.detail = attempts.map { "\($0.server): \($0.failure.detail.shortened(to: Self.detailLimit))" }.joined(
      separator: "; ")
    return failure
  }
}
