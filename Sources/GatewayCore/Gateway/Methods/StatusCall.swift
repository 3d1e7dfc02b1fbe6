/// `status`: the daemon, its connections and its clients.
struct StatusCall: LocalCall {
  /// Only the connection of this upstream, and who uses it; nil shows all.
  var target: CallTarget?

  static let method = LocalMethod(
    "status", "Shows the daemon, its connections and its local clients, as far as the caller may see them.",
    right: .status, parameters: LocalParameter.optionalTarget, result: ResultSchemas.status)

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) { try session.status(target, id) }
}

extension StatusCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError) {
    target = try params.optionalTarget(line)
  }
}

extension LocalSession {
  fileprivate func status(_ target: CallTarget?, _ id: RequestID?) throws(LocalError) {
    try demandStatus()
    guard let target else { return try answer(id, .everything) }
    let asked = gateway.pool.existing(try self.target(target, need: .status))
    try answer(id, asked.map { .connection($0) } ?? .nothing)
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
  func maySee(_ connection: Connection) -> Bool {
    if gateway.access.isAdministrator(identity) { return true }
    if let owner = connection.specification.owner, owner != peer.uid { return false }
    return gateway.access.allows(.status, upstream: connection.rules.name, for: identity)
  }

  /// An administrator sees everybody, others their own programs.
  func maySee(_ client: LocalSession) -> Bool {
    client.peer.uid == peer.uid || gateway.access.isAdministrator(identity)
  }
}
