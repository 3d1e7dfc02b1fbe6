/// The answer to `status` or `clients.list` while it is being written, in portions: with thousands of connections it takes tens of
/// milliseconds. What does not fit into one line is left out and counted.
final class StatusAnswer {
  /// What of a list is not written yet, and how many were left out.
  private struct Rest<Element> {
    var elements: ArraySlice<Element>
    var leftOut = 0

    /// Writes the next of those that are meant, or counts them once one did not fit.
    mutating func write(
      _ portion: Int, within limit: Int, into out: inout JSONWriter, where isMeant: (Element) -> Bool,
      _ write: (Element, inout JSONWriter) -> Void
    ) {
      let some = elements.prefix(portion).filter(isMeant)
      elements = elements.dropFirst(portion)
      leftOut += leftOut > 0 ? some.count : out.values(some, within: limit, write)
    }
  }

  private enum Step {
    case head
    case connections
    case clients
    case end
  }

  /// The line, as far as it is written.
  private(set) var out = JSONWriter()
  /// Only the clients are asked for.
  private let isList: Bool
  /// The target, if one was named; nil where it is not there.
  private let target: Connection??
  private var step = Step.head
  private var connections: Rest<Connection>
  private var clients: Rest<LocalSession>

  /// Written in one go: less than a millisecond.
  private static let connectionPortion = 64
  private static let clientPortion = 256

  /// `connections` is nil where only the clients are asked for; `target` is what they have to use.
  init(_ id: RequestID, _ connections: [Connection]?, _ clients: [LocalSession], using target: Connection?? = nil) {
    isList = connections == nil
    self.target = target
    self.connections = Rest(elements: (connections ?? [])[...])
    self.clients = Rest(elements: clients[...])
    LocalReply.begin(id, into: &out)
  }

  /// Whether it is worth more than one turn.
  var isLong: Bool {
    connections.elements.count > Self.connectionPortion || clients.elements.count > Self.clientPortion
  }

  /// Writes the next portion for the one who asked, who sees what it may see at that moment. Returns whether that was all.
  func write(for session: LocalSession) -> Bool {
    let gateway = session.gateway
    let limit = StatusDocument.listLimit(gateway)
    switch step {
    case .head:
      if !isList {
        let user = gateway.access.isAdministrator(session.identity) ? nil : session.peer.uid
        StatusDocument.writeDaemon(gateway, outboxOf: user, into: &out)
        out.key("connections")
        out.beginArray()
      }
      step = isList ? beginClients() : .connections
    case .connections:
      connections.write(
        Self.connectionPortion, within: limit, into: &out,
        where: { $0.state != .released && session.maySee($0) }, { StatusDocument.write($0, into: &$1) })
      guard connections.elements.isEmpty else { return false }
      out.endArray()
      step = beginClients()
    case .clients:
      clients.write(
        Self.clientPortion, within: limit, into: &out, where: { isShown($0, to: session) },
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

  private func beginClients() -> Step {
    out.key("clients")
    out.beginArray()
    return .clients
  }

  /// One that has left meanwhile holds nothing any more that could be looked at.
  private func isShown(_ client: LocalSession, to session: LocalSession) -> Bool {
    guard session.gateway.sessions[client.number] === client, session.maySee(client) else { return false }
    guard let target else { return true }
    return target.map { client.uses($0) && session.maySee($0) } ?? false
  }

  private func writeLeftOut() {
    guard !isList else { return out.member("left_out", clients.leftOut) }
    out.key("left_out")
    out.object {
      $0.member("connections", connections.leftOut)
      $0.member("clients", clients.leftOut)
    }
  }
}
