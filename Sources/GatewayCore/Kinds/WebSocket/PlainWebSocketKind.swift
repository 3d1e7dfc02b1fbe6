/// Servers that speak nothing above WebSocket: each message is an event called `message`.
public final class PlainWebSocketKind: UpstreamKind {
  public static let traits = UpstreamTraits(
    "websocket", schemes: ["raw+ws", "raw+wss"], path: .request, examination: .handshake, table: "websocket",
    foreign: [
      "path", "transports", "upgrade", "parser", "attachments", "attachment_timeout", "force_new", "ping_limit",
      "reconnect_after_kick", "auth", "auth_file", "auth_credential", "auth_command",
      "server_time.event", "server_time.request",
    ],
    problem: problem)

  public var traits: UpstreamTraits { Self.traits }
  private let seams: DirectSeams

  init(_ seams: UpstreamSeams) { self.seams = DirectSeams(seams, dialer: seams.webSockets) }

  public func connector(for specification: UpstreamSpecification) -> any UpstreamConnector {
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
