/// `[outbox]`: what is kept on disk, and for how long. Zero is refused for each of them.
public struct OutboxSettings: Equatable, Sendable {
  /// Unfinished durable sends to one upstream: count and bytes.
  public var entries = 100_000
  public var bytes = 64 << 20
  /// The same over all upstreams; one user may have half of it.
  var totalEntries = 200_000
  var totalBytes = 128 << 20
  /// How long a durable send may wait at most, and does unless its `ttl` is shorter.
  var age: Duration = .seconds(168 * 3_600)
  var whenFull = OutboxFullPolicy.reject
  /// How long finished entries are shown, and how many of them; their bytes are bounded by `bytes`.
  public var keep: Duration = .seconds(3_600)
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
