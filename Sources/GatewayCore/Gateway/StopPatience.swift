/// Which connections a stop waits for: those that may still let out what is queued. One that was down already when the
/// stop began gets one attempt more and a short time for it, so that a server that is known to be away costs no stop its
/// whole time.
struct StopPatience {
  /// How long a connection may take that was down.
  static let lastChance: Duration = .seconds(2)

  /// The number of the last attempt of each connection that was down.
  private let attempts: [ObjectIdentifier: UInt64]
  private let end: MonotonicInstant

  init(_ connections: some Collection<Connection>, now: MonotonicInstant) {
    let down = connections.filter { $0.state == .disconnected || $0.failedAttempts > 0 && $0.state != .connected }
    attempts = Dictionary(
      uniqueKeysWithValues: down.map {
        (ObjectIdentifier($0), $0.state == .disconnected ? $0.generation : $0.generation - 1)
      })
    end = now + Self.lastChance
  }

  func waits(for connection: Connection, at now: MonotonicInstant) -> Bool {
    guard !connection.isFlushed else { return false }
    guard connection.state != .connected else { return true }
    guard connection.expectsAttempt else { return false }
    guard let before = attempts[ObjectIdentifier(connection)] else { return true }
    return now < end && (connection.state != .disconnected || connection.generation == before)
  }
}
