/// The revision of the Engine.IO protocol that a server speaks: the value of `EIO` in the query.
public enum EngineIORevision: Int, Equatable, Sendable {
  /// Socket.IO servers 1.x and 2.x, and later ones that allow it. The client sends the heartbeat.
  case three = 3
  /// Socket.IO servers 3.x and 4.x. The server sends the heartbeat.
  case four = 4

  /// The revision of the Socket.IO protocol that goes with it.
  public var socketIORevision: Int { rawValue + 1 }

  /// The revision to try when this one is refused.
  var other: EngineIORevision { self == .four ? .three : .four }
}
