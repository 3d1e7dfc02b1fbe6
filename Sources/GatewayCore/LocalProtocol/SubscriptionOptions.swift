/// How a subscription is to be delivered, as `subscribe` asks for it.
struct SubscriptionOptions: Equatable, Sendable {
  /// Deliver every state transition too.
  var state = false
  /// Receive `ack` tokens and answer them.
  var answer = false
  /// Queue limit in events; nil means the configured one.
  var queue: Int?
  var onSlow = SlowPolicy.dropOldest
  /// Deliver only so many events until `credit` adds more; nil means no such limit.
  var credit: Int?
}

/// What happens to a subscription whose client does not read. `on_slow`.
enum SlowPolicy: String, CaseIterable, Sendable {
  /// The oldest queued events make room; a gap stands in their place.
  case dropOldest = "drop_oldest"
  /// The client is disconnected.
  case disconnect
  /// What is queued stays; newer events are not taken until the client has read, then a gap names them.
  case pause
}

/// Where a subscriber left off, or whoever asks for a history.
enum ResumePoint: Equatable, Sendable {
  /// Behind that event.
  case since(epoch: String, sequence: UInt64)
  /// Before the last so many events.
  case last(Int)
}
