/// `outbox.*` and `drain`.
extension LocalSession {
  func listOutbox(_ selection: OutboxSelection, _ limit: Int, _ id: RequestID?) throws(LocalError) {
    let records = try records(selection, limit: limit + 1)
    reply(id) { out in
      out.key("entries")
      out.beginArray()
      let left = out.values(Array(records.prefix(limit)), within: StatusDocument.listLimit(gateway)) {
        OutboxDocument.write($0.entry, carrier: $0.connection, &$1)
      }
      out.endArray()
      out.key("more")
      out.bool(records.count > limit || left > 0)
    }
  }

  func cancelStored(_ selection: OutboxSelection, _ id: RequestID?) throws(LocalError) {
    try demandSending(selection)
    answer(id, whenDoneWith: try records(selection).filter { !$0.entry.state.isFinal }) { gateway, record, work in
      guard record.line != nil, !record.isOnItsWay else { return }
      work.count += 1
      gateway.finish(record, .cancelled, reason: nil, work.awaited())
    }
  }

  func purgeStored(_ selection: OutboxSelection, _ id: RequestID?) throws(LocalError) {
    try demandSending(selection)
    answer(id, whenDoneWith: try records(selection)) { gateway, record, work in
      guard !record.isOnItsWay else { return }
      work.count += 1
      if record.line != nil {
        gateway.finish(record, .cancelled, reason: nil, work.awaited())
      }
      gateway.outbox.purge(record.entry.id)
    }
  }

  func retryStored(_ selection: OutboxSelection, _ id: RequestID?) throws(LocalError) {
    try demandSending(selection)
    let records = try records(selection).filter { !$0.entry.state.isFinal || $0.entry.state.isRepeatable }
    do throws(Outbox.Refusal) {
      if let first = records.first(where: \.entry.state.isFinal) { try gateway.outbox.checkRoom(again: first) }
    } catch {
      throw LocalError(error)
    }
    var hurried: Set<ObjectIdentifier> = []
    answer(id, whenDoneWith: records) { gateway, record, work in
      if record.entry.state.isFinal {
        // Those for which there is no room stay as they are, and are not counted.
        guard (try? gateway.outbox.checkRoom(again: record)) != nil else { return }
        work.count += 1
        return gateway.sendAgain(record.entry.id, work.awaited())
      }
      work.count += 1
      if let carrier = record.connection, hurried.insert(ObjectIdentifier(carrier)).inserted {
        carrier.hurry(.order)
      }
    }
  }

  func drain(_ timeout: Duration?, _ id: RequestID?) throws(LocalError) {
    try demandAdministrator()
    let number = makeCallNumber()
    open(id, number: number, .background)
    gateway.drain(within: timeout ?? gateway.configuration.limits.stop) { [weak self] left in
      guard let self, let call = close(number) else { return }
      reply(call.id) { $0.member("left", left) }
    }
  }

  // MARK: - Which entries

  /// The entries that are meant, as far as the caller may see them, the oldest first.
  private func records(_ selection: OutboxSelection, limit: Int = .max) throws(LocalError) -> [OutboxRecord] {
    let target = try selection.target.map { target throws(LocalError) in try self.outboxTarget(target) }
    let states = selection.states
    let isWanted: (OutboxRecord) -> Bool = { [self] record in
      states?.contains(record.entry.state) ?? true && target?.covers(record.entry.target) ?? true && maySee(record)
    }
    guard let ids = selection.ids else { return gateway.outbox.records(limit: limit, where: isWanted) }
    let found = Set(ids).compactMap { gateway.outbox.record($0) }.filter(isWanted)
    return found.sorted { $0.entry.number < $1.entry.number }
  }

  /// A target whose upstream may have left the configuration.
  private struct Wanted {
    var names: Set<OutboxTarget.Name>
    var namespace: String?

    func covers(_ target: OutboxTarget) -> Bool {
      guard names.contains(target.name) else { return false }
      guard let namespace else { return true }
      return namespace == target.namespace
    }
  }

  private func outboxTarget(_ target: CallTarget) throws(LocalError) -> Wanted {
    if case .upstream(let name) = target.name {
      guard gateway.configuration.upstreams[name] != nil || holdsSends(to: .upstream(name)) else {
        throw unknownUpstream(name)
      }
      return Wanted(names: [.upstream(name)], namespace: target.namespace)
    }
    let specification = try resolve(target)
    return Wanted(names: OutboxTarget.names(of: specification), namespace: specification.namespace)
  }

  /// Whether there is anything in the outbox for that upstream, as far as the caller may see it.
  private func holdsSends(to name: OutboxTarget.Name) -> Bool {
    !gateway.outbox.records(limit: 1) { $0.entry.target.name == name && maySee($0) }.isEmpty
  }

  /// One's own, and those of upstreams that one administers.
  private func maySee(_ record: OutboxRecord) -> Bool {
    record.entry.owner == peer.uid || gateway.access.isAdministrator(peer)
      || gateway.access.allows(.admin, upstream: record.entry.target.upstream, peer: peer)
  }

  private func demandSending(_ selection: OutboxSelection) throws(LocalError) {
    guard gateway.access.generalRights(peer).contains(.send) else { throw .denied(.send, on: nil) }
  }

  // MARK: - Answers

  /// Does something to many entries, some at a time so that nobody else has to wait for all of them, and answers with how
  /// many it concerned as soon as the disk has everything that was awaited, or with the first problem.
  private func answer(
    _ id: RequestID?, whenDoneWith records: [OutboxRecord],
    _ body: @escaping (Gateway, OutboxRecord, OutboxWork) -> Void
  ) {
    let number = makeCallNumber()
    open(id, number: number, .background)
    let work = OutboxWork { [weak self] count, problem in
      guard let self, let call = close(number) else { return }
      if let problem { return reply(call.id, LocalError(outbox: problem)) }
      reply(call.id) { $0.member("count", count) }
    }
    work.run(records[...], on: gateway, body)
  }
}
