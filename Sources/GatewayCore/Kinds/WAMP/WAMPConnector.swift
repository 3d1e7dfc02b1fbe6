/// Prepares the messages of one WAMP connection and dials its sessions.
final class WAMPConnector: UpstreamConnector {
  private let way: DirectConnectorState
  private let settings: WAMPConversation.Settings
  private let authID: String?
  private let heartbeat: HeartbeatSettings
  private let cryptography: any Cryptography
  private let offers = WAMPOffers()

  init(_ specification: UpstreamSpecification, seams: DirectSeams, cryptography: any Cryptography) {
    way = DirectConnectorState(specification, seams: seams, layer: .wamp)
    way.subprotocols = [WAMPLinkSession.subprotocol]
    let wamp = specification.settings.wamp
    settings = WAMPConversation.Settings(
      realm: WAMPKind.realm(of: specification) ?? "", invoke: wamp.invoke,
      isPrivate: wamp.readableTickets || specification.isPrivate, mayBeReadable: wamp.readableTickets,
      account: specification.requester)
    authID = wamp.authID
    heartbeat = specification.settings.heartbeat
    self.cryptography = cryptography
  }

  var kind: String { WAMPKind.traits.name }
  var hosts: [String] { way.hosts }
  var route: DialRequest { way.route }
  var partsLimit: Int { way.partsLimit }
  var confirmedInterests: ConfirmedInterests { .all }
  var observer: (any UpstreamObserver)? {
    get { way.observer }
    set { way.observer = newValue }
  }

  func prepare(_ draft: MessageDraft) throws(MessageProblem) -> PreparedMessage {
    try way.checked(WAMPDraft.message(draft))
  }

  func prepareAnswer(_ draft: AnswerDraft) throws(MessageProblem) -> PreparedMessage { try WAMPDraft.answer(draft) }

  func check(_ message: PreparedMessage, acknowledged: Bool) -> MessageProblem? {
    guard WAMPDraft.read(message) == nil else { return way.sizeProblem(message) }
    return .outdated("the upstream became one of WAMP while this waited, which was written for another kind")
  }

  func problem(with interest: Interest) -> MessageProblem? {
    if let problem = interest.topic.problem { return .invalid("the event name \(problem)") }
    guard interest.answers, interest.topic.match == .exact, WAMPURI.isReserved(interest.topic.uri) else { return nil }
    return .invalid("procedures whose names begin with wamp. are the router's")
  }

  func awaitNewCredentials(_ done: @escaping () -> Void) { way.awaitNewCredentials(done) }

  func dial(owner: any UpstreamChannelOwner) -> any UpstreamChannel {
    offers.begin()
    return way.dial(owner: owner) { [settings, authID, heartbeat, cryptography, offers] link in
      WAMPLinkSession(link, settings, authID: authID, offers: offers, heartbeat: heartbeat, cryptography: cryptography)
    }
  }
}

extension TraceFact.Layer {
  /// WAMP: the messages of the session.
  static let wamp = TraceFact.Layer(rawValue: "wamp")
}
