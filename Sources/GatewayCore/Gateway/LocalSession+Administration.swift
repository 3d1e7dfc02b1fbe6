/// `status`, `clients.*`, `reconnect`, `disconnect`, `release` and `reload`.
extension LocalSession {
  func status(_ target: CallTarget?, _ id: RequestID?) throws(LocalError) {
    try demandStatus()
    let asked: [Connection]
    if let target {
      asked = gateway.pool.existing(try self.target(target, need: .status)).map { [$0] } ?? []
    } else {
      asked = gateway.pool.all
    }
    let shown = asked.filter { maySee($0) }
    var clients = visibleClients
    if target != nil { clients = clients.filter { client in shown.contains { client.uses($0) } } }
    let user = gateway.access.isAdministrator(identity) ? nil : peer.uid
    reply(id) { StatusDocument.write(gateway, connections: shown, clients: clients, outboxOf: user, into: &$0) }
  }

  /// Whoever may see anything at all may ask; what is shown is another matter.
  func demandStatus() throws(LocalError) {
    if gateway.access.generalRights(identity).contains(.status) { return }
    let names = gateway.configuration.upstreams.keys
    guard names.contains(where: { gateway.access.allows(.status, upstream: $0, for: identity) }) else {
      throw .denied(.status, on: nil)
    }
  }

  /// An administrator sees everything, others their own ad-hoc connections and the upstreams that they may use.
  private func maySee(_ connection: Connection) -> Bool {
    if gateway.access.isAdministrator(identity) { return true }
    if let owner = connection.specification.owner, owner != peer.uid { return false }
    return gateway.access.allows(.status, upstream: connection.rules.name, for: identity)
  }

  private var visibleClients: [LocalSession] {
    let all = gateway.sessions.values.sorted { $0.number < $1.number }
    return gateway.access.isAdministrator(identity) ? all : all.filter { $0.peer.uid == peer.uid }
  }

  func listClients(_ id: RequestID?) throws(LocalError) {
    try demandStatus()
    let clients = visibleClients
    reply(id) { StatusDocument.write(gateway, clients: clients, into: &$0) }
  }

  func kick(_ client: String, _ id: RequestID?) throws(LocalError) {
    try demandAdministrator()
    guard let other = gateway.sessions.values.first(where: { $0.label == client }) else {
      throw LocalError(.invalidParams, "No client is called '\(client)'; `clients.list` names them.")
    }
    reply(id)
    other.drop(reason: "kicked")
  }

  /// `reconnect`, `disconnect` and `release`.
  func order(
    _ target: CallTarget, _ asked: ConnectionStateMachine.Event, _ id: RequestID?,
    _ perform: (Connection) throws(IllegalTransition) -> Void
  ) throws(LocalError) {
    let specification = try self.target(target, need: .admin)
    guard let connection = gateway.pool.existing(specification) else {
      throw LocalError(IllegalTransition(state: .released, asked: asked))
    }
    do { try perform(connection) } catch { throw LocalError(error) }
    reply(id) { $0.member("state", connection.state.rawValue) }
  }

  func reload(_ id: RequestID?) throws(LocalError) {
    try demandAdministrator()
    if gateway.isDraining { throw .draining }
    switch gateway.reload() {
    case .success(let changed):
      reply(id) { out in
        out.key("changed")
        out.beginArray()
        changed.forEach { out.string($0) }
        out.endArray()
      }
    case .failure(let problems): throw LocalError(problems)
    }
  }
}
