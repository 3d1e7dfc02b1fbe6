/// In whose name a local client's calls are made: which upstream a call means, and what the client may do with it.
final class Caller {
  let identity: AccessIdentity
  /// Outlives its clients. Used for every call, so that a check of it each time would be felt.
  private unowned(unsafe) let gateway: Gateway
  /// What the last call was about.
  private var lastUsed: LastUsed?

  /// A target that was resolved before, and what the client may do with it.
  private final class LastUsed {
    let target: CallTarget
    /// Not looked at unless `isCurrent`: a connection that leaves the pool begins a new generation.
    unowned(unsafe) let connection: Connection
    private let generation: UInt64
    /// The right that was found to be there the last time.
    var right: AccessVerb?

    init(_ target: CallTarget, _ connection: Connection, right: AccessVerb, generation: UInt64) {
      self.target = target
      self.connection = connection
      self.right = right
      self.generation = generation
    }

    /// Neither the configuration nor the pool has changed since.
    func isCurrent(in upstreams: Upstreams) -> Bool { generation == upstreams.generation }
  }

  init(_ identity: AccessIdentity, in gateway: Gateway) {
    self.identity = identity
    self.gateway = gateway
  }

  // MARK: - Which upstream

  /// The connection that a call is about, made if it does not exist yet and there is room for one more. Most programs
  /// name the same target again and again, so the last one is remembered.
  func connection(_ target: CallTarget, need verb: AccessVerb) throws(LocalError) -> Connection {
    let upstreams = gateway.upstreams
    if let lastUsed, lastUsed.isCurrent(in: upstreams), lastUsed.target == target {
      if lastUsed.right != verb {
        try demand(verb, on: lastUsed.connection)
        lastUsed.right = verb
      }
      return lastUsed.connection
    }
    let specification = try specification(target, need: verb)
    try checkRoom(for: specification)
    guard let connection = upstreams.connection(for: specification) else {
      throw LocalError(.internalError, "No kind of upstream takes this URL.")
    }
    lastUsed = LastUsed(target, connection, right: verb, generation: upstreams.generation)
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
    do throws(SharedBounds.Overrun) { try pool.checkRoom(for: specification) } catch {
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
    let specification = try resolve(target)
    guard gateway.upstreams.access.allows(verb, upstream: specification.name, for: identity) else {
      throw .denied(verb, on: specification.name ?? specification.url.redacted)
    }
    return specification
  }

  private func resolve(_ target: CallTarget) throws(LocalError) -> UpstreamSpecification {
    do throws(LocalError) { return try gateway.upstreams.resolver.resolve(target, uid: identity.uid) } catch {
      guard error.kind == .upstreamUnknown, case .upstream(let name) = target.name else { throw error }
      throw unknownUpstream(name)
    }
  }

  /// Names the upstream that was probably meant, if it is one that the caller may know of.
  func unknownUpstream(_ name: String) -> LocalError {
    let known = gateway.configuration.upstreams.keys.sorted()
    return .unknownUpstream(
      name, among: known.filter { !gateway.upstreams.access.verbs(upstream: $0, for: identity).isEmpty })
  }

  // MARK: - Rights

  /// Throws unless it may do that where the connection is there already: its URL may have become that of a configured
  /// upstream.
  func demand(_ verb: AccessVerb, on connection: Connection) throws(LocalError) {
    guard may(verb, connection.rules) else {
      throw .denied(verb, on: connection.rules.name ?? connection.specification.url.redacted)
    }
  }

  /// Whether it may do that where those rules hold.
  func may(_ verb: AccessVerb, _ rules: AccessScope) -> Bool {
    gateway.upstreams.access.allows(verb, under: rules, for: identity)
  }

  /// Whether it may ask what concerns the whole daemon.
  var isAdministrator: Bool { gateway.upstreams.access.isAdministrator(identity) }

  /// Throws unless it may ask what concerns the whole daemon.
  func demandAdministrator() throws(LocalError) {
    guard isAdministrator else { throw .denied(.admin, on: nil) }
  }

  /// Throws unless it may send to any upstream at all.
  func demandSending() throws(LocalError) {
    guard gateway.upstreams.access.generalRights(identity).contains(.send) else { throw .denied(.send, on: nil) }
  }

  /// Throws unless it may see anything at all; what is shown is another matter.
  func demandStatus() throws(LocalError) {
    let access = gateway.upstreams.access
    if access.generalRights(identity).contains(.status) { return }
    let names = gateway.configuration.upstreams.keys
    guard names.contains(where: { access.allows(.status, upstream: $0, for: identity) }) else {
      throw .denied(.status, on: nil)
    }
  }

  /// An administrator sees everything, others their own ad-hoc connections and the upstreams that they may use.
  func maySee(_ connection: Connection) -> Bool {
    if isAdministrator { return true }
    if let owner = connection.specification.owner, owner != identity.uid { return false }
    return gateway.upstreams.access.allows(.status, upstream: connection.rules.name, for: identity)
  }

  /// An administrator sees every program, other users their own.
  func maySee(_ client: LocalSession) -> Bool { client.peer.uid == identity.uid || isAdministrator }
}
