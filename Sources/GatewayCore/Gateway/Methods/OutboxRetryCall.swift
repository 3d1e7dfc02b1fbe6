/// `outbox.retry`: what failed begins anew, and what waits is tried now.
struct OutboxRetryCall: LocalCall {
  var selection: OutboxSelection

  static let method = LocalMethod(
    "outbox.retry", "Sends again what failed, and connects at once for what waits.", right: .send,
    parameters: LocalParameter.optionalTarget + OutboxSelection.neededParameters, result: OutboxSelection.count)

  static let startsWork = true

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) {
    try session.caller.demandSending()
    let gateway = session.gateway
    let records = gateway.relay.outbox.withoutSuperseded(
      try selection.records(for: session, need: .send).filter { !$0.entry.state.isFinal || $0.entry.isRepeatable })
    do throws(Outbox.Refusal) {
      if let first = records.first(where: \.entry.state.isFinal) { try gateway.relay.outbox.checkRoom(again: first) }
    } catch {
      throw LocalError(error)
    }
    var hurried: Set<ObjectIdentifier> = []
    let identity = session.caller.identity
    OutboxWork.answer(id, of: session, onceDone: records, .asTheDiskSays) { gateway, record, work in
      // The rights may have changed between two portions.
      let name = gateway.upstreams.resolver.scope(of: record.entry.target).name
      guard gateway.upstreams.access.allows(.send, upstream: name, for: identity) else { return }
      if record.entry.state.isFinal {
        // Those for which there is no room stay as they are, and are not counted.
        guard (try? gateway.relay.outbox.checkRoom(again: record)) != nil else { return }
        work.count += 1
        return gateway.relay.sendAgain(record.entry.id, for: identity, work.awaited())
      }
      work.count += 1
      guard let carrier = record.connection else { return gateway.relay.place(record, for: identity) }
      if hurried.insert(ObjectIdentifier(carrier)).inserted { carrier.hurry(.order) }
    }
  }
}

extension OutboxRetryCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError) {
    selection = try OutboxSelection(params, line, isNeeded: true)
  }
}
