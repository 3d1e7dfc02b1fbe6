/// Where a link goes and by which transport: one place and transport after the other until a server has answered for a
/// namespace, beginning with what worked the last time.
final class LinkAttempt {
  private let key: LinkKey
  private weak var links: SocketIOLinks?
  private let dialer: any TransportDialer
  private let requester: (any HTTPRequester)?
  private let timers: Timers
  let requests: LinkRequests
  private var routes: LinkRoutes
  private var choice: TransportChoice
  /// Whether the server has accepted or refused a namespace: it is the right one.
  private var isAnswered = false

  init(_ key: LinkKey, _ links: SocketIOLinks) {
    self.key = key
    self.links = links
    dialer = links.dialer
    requester = links.requester
    timers = links.timers
    let routes = LinkRoutes(key.places, remembered: links.route(of: key))
    self.routes = routes
    requests = LinkRequests(key: key.at(routes.current), links: links)
    choice = Self.choice(key, at: routes.current, links)
  }

  /// The order of transports at a place.
  private static func choice(_ key: LinkKey, at place: DialTarget, _ links: SocketIOLinks) -> TransportChoice {
    TransportChoice(
      order: key.transports.filter { $0 != .polling || links.requester != nil },
      remembered: links.transport(of: place.endpoint), upgrades: key.upgrades)
  }

  /// Scheme, host and port, for people.
  var server: String { routes.current.server }
  private var endpoint: DialTarget.Endpoint { routes.current.endpoint }

  // MARK: - Dialling

  /// What is dialled.
  var transport: TransportName { choice.current }

  /// How to dial it.
  func request(_ revision: EngineIORevision) -> DialRequest {
    var request = requests.request(transport, revision)
    if choice.isHurried { request.fallbackLimit = key.at(routes.current).fallbackLimit }
    return request
  }

  /// What makes the transport.
  func dialer(_ revision: EngineIORevision) -> any TransportDialer {
    guard transport == .polling, let requester else { return dialer }
    return PollingDialer(
      revision: revision, requests: requests, requester: requester, timers: timers,
      webSockets: choice.mayUpgrade ? dialer : nil)
  }

  // MARK: - After a failure

  /// The present place has failed. As long as no namespace was answered, another URL may do better.
  func failed(_ failure: UpstreamFailure) -> LinkRoutes.Step {
    isAnswered ? .giveUp(failure) : begin(routes.failed(failure))
  }

  /// The transport failed before the server's handshake: another one may do better.
  func transportFailed(_ failure: UpstreamFailure, beforeHTTP: Bool) -> LinkRoutes.Step {
    switch choice.failed(failure, beforeHTTP: beforeHTTP) {
    case .tryNext: .dial
    case .giveUp(let conclusion): failed(conclusion)
    }
  }

  /// What follows from a redirect; nil for a failure that is none, or is not dealt with here.
  func redirected(_ failure: TransportFailure) -> LinkRoutes.Step? {
    guard !isAnswered, let step = routes.redirected(failure.failure, failure.headers) else { return nil }
    if case .giveUp(let conclusion) = step { return failed(conclusion) }
    return begin(step)
  }

  /// What follows when no namespace was answered in time; nil where that concerns the one namespace and not the whole
  /// place: several URLs must be configured, and this one must have answered for none yet.
  func unanswered(_ failure: UpstreamFailure) -> LinkRoutes.Step? {
    isAnswered || key.places.count < 2 ? nil : failed(failure)
  }

  private func begin(_ step: LinkRoutes.Step) -> LinkRoutes.Step {
    guard step == .dial, let links else { return step }
    requests.move(to: routes.current)
    choice = Self.choice(key, at: routes.current, links)
    return step
  }

  // MARK: - What is remembered

  /// A namespace was accepted or refused.
  func answered() {
    guard !isAnswered else { return }
    isAnswered = true
    links?.setRoute(routes.index, of: key)
  }

  /// The revision that the server spoke the last time; nil forgets it.
  var revision: EngineIORevision? {
    get { links?.revision(of: endpoint) }
    set { links?.setRevision(newValue, of: endpoint) }
  }

  /// A transport carries a session.
  func works(_ transport: TransportName) { links?.setTransport(transport, of: endpoint) }

  /// The largest message that the server was seen to take.
  func sizeLimit(by transport: TransportName) -> Int? { links?.sizeLimit(of: endpoint, by: transport) }

  /// The server refuses messages from a size on.
  func note(_ refusal: PacketWriter.Refusal) {
    links?.setSizeLimit(refusal.limit, of: endpoint, by: refusal.transport)
  }
}
