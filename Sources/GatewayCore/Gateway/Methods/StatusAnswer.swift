/// The answer to `status` or `clients.list` while it is being written, in portions: with thousands of connections it
/// takes tens of milliseconds. What does not fit into one line is left out and counted. Decision 0102.
final class StatusAnswer: PortionedAnswer {
  /// What is asked for.
  enum Scope {
    case everything
    /// One connection, and the programs that use it.
    case connection(Connection)
    /// A target without a connection.
    case nothing
    /// `clients.list`.
    case clients
  }

  private enum Step {
    case head
    case connections
    case clients
    case end
  }

  private var out = JSONWriter()
  private let scope: Scope
  private var step = Step.head
  /// Both are empty before the first portion: one that waits for its turn holds no list.
  private var connections = ListRest<Connection>()
  /// By number, the oldest first.
  private var clients = ListRest<UInt64>()

  /// Written in one go: less than a millisecond.
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
    case .connections:
      connections.write(for: session, into: &out) { StatusDocument.write($0, into: &$1) }
      guard connections.elements.isEmpty else { return false }
      out.endArray()
      step = beginClients()
    case .clients:
      clients.write(
        Self.clientPortion, within: StatusDocument.listLimit(session.gateway), into: &out,
        { client($0, shownTo: session) },
        { StatusDocument.write($0, into: &$1) })
      guard clients.elements.isEmpty else { return false }
      out.endArray()
      writeLeftOut()
      LocalReply.end(&out)
      step = .end
    case .end: break
    }
    return step == .end
  }

  /// Takes the lists, and writes what stands in front of them.
  private func begin(for session: LocalSession) -> Step {
    let gateway = session.gateway
    clients.elements = gateway.clients.numbers.sorted()[...]
    switch scope {
    case .everything: connections.elements = gateway.upstreams.pool.all[...]
    case .connection(let connection): connections.elements = [connection]
    case .nothing: break
    case .clients: return beginClients()
    }
    let user = session.caller.isAdministrator ? nil : session.peer.uid
    StatusDocument.writeDaemon(gateway, outboxOf: user, into: &out)
    out.key("connections")
    out.beginArray()
    return .connections
  }

  private func beginClients() -> Step {
    out.key("clients")
    out.beginArray()
    return .clients
  }

  /// Nil for one that has left meanwhile, and for one that is not asked for.
  private func client(_ number: UInt64, shownTo session: LocalSession) -> LocalSession? {
    guard let client = session.gateway.clients[number], session.caller.maySee(client) else { return nil }
    switch scope {
    case .everything, .clients: return client
    case .connection(let connection): return client.uses(connection) && session.caller.maySee(connection) ? client : nil
    case .nothing: return nil
    }
  }

  private func writeLeftOut() {
    if case .clients = scope { return out.member("left_out", clients.leftOut) }
    out.key("left_out")
    out.object {
      $0.member("connections", connections.leftOut)
      $0.member("clients", clients.leftOut)
    }
  }
}
