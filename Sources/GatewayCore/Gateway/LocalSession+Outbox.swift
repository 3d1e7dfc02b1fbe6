/// `outbox.*`.
extension LocalSession {
  func listOutbox(_ selection: OutboxSelection, _ limit: Int, _ id: RequestID?) throws(LocalError) {
    try demandStatus()
    let records = try records(selection, need: .status, limit: limit + 1)
    reply(id) { out in
      out.key("entries")
      out.beginArray()
      let left = out.values(
        Array(records.prefix(limit)), within: StatusDocument.listLimit(gateway),
        tooLong: { OutboxDocument.write($0, ofBytes: $1, &$2) }, { OutboxDocument.write($0, &$1) })
      out.endArray()
      out.key("more")
      out.bool(records.count > limit || left > 0)
    }
  }

  func cancelStored(_ selection: OutboxSelection, _ id: RequestID?) throws(LocalError) {
    try demandSending()
    let queued = try records(selection, need: .send).filter { !$0.entry.state.isFinal }
    answer(id, whenDoneWith: queued, Self.sayChanged) { gateway, record, work in
      guard record.line != nil, !record.isOnItsWay else { return }
      work.count += 1
      gateway.finish(record, .cancelled, reason: nil, work.awaited())
    }
  }

  func purgeStored(_ selection: OutboxSelection, _ id: RequestID?) throws(LocalError) {
    try demandSending()
    answer(id, whenDoneWith: try records(selection, need: .send), Self.sayChanged) { gateway, record, work in
      guard !record.isOnItsWay else { return }
      work.count += 1
      gateway.finish(record, .cancelled, reason: nil)
      gateway.outbox.purge(record, work.awaited())
    }
  }

  func retryStored(_ selection: OutboxSelection, _ id: RequestID?) throws(LocalError) {
    try demandSending()
    let records = try records(selection, need: .send).filter { !$0.entry.state.isFinal || $0.entry.state.isRepeatable }
    do throws(Outbox.Refusal) {
      if let first = records.first(where: \.entry.state.isFinal) { try gateway.outbox.checkRoom(again: first) }
    } catch {
      throw LocalError(error)
    }
    var hurried: Set<ObjectIdentifier> = []
    let identity = identity
    answer(id, whenDoneWith: records, Self.sayTaken) { gateway, record, work in
      // The rights may have changed between two portions.
      let name = gateway.resolver.scope(of: record.entry.target).name
      guard gateway.access.allows(.send, upstream: name, for: identity) else { return }
      if record.entry.state.isFinal {
        // Those for which there is no room stay as they are, and are not counted.
        guard (try? gateway.outbox.checkRoom(again: record)) != nil else { return }
        work.count += 1
        return gateway.sendAgain(record.entry.id, for: identity, work.awaited())
      }
      work.count += 1
      guard let carrier = record.connection else { return gateway.place(record, for: identity) }
      if hurried.insert(ObjectIdentifier(carrier)).inserted { carrier.hurry(.order) }
    }
  }

  // MARK: - Which entries

  /// The entries that are meant, as far as the caller may see them, the oldest first. Those that are named have to be of
  /// upstreams on which the caller has the right; where none are named the others are left out.
  private func records(
    _ selection: OutboxSelection, need verb: AccessVerb, limit: Int = .max
  ) throws(LocalError) -> [OutboxRecord] {
    let target = try selection.target.map { target throws(LocalError) in try self.outboxTarget(target, need: verb) }
    let rights = EntryRights(self, verb)
    let isWanted: (OutboxTarget, UInt32) -> Bool = { other, owner in
      rights.maySee(other, of: owner) && target?.covers(other) ?? true
    }
    guard let ids = selection.ids else {
      return gateway.outbox.records(limit: limit, states: selection.states) {
        isWanted($0, $1) && rights.hasRight(on: $0)
      }
    }
    let found = Set(ids).compactMap { gateway.outbox.record($0) }.filter {
      selection.states?.contains($0.entry.state) ?? true && isWanted($0.entry.target, $0.entry.owner)
    }
    if let first = found.first(where: { !rights.hasRight(on: $0.entry.target) }) {
      throw .denied(verb, on: gateway.resolver.scope(of: first.entry.target).name)
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

  private func outboxTarget(_ target: CallTarget, need verb: AccessVerb) throws(LocalError) -> Wanted {
    if case .upstream(let name) = target.name {
      guard gateway.configuration.upstreams[name] != nil || holdsSends(to: .upstream(name)) else {
        throw unknownUpstream(name)
      }
      guard may(verb, .upstream(name)) else { throw .denied(verb, on: name) }
      return Wanted(names: [.upstream(name)], namespace: target.namespace)
    }
    let specification = try self.target(target, need: verb)
    return Wanted(names: OutboxTarget.names(of: specification), namespace: specification.namespace)
  }

  /// Whether there is anything in the outbox for that upstream, as far as the caller may see it.
  private func holdsSends(to name: OutboxTarget.Name) -> Bool {
    let rights = EntryRights(self, .status)
    return !gateway.outbox.records(limit: 1) { $0.name == name && rights.maySee($0, of: $1) }.isEmpty
  }

  private func demandSending() throws(LocalError) {
    guard gateway.access.generalRights(identity).contains(.send) else { throw .denied(.send, on: nil) }
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
    open(OpenOutboxWork(id), number: number)
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

/// What a program may do with entries of the outbox: asked once for each target. Most have that of the one before them.
private final class EntryRights {
  private let session: LocalSession
  private let verb: AccessVerb
  private let isAdministrator: Bool
  private struct Rights {
    var hasRight: Bool
    var administers: Bool
  }
  private var last: (target: OutboxTarget, rights: Rights)?
  private var known: [OutboxTarget: Rights] = [:]

  init(_ session: LocalSession, _ verb: AccessVerb) {
    self.session = session
    self.verb = verb
    isAdministrator = session.gateway.access.isAdministrator(session.identity)
  }

  /// One's own, and those of upstreams that one administers.
  func maySee(_ target: OutboxTarget, of owner: UInt32) -> Bool {
    owner == session.identity.uid || isAdministrator || rights(on: target).administers
  }

  func hasRight(on target: OutboxTarget) -> Bool { rights(on: target).hasRight }

  private func rights(on target: OutboxTarget) -> Rights {
    if let last, last.target == target { return last.rights }
    let rights = known[target] ?? ask(target)
    known[target] = rights
    last = (target, rights)
    return rights
  }

  private func ask(_ target: OutboxTarget) -> Rights {
    // What no configuration lets anybody use has been sent by URL: those who may do so see and take back what is left.
    let name = session.gateway.resolver.scope(of: target).name
    let access = session.gateway.access
    return Rights(
      hasRight: access.allows(verb, upstream: name, for: session.identity),
      administers: access.allows(.admin, upstream: name, for: session.identity))
  }
}
