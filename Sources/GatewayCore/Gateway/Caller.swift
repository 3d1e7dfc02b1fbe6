/// In whose name a local client's calls are made: which upstream a call means, and what the client may do with it.
final class Caller {
  let identity: AccessIdentity
  /// Outlives its clients. Used for every call, so that a check of it each time would be felt.
  private unowned(unsafe) let gateway: Gateway
  var upstreams: Upstreams { gateway.upstreams }
  /// What the last call was about.
  private var lastUsed: LastUsed?
  /// What it may have; nil until that is asked for.
  private var lastQuota: LastQuota?

  /// A target that was resolved before, and what the client may do with it.
  private final class LastUsed {
    let target: CallTarget
    /// Not looked at unless `isCurrent`: a connection that leaves the pool begins a new generation.
    unowned(unsafe) let connection: Connection
    private let generation: UInt64
    /// The right that was found to be there the last time, and for which events.
    var right: AccessVerb
    var permit: EventPermit

    init(
      _ target: CallTarget, _ connection: Connection, right: AccessVerb, permit: EventPermit, generation: UInt64
    ) {
      self.target = target
      self.connection = connection
      self.right = right
      self.permit = permit
      self.generation = generation
    }

    /// Neither the configuration nor the pool has changed since.
    func isCurrent(in upstreams: Upstreams) -> Bool { generation == upstreams.generation }
  }

  /// A quota, and under which quotas it was worked out. An object, so that a client that sends nothing has no room for it.
  private final class LastQuota {
    let quota: Quota
    let generation: UInt64

    init(_ quota: Quota, generation: UInt64) {
      self.quota = quota
      self.generation = generation
    }
  }

  init(_ identity: AccessIdentity, in gateway: Gateway) {
    self.identity = identity
    self.gateway = gateway
  }

  // MARK: - Which upstream

  /// What the last call was about.
  var lastTarget: CallTarget? { lastUsed?.target }

  /// The connection that a call is about, made if it does not exist yet and there is room for one more; `event` is what
  /// it sends. Most programs name the same target again and again, so the last one is remembered.
  func connection(
    _ target: CallTarget, need verb: AccessVerb, event: String? = nil
  ) throws(LocalError) -> Connection {
    let upstreams = gateway.upstreams
    if let lastUsed, lastUsed.isCurrent(in: upstreams), lastUsed.target == target {
      if lastUsed.right != verb {
        lastUsed.permit = try permit(verb, event, on: lastUsed.connection)
        lastUsed.right = verb
      }
      if !lastUsed.permit.passesAll, let event, !lastUsed.permit.passes(event) {
        throw denied(verb, lastUsed.connection, event: event)
      }
      return lastUsed.connection
    }
    let (specification, permit) = try permitted(target, need: verb, event: event)
    try checkRoom(for: specification)
    guard let connection = upstreams.connection(for: specification) else {
      throw LocalError(.internalError, "No kind of upstream takes this URL.")
    }
    lastUsed = LastUsed(target, connection, right: verb, permit: permit, generation: upstreams.generation)
    return connection
  }

  /// A call that failed may have made a connection that no program uses now.
  func reviewLast() {
    if let lastUsed, lastUsed.isCurrent(in: gateway.upstreams) { lastUsed.connection.review() }
  }

  /// Connections that users ask for have a limit in all, and half of it for one user. Configured upstreams always find
  /// room: they are as many as the configuration names.
  private func checkRoom(for specification: UpstreamSpecification) throws(LocalError) {
    let pool = gateway.upstreams.pool
    let quota = quota.connections
    do throws(SharedBounds.Overrun) { try pool.checkRoom(for: specification, quota: quota) } catch {
      if let quota, error == .share(quota) {
        throw gateway.quotas.refuse(
          identity.uid, "connections", quota, "connections by URL or other namespace; use fewer of them")
      }
      let bounds = pool.places.bounds
      throw LocalError(
        .quotaExceeded,
        "There are too many connections by URL or other namespace (`limits.connections` is \(bounds.total), of which "
          + "one user may have \(bounds.share)); use fewer of them.",
        [.init("quota", .string("connections"))] + error.facts(of: bounds))
    }
  }

