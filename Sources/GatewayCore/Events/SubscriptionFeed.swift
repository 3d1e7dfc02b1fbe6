/// The part of a subscription that the fan-out touches for every event: plain memory, no object.
struct SubscriptionFeed {
  typealias Pointer = UnsafeMutablePointer<SubscriptionFeed>
  /// The client's output.
  let output: ClientOutputs.Pointer
  /// The beginning of every event notification of this subscription, shared with others of the same id.
  let head: UnsafeRawBufferPointer
  /// Events may be appended to the output directly: nothing is queued before them and no credit is counted.
  var flows = true
  /// Receives acknowledgement tokens.
  let answers: Bool
  /// Not retained: the feed never outlives its subscription.
  let subscription: Unmanaged<Subscription>
}
