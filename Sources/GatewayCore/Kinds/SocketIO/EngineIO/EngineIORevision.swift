/// The revision of the Engine.IO protocol that a server speaks: the value of `EIO` in the query.
enum EngineIORevision: Int, Equatable, Sendable {
  /// Socket.IO servers 1.x and 2.x, and later ones that allow it. The client sends the heartbeat.
  case three = 3
  /// Socket.IO servers 3.x and 4.x. The server sends the heartbeat.
  case four = 4

  /// The revision of the Socket.IO protocol that goes with it.
  var socketIORevision: Int { rawValue + 1 }

  /// The largest message, in bytes, that a server takes whose handshake names no `maxPayload`: what engine.io allows
  /// unless it is told otherwise (`maxHttpBufferSize`). A server closes the link at anything larger.
  var usualPayloadLimit: Int {
    switch self {
    case .three: 100_000_000
    case .four: 1_000_000
    }
  }

  /// The revision to try when this one is refused.
  var other: EngineIORevision { self == .four ? .three : .four }
}