  /// Finds the upstream a call is about and checks the right to use it so.
  func specification(_ target: CallTarget, need verb: AccessVerb) throws(LocalError) -> UpstreamSpecification {
    try permitted(target, need: verb, event: nil).specification
  }

  /// The same, and with which events it may be used so.
  private func permitted(
    _ target: CallTarget, need verb: AccessVerb, event: String?
  ) throws(LocalError) -> (specification: UpstreamSpecification, permit: EventPermit) {
    let specification = try resolve(target)
    let place = gateway.upstreams.resolver.place(of: specification)
    let answer = gateway.upstreams.access.answer(verb, at: place, for: identity)
    guard answer.allows(event) else {
      throw denied(verb, specification, place, event: event, naming: target)
    }
    return (specification, answer.permit)
  }

  /// What names the upstream that a call looks at. A connection by URL is its user's own, for administrators too: the
  /// same URL said by another user means another one.
  func target(_ asked: LookTarget) throws(LocalError) -> CallTarget {
    switch asked {
    case .upstream(let target): return target
    case .connection(let id):
      guard let found = gateway.upstreams.pool.inNoOrder.first(where: { $0.id == id && maySee($0) }) else {
        throw .invalid("connection", "There is no connection with the id '\(id)'; `status` lists those that there are.")
      }
      guard found.specification.owner ?? identity.uid == identity.uid else {
        throw .invalid(
          "connection", "The connection '\(id)' is one by URL of another user, whose programs alone can look at it so.")
      }
      return gateway.upstreams.resolver.target(of: found.specification)
    }
  }

  private func resolve(_ target: CallTarget) throws(LocalError) -> UpstreamSpecification {
    do throws(LocalError) {
      return try gateway.upstreams.resolver.resolve(target, uid: identity.uid, mayKnow: mayKnow)
    } catch {
      guard error.kind == .upstreamUnknown, case .upstream(let name) = target.name else { throw error }
      throw unknownUpstream(name)
    }
  }

  /// Names the upstream that was probably meant, if it is one that the caller may know of.
  func unknownUpstream(_ name: String) -> LocalError {
    .unknownUpstream(name, among: gateway.configuration.upstreams.keys.sorted().filter(mayKnow))
  }

  /// Whether it has any right on a configured upstream, and may hear of its name.
  func mayKnow(_ name: String) -> Bool {
    !gateway.upstreams.access.verbs(upstream: name, for: identity).isEmpty
  }

  /// Throws where its user has as many unfinished entries in the outbox as `[quota]` allows.
  func checkOutboxQuota() throws(LocalError) {
    guard let limit = quota.outbox, gateway.relay.outbox.usage.amount(of: identity.uid).count >= limit else { return }
    throw gateway.quotas.refuse(
      identity.uid, "outbox", limit, "durable sends that are not finished; wait until some have left")
  }

  /// What `[quota]` lets its user have. Its groups are those of its socket, so that only a reload changes that.
  @inline(__always)
  var quota: Quota {
    if let lastQuota, lastQuota.generation == gateway.quotas.generation { return lastQuota.quota }
    return lookUpQuota()
  }

  private func lookUpQuota() -> Quota {
    let quotas = gateway.quotas
    let quota = quotas.quota(of: identity, by: gateway.upstreams.access)
    lastQuota = LastQuota(quota, generation: quotas.generation)
    return quota
  }

  // MARK: - Rights

  /// A right on a connection is missing, or on an event of it.
  func denied(_ verb: AccessVerb, _ connection: Connection, event: String? = nil) -> LocalError {
    denied(verb, connection.specification, connection.rules, event: event, naming: lastUsed?.target)
  }

  /// The same where there is no connection. A configured upstream is named if the program may know of it, or has named
  /// it itself, as `target` or in its last call.
  func denied(
    _ verb: AccessVerb, _ specification: UpstreamSpecification, _ place: AccessPlace, event: String? = nil,
    naming target: CallTarget? = nil
  ) -> LocalError {
    .denied(verb, specification, place, event: event, to: identity, by: gateway.upstreams.access) {
      mayKnow($0) || target?.name == .upstream($0)
    }
  }

  /// The same of a right that is for no single upstream, or for the one of that name.
  func denied(_ verb: AccessVerb, on upstream: String?) -> LocalError {
    .denied(verb, on: upstream, by: gateway.upstreams.access)
  }

