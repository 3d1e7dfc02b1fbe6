/// When a send is answered.
public enum DeliveryLevel: String, CaseIterable, Sendable {
  /// In the daemon's memory.
  case accepted
  /// On disk, synced.
  case durable
  /// Written to the upstream's transport.
  case sent
  /// Acknowledged by the server.
  case acked
}

/// What is known of a durable send. Every one begins as `queued` and ends in exactly one of the others, for ever.
public enum OutboxState: String, CaseIterable, Sendable {
  /// Waits to be written or, with `retries`, for the acknowledgement; may become any of the others.
  case queued
  /// Written to the transport; no acknowledgement was wanted.
  case sent
  /// The server acknowledged.
  case acked
  /// Its time-to-live ended before that.
  case expired
  /// Taken back by `outbox.cancel` or `outbox.purge`.
  case cancelled
  /// What is known of the server now makes it impossible to send.
  case refused
  /// Gave way to a newer one, because a limit was reached or because both had the same `coalesce`.
  case dropped
  /// Written as often as its `retries` allow, and never acknowledged: delivered or not is unknown.
  case lost

  /// Whether nothing can happen to it any more.
  var isFinal: Bool { self != .queued }
}
