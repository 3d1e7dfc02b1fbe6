/// Servers that speak nothing above WebSocket: each message is an event called `message`.
final class PlainWebSocketKind: UpstreamKind {
  static let traits = UpstreamTraits(
    "websocket", schemes: ["raw+ws", "raw+wss"], path: .request, examination: .handshake, table: "websocket",
    foreign: [
      "path", "transports", "upgrade", "parser", "attachments", "attachment_timeout", "force_new", "ping_limit",
      "reconnect_after_kick", "auth", "auth_file", "auth_credential", "auth_command",
      "server_time.event", "server_time.request",
    ],
    problem: problem,
    unsayable: { draft, _ in
      do throws(MessageProblem) { _ = try PlainWebSocketMessage.prepare(draft) } catch { return error }
      return nil
    })

  var traits: UpstreamTraits { Self.traits }
  private let seams: DirectSeams

  init(_ seams: UpstreamSeams) { self.seams = DirectSeams(seams, dialer: seams.webSockets) }

  func connector(for specification: UpstreamSpecification) -> any UpstreamConnector {
    PlainWebSocketConnector(specification, seams: seams)
  }

  private static func problem(_ specification: UpstreamSpecification) -> MessageProblem? {
    if let sentence = LinkCheck.problem(with: specification) { return .invalid(sentence) }
    if specification.url.fragment != nil { return .invalid("a WebSocket's URL has no fragment, the part behind #") }
    guard specification.settings.auth == .none else {
      return .invalid("a plain WebSocket has no login: put credentials into `headers` or `query` instead of `auth`")
    }
    return nil
  }
}

/// Prepares the messages of one plain WebSocket and dials it.
final class PlainWebSocketConnector: UpstreamConnector {
  private let way: DirectConnectorState
  private let heartbeat: HeartbeatSettings

  init(_ specification: UpstreamSpecification, seams: DirectSeams) {
    way = DirectConnectorState(specification, seams: seams, layer: TraceFact.Layer(rawValue: "websocket"))
    way.subprotocols = specification.settings.websocket.subprotocols
    heartbeat = specification.settings.heartbeat
  }

  var kind: String { PlainWebSocketKind.traits.name }
  var hosts: [String] { way.hosts }
  var route: DialRequest { way.route }
  var partsLimit: Int { way.partsLimit }
  var observer: (any UpstreamObserver)? {
    get { way.observer }
    set { way.observer = newValue }
  }

  func prepare(_ draft: MessageDraft) throws(MessageProblem) -> PreparedMessage {
    try way.checked(PlainWebSocketMessage.prepare(draft))
  }

  func prepareAnswer(_ draft: AnswerDraft) throws(MessageProblem) -> PreparedMessage {
    throw PlainWebSocketMessage.noAnswers
  }

  func check(_ message: PreparedMessage, acknowledged: Bool) -> MessageProblem? {
    if acknowledged { return PlainWebSocketMessage.noAnswers }
    return PlainWebSocketMessage.problem(withFormOf: message) ?? way.sizeProblem(message)
  }

  func awaitNewCredentials(_ done: @escaping () -> Void) { way.awaitNewCredentials(done) }

  func dial(owner: any UpstreamChannelOwner) -> any UpstreamChannel {
    let (heartbeat, subprotocols) = (heartbeat, way.subprotocols)
    return way.dial(owner: owner) {
      PlainWebSocketSession($0, heartbeat: heartbeat, mustAgree: !subprotocols.isEmpty)
    }
  }
}