  /// Throws unless it may do that, with that event or with any, where the connection is there already: its URL may have
  /// become that of a configured upstream.
  func demand(_ verb: AccessVerb, _ event: String? = nil, on connection: Connection) throws(LocalError) {
    let answer = gateway.upstreams.access.answer(verb, at: connection.rules, for: identity)
    guard answer.allows(event) else { throw denied(verb, connection, event: event) }
  }

  /// With which events it may do that on a connection; throws where there are none. `event` is what is asked for.
  func permit(
    _ verb: AccessVerb, _ event: String? = nil, on connection: Connection
  ) throws(LocalError) -> EventPermit {
    let permit = permit(verb, connection.rules)
    guard !permit.passesNone else { throw denied(verb, connection, event: event) }
    return permit
  }

  /// With which events it may do that there.
  func permit(_ verb: AccessVerb, _ place: AccessPlace) -> EventPermit {
    gateway.upstreams.access.answer(verb, at: place, for: identity).permit
  }

  /// Whether it may do that there, with some event at least.
  func may(_ verb: AccessVerb, _ place: AccessPlace) -> Bool {
    gateway.upstreams.access.allows(verb, at: place, for: identity)
  }

  /// Whether it may do that with that event on a connection.
  func may(_ verb: AccessVerb, _ event: String, on connection: Connection) -> Bool {
    gateway.upstreams.access.allows(verb, event, at: connection.rules, for: identity)
  }

  /// Throws unless it may answer what a subscription with this filter brings: what it names it has to have the right to
  /// send, and whatever its globs, or every event, would bring where the server is told which events this host answers:
  /// it asks no other program for them.
  func demandAnswering(_ filter: EventFilter, on connection: Connection) throws(LocalError) {
    let permit = try permit(.send, on: connection)
    guard !permit.passesAll else { return }
    for name in filter.exactNames where !permit.passes(name.text) {
      throw denied(.send, connection, event: name.text)
    }
    guard connection.connector.confirmedInterests == .all else { return }
    for glob in filter.patterns where !permit.covers(glob: glob) {
      throw denied(.send, connection, event: glob)
    }
  }

  /// Throws unless it may have that said.
  func demand(_ request: EnterRequest, on connection: Connection) throws(LocalError) {
    try demand(request.right, request.message.event.text, on: connection)
  }

  /// Of what a subscription holds, what it may say, without each `leave` that it may not.
  func permitted(_ enters: [HeldEnter], on connection: Connection) -> [HeldEnter] {
    enters.filter { may($0.enter, on: connection) }.map { held in
      HeldEnter(enter: held.enter, leave: held.leave.flatMap { may($0, on: connection) ? $0 : nil })
    }
  }

  func may(_ request: EnterRequest, on connection: Connection) -> Bool {
    permit(request.right, connection.rules).passes(request.message.event.text)
  }

  /// Whether it may ask what concerns the whole daemon.
  var isAdministrator: Bool { gateway.upstreams.access.isAdministrator(identity) }

  /// Throws unless it may ask what concerns the whole daemon.
  func demandAdministrator() throws(LocalError) {
    guard isAdministrator else { throw denied(.admin, on: nil) }
  }

  /// Throws unless it may send to any upstream at all.
  func demandSending() throws(LocalError) {
    guard gateway.upstreams.access.generalRights(identity).contains(.send) else { throw denied(.send, on: nil) }
  }

  /// Throws unless it may see anything at all; what is shown is another matter.
  func demandStatus() throws(LocalError) {
    let access = gateway.upstreams.access
    if access.generalRights(identity).contains(.status) { return }
    let names = gateway.configuration.upstreams.keys
    guard names.contains(where: { access.verbs(upstream: $0, for: identity).contains(.status) }) else {
      throw denied(.status, on: nil)
    }
  }

  /// An administrator sees everything, others their own ad-hoc connections and the upstreams that they may use.
  func maySee(_ connection: Connection) -> Bool {
    if isAdministrator { return true }
    if let owner = connection.specification.owner, owner != identity.uid { return false }
    return may(.status, connection.rules.orByURL)
  }

  /// An administrator sees every program, other users their own.
  func maySee(_ client: LocalSession) -> Bool { client.peer.uid == identity.uid || isAdministrator }
}
