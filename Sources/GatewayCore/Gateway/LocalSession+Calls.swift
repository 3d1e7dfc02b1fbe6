/// The table of methods: every call of the local protocol and what answers it.
extension LocalSession {
  func perform(_ request: LocalRequest) {
    do throws(LocalError) {
      try checkRoom(for: request.call)
      try answer(request.call, id: request.id)
    } catch {
      reply(request.id, error)
      // A call that failed may have made a connection that nobody uses now.
      if let lastUsed, lastUsed.isCurrent(in: gateway) { lastUsed.connection.review() }
    }
  }

  private func answer(_ call: LocalCall, id: RequestID?) throws(LocalError) {
    switch call {
    case .hello(let client, let version): try hello(client: client, version: version, id)
    case .subscribe(let call): try subscribe(call, id)
    case .history(let call): try history(call, id)
    case .unsubscribe(let subscription): try unsubscribe(subscription, id)
    case .credit(let subscription, let count): try credit(subscription, count, id)
    case .send(let call): try send(call, form: .send(call.delivery), id)
    case .request(let call): try send(call, form: .request, id)
    case .respond(let call): try respond(call, id)
    case .wait(let target, let state, let timeout): try wait(target, state, timeout, id)
    case .status(let target): try status(target, id)
    case .outboxList(let selection, let limit): try listOutbox(selection, limit, id)
    case .outboxCancel(let selection): try cancelStored(selection, id)
    case .outboxRetry(let selection): try retryStored(selection, id)
    case .outboxPurge(let selection): try purgeStored(selection, id)
    case .drain(let timeout): try drain(timeout, id)
    case .clientsList: try listClients(id)
    case .clientsKick(let client): try kick(client, id)
    case .reconnect(let target):
      try order(target, .connect, id) { connection throws(IllegalTransition) in try connection.reconnect() }
    case .disconnect(let target):
      try order(target, .disconnect, id) { connection throws(IllegalTransition) in try connection.disconnect() }
    case .release(let target):
      try order(target, .release, id) { connection throws(IllegalTransition) in try connection.release() }
    case .doctor(let target, let timeout): try examine(target, limit: timeout, id)
    case .trace(let target, let payloads): try trace(target, payloads: payloads, id)
    case .untrace(let trace): try untrace(trace, id)
    case .reload: try reload(id)
    case .ping: reply(id)
    case .cancel(let other): cancel(other, id)
    case .discover:
      let version = gateway.identity.version
      reply(id) { Discovery.write(version: version, into: &$0) }
    }
  }

  /// Whether a call may be begun now.
  private func checkRoom(for call: LocalCall) throws(LocalError) {
    if call.startsWork { try checkRoom() }
  }

  /// Whether one more call may wait for its answer.
  func checkRoom() throws(LocalError) {
    if gateway.isDraining { throw .draining }
    let limit = gateway.configuration.limits.inflight
    guard openCallCount < limit else {
      throw LocalError(
        .quotaExceeded, "\(limit) calls of this client are not answered yet; wait for some of them.",
        [.init("quota", .string("inflight")), .init("limit", .integer(limit))])
    }
  }

  // MARK: - Who and what

  private func hello(client: String?, version: Int?, _ id: RequestID?) throws(LocalError) {
    if let version, version != 1 {
      throw LocalError(
        .invalidParams, "Protocol version \(version) is not spoken here; this gateway speaks version 1.",
        [.init("min", .integer(1)), .init("max", .integer(1))])
    }
    name = client ?? name
    let gateway = gateway
    let peer = peer
    reply(id) { out in
      out.key("server")
      out.string("gatewayd/\(gateway.identity.version)")
      out.key("protocol")
      out.object {
        $0.member("min", 1); $0.member("max", 1)
      }
      out.key("instance")
      out.string(gateway.instance)
      let limits = gateway.configuration.limits
      out.key("limits")
      out.object {
        $0.member("line", limits.line)
        $0.member("subscriptions", limits.subscriptions)
        $0.member("inflight", limits.inflight)
        $0.member("queue", limits.subscriptionQueue)
      }
      out.key("features")
      out.beginArray()
      out.string("history")
      if gateway.keepsSends { out.string("durable") }
      out.endArray()
      out.key("you")
      out.object {
        $0.member("uid", Int(peer.uid))
        $0.member("gid", Int(peer.gid))
        $0.key("rights")
        $0.beginArray()
        for verb in gateway.access.generalRights(identity) { $0.string(verb.rawValue) }
        $0.endArray()
      }
    }
  }

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

  // MARK: - Cancelling

  private func cancel(_ other: RequestID, _ id: RequestID?) {
    if let number = openCall(with: other), let call = close(number) {
      abandon(call.work)
      reply(call.id, LocalError(.cancelled, "The call was cancelled by `rpc.cancel`."))
    }
    reply(id)
  }
}

extension LocalCall {
  /// Whether the call begins something that may last, and is therefore counted and refused while the gateway stops.
  fileprivate var startsWork: Bool {
    switch self {
    case .subscribe, .send, .request, .wait, .doctor, .outboxRetry: true
    case .hello, .history, .unsubscribe, .credit, .respond, .status, .clientsList, .clientsKick, .reconnect,
      .disconnect,
      .release, .trace, .untrace, .reload, .ping, .cancel, .discover, .outboxList, .outboxCancel, .outboxPurge, .drain:
      false
    }
  }
}
