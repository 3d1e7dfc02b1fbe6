/// The answer to `status` or `clients.list` while it is being written, in portions: with thousands of connections it
/// takes tens of milliseconds. What does not fit into one line is left out and counted. Decision 0102.
final class StatusAnswer {
  /// What is asked for.
  enum Scope {
    case everything
    /// One connection, and who uses it.
    case connection(Connection)
    /// A target without a connection.
    case nothing
    /// `clients.list`.
    case clients
  }

  /// What of a list is not written yet, and how many were left out.
  private struct Rest<Element> {
    var elements: ArraySlice<Element> = []
    var leftOut = 0

    /// Writes the next of those that `shown` finds, or counts them once one did not fit.
    mutating func write<Shown>(
      _ portion: Int, within limit: Int, into out: inout JSONWriter, _ shown: (Element) -> Shown?,
      _ write: (Shown, inout JSONWriter) -> Void
    ) {
      let some = elements.prefix(portion).compactMap(shown)
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
  private let scope: Scope
  private var step = Step.head
  /// Both are empty before the first portion: one that waits for its turn holds no list.
  private var connections = Rest<Connection>()
  /// By number, the oldest first.
  private var clients = Rest<UInt64>()

  /// Written in one go: less than a millisecond.
  private static let connectionPortion = 64
  private static let clientPortion = 256

  init(_ id: RequestID, _ scope: Scope) {
    self.scope = scope
    LocalReply.begin(id, into: &out)
  }

  /// Whether it is worth more than one turn now.
  func isLong(in gateway: Gateway) -> Bool {
    if case .everything = scope, gateway.upstreams.pool.count > Self.connectionPortion { return true }
    return gateway.clients.count > Self.clientPortion
  }

  /// Writes the next portion for the one who asked, who sees what it may see at that moment. Returns whether that was
  /// all.
  func write(for session: LocalSession) -> Bool {
    let gateway = session.gateway
    let limit = StatusDocument.listLimit(gateway)
    switch step {
    case .head: step = begin(for: session)
    case .connections:
      connections.write(
        Self.connectionPortion, within: limit, into: &out,
        { $0.state != .released && session.caller.maySee($0) ? $0 : nil }, { StatusDocument.write($0, into: &$1) })
      guard connections.elements.isEmpty else { return false }
      out.endArray()
      step = beginClients()
    case .clients:
      clients.write(
        Self.clientPortion, within: limit, into: &out, { client($0, shownTo: session) },
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

/// A `status` or `clients.list` that is written in turns of its own. Until it is complete, nothing more of its client
/// is heard.
private final class OpenStatus: OpenCall {
  let id: RequestID?
  let answer: StatusAnswer

  init(_ id: RequestID, _ answer: StatusAnswer) {
    self.id = id
    self.answer = answer
  }

  func cancel(in session: LocalSession) { session.awaitsLongAnswer = false }

  func demandRights(in session: LocalSession) throws(LocalError) { try session.caller.demandStatus() }
}

extension LocalSession {
  /// Answers at once, or a long answer in turns of its own; a notification is not answered. While the daemon ends,
  /// nothing waits for turns any more.
  func answer(_ id: RequestID?, _ scope: StatusAnswer.Scope) throws(LocalError) {
    guard let id else { return }
    let answer = StatusAnswer(id, scope)
    guard answer.isLong(in: gateway), !gateway.isStopping else {
      while !answer.write(for: self) {}
      return reply(line: answer.out.bytes)
    }
    try checkOpenCalls()
    awaitsLongAnswer = true
    let number = makeCallNumber()
    open(OpenStatus(id, answer), number: number)
    gateway.shares.work.add(for: .user(peer.uid)) { [weak self] in self?.writeStatus(number) ?? true }
  }

  /// Writes the next portion. Returns whether that was all, or nobody waits for it any more.
  private func writeStatus(_ number: UInt64) -> Bool {
    guard let call = openCall(number) as? OpenStatus else { return true }
    guard call.answer.write(for: self) else { return false }
    _ = close(number)
    awaitsLongAnswer = false
    reply(line: call.answer.out.bytes)
    return true
  }
}
