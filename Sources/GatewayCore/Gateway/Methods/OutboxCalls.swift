/// `outbox.list`: durable sends, and what became of them.
struct OutboxListCall: LocalCall {
  var selection: OutboxSelection
  /// Most entries of the answer.
  var limit: Int

  static let method = LocalMethod(
    "outbox.list", "Lists durable sends and what became of them, the oldest first.", right: .status,
    parameters: LocalParameter.optionalTarget + OutboxSelection.parameters + [
      .optional(.limit, .integer(1...10_000), "How many entries at most; 1000 unless given.")
    ],
    result: ResultSchemas.outbox)

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) {
    try session.listOutbox(selection, limit, id)
  }
}

extension OutboxListCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError) {
    selection = try OutboxSelection(params, line)
    limit = try params.integer(.limit, line) ?? 1_000
  }
}

/// `outbox.cancel`.
struct OutboxCancelCall: LocalCall {
  var selection: OutboxSelection

  static let method = LocalMethod(
    "outbox.cancel", "Takes durable sends back that are not finished.", right: .send,
    parameters: LocalParameter.optionalTarget + OutboxSelection.neededParameters, result: OutboxSelection.changed)

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) {
    try session.cancelStored(selection, id)
  }
}

extension OutboxCancelCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError) {
    selection = try OutboxSelection(params, line, isNeeded: true)
  }
}

/// `outbox.retry`.
struct OutboxRetryCall: LocalCall {
  var selection: OutboxSelection

  static let method = LocalMethod(
    "outbox.retry", "Sends again what failed, and connects at once for what waits.", right: .send,
    parameters: LocalParameter.optionalTarget + OutboxSelection.neededParameters, result: OutboxSelection.count)

  static let startsWork = true

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) {
    try session.retryStored(selection, id)
  }
}

extension OutboxRetryCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError) {
    selection = try OutboxSelection(params, line, isNeeded: true)
  }
}

/// `outbox.purge`.
struct OutboxPurgeCall: LocalCall {
  var selection: OutboxSelection

  static let method = LocalMethod(
    "outbox.purge", "Takes back what is not finished, and forgets what is.", right: .send,
    parameters: LocalParameter.optionalTarget + OutboxSelection.parameters, result: OutboxSelection.changed)

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) {
    try session.purgeStored(selection, id)
  }
}

extension OutboxPurgeCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError) {
    selection = try OutboxSelection(params, line)
  }
}
