/// Where a link goes, by which transport and in which revision of Engine.IO: one after the other until a server has
/// answered for a namespace, beginning with what worked the last time. It decides, and the link does.
final class SocketIORoute {
  /// What the link has to do next.
  enum Action: Equatable {
    /// Dial, in that revision, what `request` and `dialer` say now. Whatever was dialled before is over.
    case dial(EngineIORevision)
    /// Send nothing, and call `settleTimePassed` after so long.
    case settle(Duration)
    /// The session that was opened for revision 4 speaks revision 3.
    case switchToThree
    /// The server speaks that: the channels may join.
    case join(EngineIORevision)
    case end(UpstreamFailure)
  }

  private let key: LinkKey
  private weak var links: SocketIOLinks?
  private let dialer: any TransportDialer
  private let requester: (any HTTPRequester)?
  private let timers: Timers
  let requests: LinkRequests
  private var routes: LinkRoutes
  private var choice: TransportChoice
  private var detection: RevisionDetection
  /// Whether the server has accepted or refused a namespace: it is the right one.
  private var isAnswered = false

  init(_ key: LinkKey, _ links: SocketIOLinks) {
    self.key = key
    self.links = links
    dialer = links.dialer
    requester = links.requester
    timers = links.timers
    let routes = LinkRoutes(key.places, remembered: links.route(of: key), among: links.servers)
    self.routes = routes
    requests = LinkRequests(key: key.at(routes.current), links: links)
    choice = Self.choice(key, at: routes.current, links)
    detection = RevisionDetection(remembered: links.revision(of: routes.current.endpoint))
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
  /// The revision that is asked for.
  var asked: EngineIORevision { detection.dialled }
  /// What the server speaks, once it is known.
  var revision: EngineIORevision? { detection.revision }

  /// How to dial it.
  func request(_ revision: EngineIORevision) -> DialRequest {
    var request = requests.request(transport, revision, sid: nil)
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

  // MARK: - What the server says

  /// The session is open. `shown` is the revision that the form of the server's answers shows.
  func opened(_ handshake: EngineIOHandshake, shown: EngineIORevision?) -> [Action] {
    let event = shown.map { RevisionDetection.Event.shownHandshake($0) }
    let actions = detect(event ?? .handshake(namesMaxPayload: handshake.maxPayload != nil))
    if revision != nil || detection.state == .settling { works(transport) }
    return actions
  }

  /// The time of `settle` is over.
  func settleTimePassed() -> [Action] { detect(.settleTimePassed) }

  /// A namespace was accepted in a session that was opened for revision 4; revision 3 gives no id.
  func accepted(withID hasID: Bool) -> [Action] { detect(hasID ? .newAnswer : .oldAnswer) }

  /// The main namespace was refused: before it was asked for, by servers of revision 3 alone.
  func mainRefused() -> [Action] { detection.state == .settling ? detect(.oldAnswer) : [] }

  /// A namespace was accepted or refused.
  func answered() {
    guard !isAnswered else { return }
    isAnswered = true
    links?.setRoute(routes.index, of: key)
  }

  private func detect(_ event: RevisionDetection.Event) -> [Action] {
    detection.handle(event).flatMap { action -> [Action] in
      switch action {
      case .redial(let revision): return [.dial(revision)]
      case .settle(let delay): return [.settle(delay)]
      case .switchToThree: return [.switchToThree]
      case .join: return revision.map { [.join($0)] } ?? []
      case .remember(let revision): links?.setRevision(revision, of: endpoint)
      case .forget: links?.setRevision(nil, of: endpoint)
      case .fail(let failure): return failed(failure)
      }
      return []
    }
  }

  // MARK: - After a failure

  /// The transport is gone. `wasOpen`: the server had accepted it.
  func ended(_ failure: TransportFailure, wasOpen: Bool) -> [Action] {
    if !isAnswered, let step = routes.redirected(failure.failure, failure.headers) { return go(step) }
    let explained = EngineIORefusal.explain(failure, transport)
    guard case .dialling = detection.state else { return failed(explained) }
    if failure.failure.reason == .http, EngineIORefusal(body: failure.httpBody) == .unsupportedRevision {
      return detect(.revisionRefused)
    }
    let told =
      wasOpen && transport == .websocket ? explained.closing(before: "its Engine.IO handshake") : explained
    switch choice.failed(told, beforeHTTP: failure.isBeforeHTTP) {
    case .tryNext: return dial()
    case .giveUp(let conclusion): return failed(conclusion)
    }
  }

  /// What follows when no namespace was answered in time; nothing where that concerns the one namespace and not the
  /// whole place: several URLs must be configured, and this one must have answered for none yet.
  func unanswered(_ failure: UpstreamFailure) -> [Action] {
    isAnswered || key.places.count < 2 ? [] : failed(failure)
  }

  /// The present place has failed. As long as no namespace was answered, another URL may do better.
  private func failed(_ failure: UpstreamFailure) -> [Action] {
    isAnswered ? [.end(failure)] : go(routes.failed(failure))
  }

  private func go(_ step: LinkRoutes.Step) -> [Action] {
    if case .giveUp(let failure) = step { return [.end(failure)] }
    requests.move(to: routes.current)
    if let links { choice = Self.choice(key, at: routes.current, links) }
    return dial()
  }

  private func dial() -> [Action] {
    detection = RevisionDetection(remembered: links?.revision(of: endpoint))
    return [.dial(asked)]
  }

  // MARK: - What is remembered

  /// A transport carries a session.
  func works(_ transport: TransportName) { links?.setTransport(transport, of: endpoint) }

  /// The largest message that the server was seen to take.
  func sizeLimit(by transport: TransportName) -> Int? { links?.sizeLimit(of: endpoint, by: transport) }

  /// The server refuses messages from a size on.
  func note(_ refusal: PacketWriter.Refusal) {
    links?.setSizeLimit(refusal.limit, of: endpoint, by: refusal.transport)
  }
}
