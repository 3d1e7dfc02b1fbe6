/// The flyweights: the same key is the same connection, for every local program. A connection enters with its first use
/// and leaves when its keeper releases it.
final class ConnectionPool {
  private var connections: [ConnectionKey: Connection] = [:]
  /// All of them as they are listed; nil where that is to be worked out.
  private var order: [Connection]?
  private let factory: ConnectionFactory
  /// Told what its connections report.
  var onReport: (Connection, ConnectionReport) -> Void = { _, _ in }

  /// What users have: connections by URL and other namespaces of configured upstreams. Those that the configuration
  /// names always find room.
  var places: SharedLimit

  init(factory: ConnectionFactory, places: SharedBounds) {
    self.factory = factory
    self.places = SharedLimit(places)
  }

  var count: Int { connections.count }

  /// Whether there is room for the connection of a specification, or it exists; `quota` is what the one who asks for it
  /// may have, where that is another number than others'.
  func checkRoom(for specification: UpstreamSpecification, quota: Int? = nil) throws(SharedBounds.Overrun) {
    guard specification.requester != .configuration, existing(specification) == nil else { return }
    try places.check(for: specification.requester, share: quota ?? places.share)
  }

  /// In a stable order: configured ones by name, then the others by URL. Worked out anew when one came or went.
  var all: [Connection] {
    if let order { return order }
    let sorted = sorted()
    order = sorted
    return sorted
  }

  private func sorted() -> [Connection] {
    let keyed: [(key: (String, String, String, String), connection: Connection)] = connections.values.map {
      let specification = $0.specification
      let name = specification.name ?? "\u{10ffff}"
      return ((name, specification.url.redacted, specification.namespace, $0.id), $0)
    }
    return keyed.sorted { $0.key < $1.key }.map(\.connection)
  }

  /// In no order, which costs less.
  var inNoOrder: some Collection<Connection> { connections.values }

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
      self?.onReport(connection, report)
    }
    connections[key] = made
    order = nil
    if made.account != .configuration { places.count(for: made.account) }
    return made
  }

  private func remove(_ connection: Connection) {
    guard connections.removeValue(forKey: connection.key) != nil else { return }
    order = nil
    if connection.account != .configuration { places.giveBack(for: connection.account) }
  }

  /// Gives a connection the settings of a changed configuration.
  func adopt(_ specification: UpstreamSpecification, for connection: Connection) {
    guard let connector = factory.connector(for: specification) else { return }
    connection.adopt(specification, connector: connector)
    order = nil
  }
}
