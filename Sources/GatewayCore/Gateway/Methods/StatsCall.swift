/// `stats`: what the daemon and its connections count, for whoever asks every second.
struct StatsCall: LocalCall {
  /// Only the connections of this upstream; nil shows all.
  var target: CallTarget?

  static let method = LocalMethod(
    "stats", "Shows counters that only grow and present amounts, as far as the caller may see them.",
    right: .status, parameters: LocalParameter.optionalTarget, result: StatsDocument.schema)

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) {
    try session.caller.demandStatus()
    var scope = StatsAnswer.Scope.everything
    if let target {
      let specification = try session.caller.specification(target, need: .status)
      scope = .connections(session.gateway.upstreams.connections(of: specification))
    }
    try OpenAnswer.begin(id, in: session) { StatsAnswer($0, scope) }
  }
}

extension StatsCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError) {
    target = try params.optionalTarget(line)
  }
}

/// The answer to `stats` while it is being written. What does not fit into one line is left out and counted.
final class StatsAnswer: PortionedAnswer {
  /// What is asked for.
  enum Scope {
    case everything
    /// What there is of one target, perhaps nothing.
    case connections([Connection])
  }

  private var out = JSONWriter()
  private let scope: Scope
  /// Nil before the first portion: one that waits for its turn holds no list.
  private var connections: ListRest<Connection>?

  init(_ id: RequestID, _ scope: Scope) {
    self.scope = scope
    LocalReply.begin(id, into: &out)
  }

  var line: [UInt8] { out.bytes }

  func isLong(in gateway: Gateway) -> Bool {
    guard case .everything = scope else { return false }
    return gateway.upstreams.pool.count > ListRest<Connection>.portion
  }

  func write(for session: LocalSession) -> Bool {
    let gateway = session.gateway
    let user = session.caller.isAdministrator ? nil : session.peer.uid
    guard var rest = connections else {
      connections = ListRest(listed(in: gateway), for: session)
      StatsDocument.writeDaemon(gateway, of: user, into: &out)
      out.key("connections")
      out.beginArray()
      return false
    }
    rest.write(for: session, into: &out) {
      StatsDocument.write($0, outbox: gateway.relay.amount(for: $0, of: user), into: &$1)
    }
    connections = rest
    guard rest.isEmpty else { return false }
    out.endArray()
    out.member("left_out", rest.leftOut)
    LocalReply.end(&out)
    return true
  }

  private func listed(in gateway: Gateway) -> [Connection] {
    switch scope {
    case .everything: gateway.upstreams.pool.all
    case .connections(let asked): asked
    }
  }
}
