/// `websocket = { … }`: what plain WebSockets alone have.
struct PlainWebSocketSettings: Hashable, Sendable {
  /// Offered to the server, the preferred one first. If there are some the server has to choose one.
  var subprotocols: [String] = []
  init() {}
}
