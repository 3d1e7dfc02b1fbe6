/// What happened, for the log. The core reports; the daemon decides what is written where. No payloads, no secrets.
public enum GatewayFact: Equatable, Sendable {
  case clientAttached(ClientFact)
  case clientDetached(ClientFact)
  /// A newcomer was turned away, or a call was refused, because a quota is used up.
  case quotaExceeded(uid: UInt32, quota: String)
  case clientDropped(ClientFact, reason: String)
  case connectionMoved(ConnectionFact, from: ConnectionState, to: ConnectionState)
  case connectionReleased(ConnectionFact)
  /// An accepted send ended without having been written or acknowledged.
  case sendFailed(ConnectionFact, SendFact, outcome: String)
  /// The server does not let us have what local programs subscribe to.
  case interestRefused(ConnectionFact, interest: String, detail: String)
  case reloaded(ConfigurationChange)
  case reloadRefused([ConfigurationProblem])
  /// The configuration was not read again, because the gateway takes nothing new any more.
  case reloadIgnored
  case stopping(reason: String)
  /// So many sends without an outcome are in the outbox when the daemon ends; never zero.
  case sendsKept(Int)
  /// The outbox cannot write; nil when it can again.
  case outbox(StorageProblem?)
  /// Something about the outbox needs attention although it writes; nil when it does not any more.
  case outboxWarning(StorageProblem?)
  /// What became of a history on disk.
  case history(upstream: String, namespace: String, HistoryReport)
  /// Another daemon of the fleet has this host's name; this one is called `renamed` from now on.
  case fleetNameTaken(String, renamed: String)
  /// This host is called so again.
  case fleetNameRegained(String)
  /// A client has ordered that this host leaves its fleet's links to others.
  case fleetLeaveOrdered(ClientFact)
  /// That came to nothing, for a reason in a sentence.
  case fleetLeaveFailed(ClientFact, upstream: String, detail: String)
  /// What became of the Redis of the fleet, and of this host's links.
  case fleet(FleetReport)
  /// A contradiction inside the gateway that harmed no program but should not have happened.
  case internalError(String)
}

/// A send in a log record: never what it says.
public struct SendFact: Equatable, Sendable {
  /// Its id.
  public var command: String
  public var event: String
  /// Of the program that sent it.
  public var uid: UInt32

  public init(command: String, event: String, uid: UInt32) {
    self.command = command
    self.event = event
    self.uid = uid
  }

  init(_ command: Command) { self.init(command: command.id, event: command.message.event, uid: command.user) }
}

/// A local client in a log record.
public struct ClientFact: Equatable, Sendable {
  public var client: String
  public var name: String?
  public var uid: UInt32
  public var pid: Int32
}
