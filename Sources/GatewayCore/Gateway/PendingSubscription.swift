/// A `subscribe` that the server has to agree to before it is made.
final class PendingSubscription {
  let call: SubscribeCall
  let filter: EventFilter
  let connection: Connection
  let lease: Lease
  let interests: Set<Interest>
  var wait: InterestWait?

  init(_ call: SubscribeCall, _ filter: EventFilter, on connection: Connection, interests: Set<Interest>) {
    self.call = call
    self.filter = filter
    self.connection = connection
    self.interests = interests
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
