/// `outbox.*` and `drain`.
extension LocalSession {
  func listOutbox(_ selection: OutboxSelection, _ limit: Int, _ id: RequestID?) throws(LocalError) {
    let entries = try entries(selection)
    reply(id) { out in
      out.key("entries")
      out.beginArray()
      for entry in entries.prefix(limit) { OutboxDocument.write(entry, carrier: gateway.carrier(of: entry.id), &out) }
      out.endArray()
      out.key("more")
      out.bool(entries.count > limit)
    }
  }

  func cancelStored(_ selection: OutboxSelection, _ id: RequestID?) throws(LocalError) {
    try demandSending(selection)
    let queued = try entries(selection).filter { !$0.state.isFinal }
    answerWhenOnDisk(id, count: queued.count) { counted in
      for entry in queued { gateway.finish(entry.id, .cancelled, reason: nil, counted) }
    }
  }

  func purgeStored(_ selection: OutboxSelection, _ id: RequestID?) throws(LocalError) {
    try demandSending(selection)
    let entries = try entries(selection)
    let queued = entries.filter { !$0.state.isFinal }
    for entry in entries where entry.state.isFinal { gateway.outbox.purge(entry.id) }
    answerWhenOnDisk(id, count: entries.count, awaited: queued.count) { counted in
      for entry in queued { gateway.finish(entry.id, .cancelled, reason: nil, counted) }
    }
    for entry in queued { gateway.outbox.purge(entry.id) }
  }

  func retryStored(_ selection: OutboxSelection, _ id: RequestID?) throws(LocalError) {
    try demandSending(selection)
    let entries = try entries(selection).filter { !$0.state.isFinal || $0.state.isRepeatable }
    let failed = entries.filter(\.state.isFinal)
    do throws(Outbox.Refusal) {
      for entry in failed {
        try gateway.outbox.checkRoom(cost: entry.cost, target: entry.target, owner: entry.owner)
      }
    } catch {
      throw LocalError(error)
    }
    for entry in entries where !entry.state.isFinal { gateway.carrier(of: entry.id)?.hurry(.order) }
    answerWhenOnDisk(id, count: entries.count, awaited: failed.count) { counted in
      for entry in failed { gateway.sendAgain(entry.id, counted) }
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
  private func entries(_ selection: OutboxSelection) throws(LocalError) -> [OutboxEntry] {
    let target = try selection.target.map { target throws(LocalError) in try self.outboxTarget(target) }
    let outbox = gateway.outbox
    var found: [OutboxEntry]
    if let ids = selection.ids {
      found = Set(ids).compactMap { outbox.entry($0) }
    } else {
      found = outbox.committed + outbox.archive.records.values.map(\.entry)
    }
    if let states = selection.states { found.removeAll { !states.contains($0.state) } }
    if let target { found.removeAll { !target.covers($0.target) } }
    found.removeAll { !maySee($0) }
    found.sort { $0.number < $1.number }
    return found
  }

  /// A target whose upstream may have left the configuration.
  private struct Wanted {
    var name: OutboxTarget.Name
    var namespace: String?

    func covers(_ target: OutboxTarget) -> Bool {
      guard name == target.name else { return false }
      guard let namespace else { return true }
      return namespace == target.namespace
    }
  }

  private func outboxTarget(_ target: CallTarget) throws(LocalError) -> Wanted {
    if case .upstream(let name) = target.name { return Wanted(name: .upstream(name), namespace: target.namespace) }
    let specification = try gateway.resolver.resolve(target, uid: peer.uid)
    let wanted = OutboxTarget(specification)
    return Wanted(name: wanted.name, namespace: wanted.namespace)
  }

  /// One's own, and those of upstreams that one administers.
  private func maySee(_ entry: OutboxEntry) -> Bool {
    entry.owner == peer.uid || gateway.access.isAdministrator(peer)
      || gateway.access.allows(.admin, upstream: entry.target.upstream, peer: peer)
  }

  private func demandSending(_ selection: OutboxSelection) throws(LocalError) {
    guard gateway.access.generalRights(peer).contains(.send) else { throw .denied(.send, on: nil) }
  }

  // MARK: - Answers

  /// Answers with `count` as soon as `work` has reported `awaited` (all of them, unless given) times, or with the first
  /// problem.
  private func answerWhenOnDisk(
    _ id: RequestID?, count: Int, awaited: Int? = nil, _ work: (@escaping (OutboxProblem?) -> Void) -> Void
  ) {
    var left = awaited ?? count
    guard left > 0 else { return reply(id) { $0.member("count", count) } }
    let number = makeCallNumber()
    open(id, number: number, .background)
    var trouble: OutboxProblem?
    work { [weak self] problem in
      left -= 1
      trouble = trouble ?? problem
      guard left == 0, let self, let call = close(number) else { return }
      if let trouble { return reply(call.id, LocalError(outbox: trouble)) }
      reply(call.id) { $0.member("count", count) }
    }
  }
}
