/// What every method needs: room for a call, the upstream that it is about, and the right to use it.
extension LocalSession {
  func perform(_ request: LocalRequest) {
    do throws(LocalError) {
      if type(of: request.call).startsWork { try checkRoom() }
      try request.call.perform(in: self, request.id)
    } catch {
      reply(request.id, error)
      // A call that failed may have made a connection that nobody uses now.
      if let lastUsed, lastUsed.isCurrent(in: gateway) { lastUsed.connection.review() }
    }
  }

  /// Whether one more call may wait for its answer.
  func checkRoom() throws(LocalError) {
    if gateway.isDraining { throw .draining }
    try checkOpenCalls()
  }

  /// Whether there are fewer open calls than a client may have.
  func checkOpenCalls() throws(LocalError) {
    let limit = gateway.configuration.limits.inflight
    guard openCallCount < limit else {
      throw LocalError(
        .quotaExceeded, "\(limit) calls of this client are not answered yet; wait for some of them.",
        [.init("quota", .string("inflight")), .init("limit", .integer(limit))])
    }
  }

  // MARK: - Which upstream

  /// Finds the upstream a call is about and checks the caller's right to use it so.
  func target(_ target: CallTarget, need verb: AccessVerb) throws(LocalError) -> UpstreamSpecification {
    let specification = try resolve(target)
    try demand(verb, on: specification)
    return specification
  }

  /// Finds the upstream a call is about.
  func resolve(_ target: CallTarget) throws(LocalError) -> UpstreamSpecification {
    do throws(LocalError) { return try gateway.resolver.resolve(target, uid: peer.uid) } catch {
      guard error.kind == .upstreamUnknown, case .upstream(let name) = target.name else { throw error }
      throw unknownUpstream(name)
    }
  }

  /// Names the upstream that was probably meant, if it is one that the caller may know of.
  func unknownUpstream(_ name: String) -> LocalError {
    let known = gateway.configuration.upstreams.keys.sorted()
    return .unknownUpstream(
      name, among: known.filter { !gateway.access.verbs(upstream: $0, for: identity).isEmpty })
  }

  func demand(_ verb: AccessVerb, on specification: UpstreamSpecification) throws(LocalError) {
    guard gateway.access.allows(verb, upstream: specification.name, for: identity) else {
      throw .denied(verb, on: specification.name ?? specification.url.redacted)
    }
  }

  /// The same where the connection is there already: its URL may have become that of a configured upstream.
  func demand(_ verb: AccessVerb, on connection: Connection) throws(LocalError) {
    guard may(verb, connection.rules) else {
      throw .denied(verb, on: connection.rules.name ?? connection.specification.url.redacted)
    }
  }

  func may(_ verb: AccessVerb, _ rules: AccessScope) -> Bool {
    gateway.access.allows(verb, under: rules, for: identity)
  }

  func demandAdministrator() throws(LocalError) {
    guard gateway.access.isAdministrator(identity) else { throw .denied(.admin, on: nil) }
  }

  /// The connection that a call is about, made if it does not exist yet and there is room for one more. Most programs
  /// name the same target again and again, so the last one is remembered.
  func connection(_ target: CallTarget, need verb: AccessVerb) throws(LocalError) -> Connection {
    if let lastUsed, lastUsed.isCurrent(in: gateway), lastUsed.target == target {
      if lastUsed.right != verb {
        try demand(verb, on: lastUsed.connection)
        lastUsed.right = verb
      }
      return lastUsed.connection
    }
    let specification = try self.target(target, need: verb)
    try checkRoom(for: specification)
    guard let connection = gateway.connection(for: specification) else {
      throw LocalError(.internalError, "No kind of upstream takes this URL.")
    }
    lastUsed = LastUsed(target, connection, right: verb, generation: gateway.generation)
    return connection
  }

  /// Connections that users ask for have a limit in all, and half of it for one user. Configured upstreams always find
  /// room: they are as many as the configuration names.
  private func checkRoom(for specification: UpstreamSpecification) throws(LocalError) {
    do throws(SharedBounds.Overrun) { try gateway.pool.checkRoom(for: specification) } catch {
      let bounds = gateway.pool.places.bounds
      throw LocalError(
        .quotaExceeded,
        "There are too many connections by URL or other namespace (`limits.connections` is \(bounds.total), of which "
          + "one user may have \(bounds.share)); use fewer of them.",
        [.init("quota", .string("connections"))] + error.facts(of: bounds))
    }
  }
}
