/// A connection in a log record.
public struct ConnectionFact: Equatable, Sendable {
  public var connection: String
  public var upstream: String?
  /// Without user info and query values.
  public var url: String
  public var namespace: String
  public var reason: DownReason?
  public var detail: String?
  public var attempt: Int
  /// Milliseconds until the next attempt.
  public var retryIn: Int64?
}

extension Connection {
  /// For the log.
  var fact: ConnectionFact {
    let down = state == .connected ? nil : lastFailure
    return ConnectionFact(
      connection: id, upstream: specification.name, url: specification.url.redacted,
      namespace: specification.shownNamespace, reason: down?.reason, detail: down?.detail, attempt: failedAttempts,
      retryIn: retryIn)
  }
}
