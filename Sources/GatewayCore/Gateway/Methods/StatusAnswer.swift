/// The answer to `status` or `clients.list` while it is being written, in portions: with thousands of connections it
/// takes tens of milliseconds. What does not fit into one line is left out and counted. Decision 0102.
final class StatusAnswer: PortionedAnswer {
  /// What is asked for.
  enum Scope {
    case everything
    /// What there is of one target, perhaps nothing, and the programs that use it.
    case connections([Connection])
    /// `clients.list`.
    case clients
  }

  /// Nothing is listed before the first portion: one that waits for its turn holds no list.
  private enum Step {
    case head
    /// Both are those of the same moment. Of clients their numbers, the oldest first.
    case connections(ListRest<Connection>, clients: ListRest<UInt64>)
    case clients(ListRest<UInt64>, connectionsLeftOut: Int)
    case end
  }

  private var out = JSONWriter()
  private let scope: Scope
  private var step = Step.head

  /// Clients that are looked at in one go, at most.
  private static let clientPortion = 256

  init(_ id: RequestID, _ scope: Scope) {
    self.scope = scope
    LocalReply.begin(id, into: &out)
  }

  var line: [UInt8] { out.bytes }

  func isLong(in gateway: Gateway) -> Bool {
    if case .everything = scope, gateway.upstreams.pool.count > ListRest<Connection>.portion { return true }
    return gateway.clients.count > Self.clientPortion
  }

  func write(for session: LocalSession) -> Bool {
    switch step {
    case .head: step = begin(for: session)
    case .connections(var rest, let clients):
      let fleet = session.gateway.upstreams.fleet
      rest.write(for: session, into: &out) { StatusDocument.write($0, of: fleet, into: &$1) }
      step = .connections(rest, clients: clients)
      guard rest.isEmpty else { return false }
      out.endArray()
      step = beginClients(clients, connectionsLeftOut: rest.leftOut)
    case .clients(var rest, let connectionsLeftOut):
      rest.write(
        Self.clientPortion, for: session, into: &out, { client($0, shownTo: session) },
        { StatusDocument.write($0, into: &$1) })
      step = .clients(rest, connectionsLeftOut: connectionsLeftOut)
      guard rest.isEmpty else { return false }
      out.endArray()
      writeLeftOut(connectionsLeftOut, rest.leftOut)
      LocalReply.end(&out)
      step = .end
      return true
    case .end: return true
    }
    return false
  }

  /// Takes the lists, and writes what stands in front of them.
  private func begin(for session: LocalSession) -> Step {
    let gateway = session.gateway
    let clients = ListRest(oneByOne: gateway.clients.numbersInTurn())
    let connections: ListRest<Connection>
    switch scope {
    case .everything: connections = ListRest(gateway.upstreams.pool.all, for: session)
    case .connections(let asked): connections = ListRest(asked, for: session)
    case .clients: return beginClients(clients, connectionsLeftOut: 0)
    }
    let user = session.caller.isAdministrator ? nil : session.peer.uid
    StatusDocument.writeDaemon(gateway, outboxOf: user, shownTo: session.caller, into: &out)
    out.key("connections")
    out.beginArray()
    return .connections(connections, clients: clients)
  }

  private func beginClients(_ clients: ListRest<UInt64>, connectionsLeftOut: Int) -> Step {
    out.key("clients")
    out.beginArray()
    return .clients(clients, connectionsLeftOut: connectionsLeftOut)
  }

  /// Nil for one that has left meanwhile, and for one that is not asked for.
  private func client(_ number: UInt64, shownTo session: LocalSession) -> LocalSession? {
    guard let client = session.gateway.clients[number], session.caller.maySee(client) else { return nil }
    switch scope {
    case .everything, .clients: return client
    case .connections(let asked):
      return asked.contains { client.uses($0) && session.caller.maySee($0) } ? client : nil
    }
  }

  private func writeLeftOut(_ connections: Int, _ clients: Int) {
    if case .clients = scope { return out.member("left_out", clients) }
    out.key("left_out")
    out.object {
      $0.member("connections", connections)
      $0.member("clients", clients)
    }
  }
}
