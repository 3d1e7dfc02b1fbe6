/// `[limits]`: every bound of the daemon that is not an upstream's own. Zero is refused for each of them.
public struct Limits: Equatable, Sendable {
  /// Longest line of the local protocol in either direction, in bytes.
  public var line = 1 << 20
  /// The least that it may be: what is shorter fits into every line.
  static let leastLine = 1 << 10
  /// Local clients in all; the next one is turned away.
  var clients = 16_384
  /// Local clients of one uid.
  var clientsPerUser = 4_096
  /// Subscriptions of one local client.
  var subscriptions = 128
  /// Calls of one local client that are not answered yet.
  var inflight = 256
  /// Events queued for one subscription that does not read: count and bytes.
  var subscriptionQueue = 10_000
  var subscriptionQueueBytes = 16 << 20
  /// Bytes queued for one local client over all its subscriptions and replies.
  var clientQueueBytes = 64 << 20
  /// Sends of one user queued on one connection that is not connected: count and bytes. All users together may have
  /// twice as many.
  var sendQueue = 10_000
  var sendQueueBytes = 64 << 20
  /// Bytes of memory of all connections and clients together, of which one user may have half: of what has come of
  /// messages and lines without their end; of sends and of events that wait for clients; of histories.
  var receiveBytes = 256 << 20
  var sendBytes = 512 << 20
  var historyBytes = 512 << 20
  /// How long a send's `key` is remembered, in hours. No setting; documents name it too.
  public static let keyHours = 24
  /// Idempotency keys of the last `keyHours` that are remembered for one user; the next one is refused.
  var keys = 10_000
  /// Connections that users asked for: by URL, or other namespaces of configured upstreams. One user may have half of
  /// them.
  var connections = 4_096
  /// Attempts to connect that may start per second in the long run, and at once after a quiet time.
  var attempts = 100
  var attemptsBurst = 100
  /// Time that queued sends and unread replies get when the daemon stops.
  public var stop: Duration = .seconds(5)
  init() {}

  /// Of local clients; the share is a setting of its own.
  var sharedClients: SharedBounds { SharedBounds(total: clients, share: clientsPerUser) }
}

extension MemoryBudgets {
  /// Their totals from `[limits]`; what is held stays.
  func adopt(_ limits: Limits) {
    receive.adopt(total: limits.receiveBytes)
    send.adopt(total: limits.sendBytes)
    history.adopt(total: limits.historyBytes)
    // A history has up to twice its bytes in files.
    historyFiles.adopt(total: 2 * limits.historyBytes)
  }
}

/// `[outbox]`: what is kept on disk, and for how long. Zero is refused for each of them.
struct OutboxSettings: Equatable, Sendable {
  /// Unfinished durable sends to one upstream: count and bytes.
  var entries = 100_000
  var bytes = 64 << 20
  /// The same over all upstreams; one user may have half of it.
  var totalEntries = 200_000
  var totalBytes = 128 << 20
  /// How long a durable send may wait at most, and does unless its `ttl` is shorter.
  var age: Duration = .seconds(168 * 3_600)
  var whenFull = OutboxFullPolicy.reject
  /// How long finished entries are shown, and how many of them; their bytes are bounded by `bytes`.
  var keep: Duration = .seconds(3_600)
  var keepEntries = 10_000
  init() {}
}

/// What happens to a durable send when the outbox is full.
enum OutboxFullPolicy: String, CaseIterable, Sendable {
  /// It fails with QueueFull.
  case reject
  /// Its user's oldest one gives way, with the outcome `dropped`.
  case dropOldest = "drop_oldest"
}
