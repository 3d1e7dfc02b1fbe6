/// The flyweights: the same key is the same connection, for every local program. A connection enters with its first use
/// and leaves when its keeper releases it.
final class ConnectionPool {
  private var connections: [ConnectionKey: Connection] = [:]
  private let factory: ConnectionFactory
  private let report: (Connection, ConnectionReport) -> Void

  init(factory: ConnectionFactory, report: @escaping (Connection, ConnectionReport) -> Void) {
    self.factory = factory
    self.report = report
  }

  var count: Int { connections.count }
  private var ownedBy: [UInt32: Int] = [:]

  /// How many connections by URL a user has.
  func count(ownedBy user: UInt32) -> Int { ownedBy[user] ?? 0 }

  /// In a stable order: configured ones by name, then the others by URL.
  var all: [Connection] {
    connections.values.sorted {
      ($0.specification.name ?? "\u{10ffff}", $0.specification.url.redacted, $0.specification.namespace, $0.id)
        < ($1.specification.name ?? "\u{10ffff}", $1.specification.url.redacted, $1.specification.namespace, $1.id)
    }
  }

  /// The connection for a specification if it exists.
  func existing(_ specification: UpstreamSpecification) -> Connection? {
    connections[ConnectionKey(specification)]
  }

  /// The connection for a specification, made now if it does not exist. Nil for a scheme that no kind claims.
  func connection(for specification: UpstreamSpecification, context: ConnectionContext) -> Connection? {
    let key = ConnectionKey(specification)
    if let known = connections[key] { return known }
    guard let connector = factory.connector(for: specification) else { return nil }
    let made = Connection(key: key, specification: specification, connector: connector, context: context)
    made.report = { [weak self] connection, report in
      if case .released = report { self?.remove(connection) }
      self?.report(connection, report)
    }
    connections[key] = made
    if let owner = specification.owner { ownedBy[owner, default: 0] += 1 }
    return made
  }

  private func remove(_ connection: Connection) {
    guard connections.removeValue(forKey: connection.key) != nil else { return }
    guard let owner = connection.specification.owner, let count = ownedBy[owner] else { return }
    ownedBy[owner] = count > 1 ? count - 1 : nil
  }

  /// Gives a connection the settings of a changed configuration.
  func adopt(_ specification: UpstreamSpecification, for connection: Connection) {
    guard let connector = factory.connector(for: specification) else { return }
    connection.adopt(specification, connector: connector)
  }
}
