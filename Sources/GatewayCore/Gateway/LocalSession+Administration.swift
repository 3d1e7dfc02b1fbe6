/// `status` and `clients.list`.
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
}
