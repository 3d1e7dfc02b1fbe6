/// A `subscribe` that is not made yet: the server has to agree to it, or what was missed is still looked for.
final class PendingSubscription {
  let call: SubscribeCall
  let filter: EventFilter
  let connection: Connection
  let lease: Lease
  let interests: Set<Interest>
  var wait: InterestWait?
  /// Nil where what was missed is found quickly.
  let preparation: ReplayPreparation?

  init(_ call: SubscribeCall, _ filter: EventFilter, on connection: Connection, interests: Set<Interest>) {
    self.call = call
    self.filter = filter
    self.connection = connection
    self.interests = interests
    preparation = ReplayPreparation(call.resume, filter, in: connection.stream.history)
    lease = connection.lease(.subscription)
  }

  /// It will not be made: gives back what it holds.
  func giveUp() {
    if let wait { connection.cancel(wait) }
    wait = nil
    connection.giveBack(interests)
    connection.giveBack(lease)
  }
}
