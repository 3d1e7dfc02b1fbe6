/// What a local program asked a connection to write, as a value: it can wait, be found again, expire and be taken back.
public struct Command: Equatable, Sendable {
  /// The id by which local programs know it. Unique within the daemon.
  public var id: String
  public var message: PreparedMessage
  public var delivery: DeliveryLevel
  /// After this instant it must not be written any more; nil lets it wait for ever.
  public var expires: MonotonicInstant?
  /// Wall clock, in milliseconds since 1970.
  public var acceptedAt: Int64
  public var owner: CommandOwner
  /// When the caller gives up: before the write the command is taken back, after it the acknowledgement is not awaited
  /// any more. Nil when nobody waits.
  public var deadline: MonotonicInstant?
  /// May wait for a connection's first attempt, but for nothing else.
  public var noQueue = false

  public init(
    id: String, message: PreparedMessage, delivery: DeliveryLevel, expires: MonotonicInstant?, acceptedAt: Int64,
    owner: CommandOwner
  ) {
    self.id = id
    self.message = message
    self.delivery = delivery
    self.expires = expires
    self.acceptedAt = acceptedAt
    self.owner = owner
  }
}

/// Who waits for the outcome of a command.
public enum CommandOwner: Hashable, Sendable {
  /// Nobody any more: the call was answered as `accepted`, and the command outlives its client.
  case none
  /// A call that is not answered yet. `client` is the local session, `request` one call of it.
  case call(client: UInt64, request: UInt64)

  /// The local session that waits, if one does.
  public var client: UInt64? {
    switch self {
    case .none: nil
    case .call(let client, _): client
    }
  }
}
