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
  var observer: (any UpstreamObserver)? {
    get { way.observer }
    set { way.observer = newValue }
  }

  func prepare(_ draft: MessageDraft) throws(MessageProblem) -> PreparedMessage {
    try PlainWebSocketMessage.prepare(draft)
  }

  func prepareAnswer(_ draft: AnswerDraft) throws(MessageProblem) -> PreparedMessage {
    throw PlainWebSocketMessage.noAnswers
  }

  func check(_ message: PreparedMessage, acknowledged: Bool) -> MessageProblem? {
    acknowledged ? PlainWebSocketMessage.noAnswers : PlainWebSocketMessage.problem(withFormOf: message)
  }

  func awaitNewCredentials(_ done: @escaping () -> Void) { way.awaitNewCredentials(done) }

  func dial(owner: any UpstreamChannelOwner) -> any UpstreamChannel {
    let (heartbeat, subprotocols) = (heartbeat, way.subprotocols)
    return way.dial(owner: owner) {
      PlainWebSocketSession($0, heartbeat: heartbeat, mustAgree: !subprotocols.isEmpty)
    }
  }
}
