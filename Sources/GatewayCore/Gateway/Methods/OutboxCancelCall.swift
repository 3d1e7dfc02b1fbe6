/// `outbox.cancel`: what has no outcome yet is not sent any more.
struct OutboxCancelCall: LocalCall {
  var selection: OutboxSelection

  static let method = LocalMethod(
    "outbox.cancel", "Takes durable sends back that are not finished.", right: .send,
    parameters: LocalParameter.optionalTarget + OutboxSelection.neededParameters, result: OutboxSelection.changed)

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) {
    try session.caller.demandSending()
    let queued = try selection.choice(for: session, need: .send, in: [.queued])
    OutboxWork.answer(id, of: session, onceDone: queued, .whateverTheDiskSays) { gateway, record, work in
      guard record.line != nil, !record.isOnItsWay else { return }
      work.count += 1
      gateway.relay.finish(record, .cancelled, reason: nil, work.awaited())
    }
  }
}

extension OutboxCancelCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError) {
    selection = try OutboxSelection(params, line, isNeeded: true)
  }
}
