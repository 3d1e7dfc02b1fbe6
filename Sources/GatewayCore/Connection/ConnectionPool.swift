/// The flyweights: the same key is the same connection, for every local program. A connection enters with its first use
/// and leaves when its keeper releases it.
final class ConnectionPool {
  private let reference = LightReference<ConnectionPool>()
  private var connections: [ConnectionKey: Connection] = [:]
  /// In a stable order: configured ones by name, then the others by URL. Kept in it as they come and go: to sort
  /// thousands of them takes many milliseconds, which whoever asks for their status would cost the others.
  private(set) var all: [Connection] = []
  private let factory: ConnectionFactory
  /// Told what its connections report. To be set before there are any.
  var onReport: (Connection, ConnectionReport) -> Void = { _, _ in }

  /// What users have: connections by URL and other namespaces of configured upstreams. Those that the configuration
  /// names always find room.
  var places: SharedLimit

  init(factory: ConnectionFactory, places: SharedBounds) {
    self.factory = factory
    self.places = SharedLimit(places)
    reference.begin(self)
  }

  deinit { reference.end() }

  var count: Int { connections.count }

  /// Whether there is room for the connection of a specification, or it exists; `quota` is what the one who asks for it
  /// may have, where that is another number than others'.
  func checkRoom(for specification: UpstreamSpecification, quota: Int? = nil) throws(SharedBounds.Overrun) {
    guard specification.requester != .configuration, existing(specification) == nil else { return }
    try places.check(for: specification.requester, share: quota ?? places.share)
  }

  /// Where one stands in the list, or would.
  private func place(of connection: Connection) -> Int {
    let rank = Self.rank(of: connection)
    var (low, high) = (0, all.count)
    while low < high {
      let middle = (low + high) / 2
      if Self.rank(of: all[middle]) < rank { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private static func rank(of connection: Connection) -> (String, String, String, String) {
    rank(of: connection, with: connection.specification)
  }

  private static func rank(
    of connection: Connection, with specification: UpstreamSpecification
  ) -> (String, String, String, String) {
    (specification.name ?? "\u{10ffff}", specification.url.redacted, specification.namespace, connection.id)
  }

  private func list(_ connection: Connection) { all.insert(connection, at: place(of: connection)) }

  private func unlist(_ connection: Connection) {
    let place = place(of: connection)
    if place < all.count, all[place] === connection { all.remove(at: place) }
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
    made.onRelease = { [reference] in reference.object?.remove($0) }
    made.onReport = onReport
    connections[key] = made
    list(made)
    if made.account != .configuration { places.count(for: made.account) }
    return made
  }

  private func remove(_ connection: Connection) {
    guard connections.removeValue(forKey: connection.key) != nil else { return }
    unlist(connection)
    if connection.account != .configuration { places.giveBack(for: connection.account) }
  }

  /// Gives a connection the settings of a changed configuration.
  func adopt(_ specification: UpstreamSpecification, for connection: Connection) {
    guard let connector = factory.connector(for: specification) else { return }
    // Its place is another one only where its name or its URL is.
    let moves = Self.rank(of: connection, with: specification) != Self.rank(of: connection)
    if moves { unlist(connection) }
    connection.adopt(specification, connector: connector)
    if moves, connections[connection.key] === connection { list(connection) }
  }
}
