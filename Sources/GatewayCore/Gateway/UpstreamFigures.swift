/// What all connections of one upstream come to together: those of its namespaces, or all by URL.
struct UpstreamFigures {
  /// Stands where the name of an upstream does, for all connections by URL: no upstream has such a name.
  private static let byURL = "(url)"

  /// Under which name a connection is counted.
  static func label(of connection: Connection) -> String { connection.specification.name ?? byURL }

  /// What connections have counted that are, and that were.
  var counters = ConnectionCounters()
  private(set) var states: [ConnectionState: Int] = [:]
  /// How many are not connected for each reason.
  private(set) var reasons: [DownReason: Int] = [:]
  /// Since when the one is not connected that is so the longest.
  private(set) var longestDown = Duration.zero
  private(set) var subscriptions = 0
  private(set) var queue = (count: 0, bytes: 0, age: Duration.zero)
  private(set) var outbox = (count: 0, bytes: 0)

  /// One connection more, with what waits for it in the outbox. Of one that is gone only what it has counted is left.
  /// Of the link of a fleet's holder nothing counts here: it is beside the connection that programs use.
  mutating func add(_ connection: Connection, outbox stored: OutboxUsage.Amount) {
    let time = connection.context.time
    let now = time.now
    counters.add(.ofUpstream(connection, at: now))
    guard connection.state != .released, !connection.specification.isHeld else { return }
    states[connection.state, default: 0] += 1
    if let reason = connection.downFailure?.reason { reasons[reason, default: 0] += 1 }
    longestDown = max(longestDown, connection.record.down(at: now) ?? .zero)
    subscriptions += connection.stream.subscriptionCount
    let delivery = connection.delivery
    queue.count += delivery.commands.queue.count
    queue.bytes += delivery.commands.queue.byteCount
    if let oldest = delivery.commands.queue.oldest {
      queue.age = max(queue.age, .milliseconds(time.wallMilliseconds - oldest))
    }
    outbox.count += stored.count
    outbox.bytes += stored.bytes
  }
}
