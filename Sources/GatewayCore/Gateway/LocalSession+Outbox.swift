/// `outbox.*` and `drain`.
extension LocalSession {
  func listOutbox(_ selection: OutboxSelection, _ limit: Int, _ id: RequestID?) throws(LocalError) {
    let records = try records(selection, limit: limit + 1)
    reply(id) { out in
      out.key("entries")
      out.beginArray()
      let left = out.values(Array(records.prefix(limit)), within: StatusDocument.listLimit(gateway)) {
        OutboxDocument.write($0, &$1)
      }
      out.endArray()
      out.key("more")
      out.bool(records.count > limit || left > 0)
    }
  }

  func cancelStored(_ selection: OutboxSelection, _ id: RequestID?) throws(LocalError) {
    try demandSending(selection)
    let queued = try records(selection).filter { !$0.entry.state.isFinal }
    answer(id, whenDoneWith: queued, Self.sayChanged) { gateway, record, work in
      guard record.line != nil, !record.isOnItsWay else { return }
      work.count += 1
      gateway.finish(record, .cancelled, reason: nil, work.awaited())
    }
  }

  func purgeStored(_ selection: OutboxSelection, _ id: RequestID?) throws(LocalError) {
    try demandSending(selection)
    answer(id, whenDoneWith: try records(selection), Self.sayChanged) { gateway, record, work in
      guard !record.isOnItsWay else { return }
      work.count += 1
      gateway.finish(record, .cancelled, reason: nil)
      gateway.outbox.purge(record, work.awaited())
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
    answer(id, whenDoneWith: records, Self.sayTaken) { gateway, record, work in
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
    let isWanted: (OutboxTarget, UInt32) -> Bool = { [self] other, owner in
      maySee(other, of: owner) && target?.covers(other) ?? true
    }
    guard let ids = selection.ids else {
      return gateway.outbox.records(limit: limit, states: selection.states, where: isWanted)
    }
    let found = Set(ids).compactMap { gateway.outbox.record($0) }.filter {
      selection.states?.contains($0.entry.state) ?? true && isWanted($0.entry.target, $0.entry.owner)
    }
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
    !gateway.outbox.records(limit: 1) { $0.name == name && maySee($0, of: $1) }.isEmpty
  }

  /// One's own, and those of upstreams that one administers.
  private func maySee(_ target: OutboxTarget, of owner: UInt32) -> Bool {
    owner == peer.uid || gateway.access.isAdministrator(peer)
      || gateway.access.allows(.admin, upstream: target.upstream, peer: peer)
  }

  private func demandSending(_ selection: OutboxSelection) throws(LocalError) {
    guard gateway.access.generalRights(peer).contains(.send) else { throw .denied(.send, on: nil) }
  }

  // MARK: - Answers

  /// Does something to many entries, some at a time so that nobody else has to wait for all of them, and answers as soon as
  /// the disk has decided everything that was awaited.
  private func answer(
    _ id: RequestID?, whenDoneWith records: [OutboxRecord],
    _ say: @escaping (LocalSession, RequestID?, OutboxWork.Result) -> Void,
    _ body: @escaping (Gateway, OutboxRecord, OutboxWork) -> Void
  ) {
    let number = makeCallNumber()
    open(id, number: number, .background)
    let work = OutboxWork { [weak self] result in
      guard let self, let call = close(number) else { return }
      say(self, call.id, result)
    }
    work.run(records[...], on: gateway, body)
  }

  /// What has happened has happened, whatever the disk says: it will be told again.
  private static func sayChanged(_ session: LocalSession, _ id: RequestID?, _ result: OutboxWork.Result) {
    session.reply(id) {
      $0.member("count", result.count)
      guard let problem = result.problem else { return }
      $0.key("saved")
      $0.bool(false)
      $0.member("reason", problem.kind.rawValue)
      $0.member("detail", problem.message)
    }
  }

  /// What the disk does not take stays as it was.
  private static func sayTaken(_ session: LocalSession, _ id: RequestID?, _ result: OutboxWork.Result) {
    guard let problem = result.problem else { return session.reply(id) { $0.member("count", result.count) } }
    session.reply(id, LocalError(outbox: problem, refused: result.refused, of: result.count))
  }
}
