/// `outbox.purge`: what has no outcome yet is not sent any more, and nothing is known of the rest.
struct OutboxPurgeCall: LocalCall {
  var selection: OutboxSelection

  static let method = LocalMethod(
    "outbox.purge", "Takes back what is not finished, and forgets what is.", right: .send,
    parameters: LocalParameter.optionalTarget + OutboxSelection.parameters, result: OutboxSelection.changed)

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) {
    try session.caller.demandSending()
    let all = try selection.choice(for: session, need: .send)
    OutboxWork.answer(id, of: session, onceDone: all, .whateverTheDiskSays) { gateway, record, work in
      guard !record.isOnItsWay else { return }
      work.count += 1
      gateway.relay.finish(record, .cancelled, reason: nil)
      gateway.relay.purge(record, work.awaited())
    }
  }
}

extension OutboxPurgeCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError) {
    selection = try OutboxSelection(params, line)
  }
}
