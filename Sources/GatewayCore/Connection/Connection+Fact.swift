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
