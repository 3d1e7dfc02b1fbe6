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
    if records.contains(where: \.entry.state.isFinal) { try session.caller.checkOutboxQuota() }
    do throws(SubmissionProblem) {
      if let first = records.first(where: \.entry.state.isFinal) { try gateway.relay.outbox.checkRoom(again: first) }
    } catch {
      throw LocalError(error)
    }
    var hurried: Set<ObjectIdentifier> = []
    let caller = session.caller
    let identity = caller.identity
    OutboxWork.answer(id, of: session, onceDone: records, .asTheDiskSays) { gateway, record, work in
      // The rights may have changed between two portions.
      let rules = gateway.upstreams.resolver.rules(of: record.entry.target)
      guard gateway.upstreams.access.allows(.send, record.entry.message.event, at: rules, for: identity) else { return }
      if record.entry.state.isFinal {
        // Those for which there is no room stay as they are, and are not counted.
        guard (try? gateway.relay.outbox.checkRoom(again: record)) != nil, (try? caller.checkOutboxQuota()) != nil
        else { return }
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

extension Outbox {
  /// What a `coalesce` stands for: one send of a user to a target.
  private struct Place: Hashable {
    let owner: UInt32
    let target: OutboxTarget
    let value: String

    init?(_ entry: OutboxEntry) {
      guard let value = entry.coalesce else { return nil }
      (owner, target, self.value) = (entry.owner, entry.target, value)
    }
  }

  /// Without the finished ones whose place a newer one has: one of these, one that waits, or one that has arrived.
  fileprivate func withoutSuperseded(_ records: [OutboxRecord]) -> [OutboxRecord] {
    guard records.contains(where: { $0.line == nil && $0.entry.coalesce != nil }) else { return records }
    var newest: [Place: UInt64] = [:]
    func count(_ record: OutboxRecord) {
      if let place = Place(record.entry) { newest[place] = max(newest[place] ?? 0, record.entry.number) }
    }
    records.forEach(count)
    unfinished.forEach(count)
    for record in archive.records where [.sent, .acked].contains(record.entry.state) { count(record) }
    return records.filter { record in
      record.line != nil || (Place(record.entry).map { newest[$0] == record.entry.number } ?? true)
    }
  }
}
