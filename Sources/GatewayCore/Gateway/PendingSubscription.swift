/// A `subscribe` that the server has to agree to before it is made.
final class PendingSubscription {
  let call: SubscribeCall
  let filter: EventFilter
  let connection: Connection
  let lease: Lease
  let interests: Set<Interest>
  let hold: FilterHold
  var wait: InterestWait?
  /// What it wants, and what of that is known of the past.
  private var search: RememberingFilter

  init(
    _ call: SubscribeCall, _ filter: EventFilter, on connection: Connection, interests: Set<Interest>, hold: FilterHold
  ) {
    self.call = call
    self.filter = filter
    self.connection = connection
    self.interests = interests
    search = RememberingFilter(filter)
    self.hold = hold
    lease = connection.lease(.subscription)
  }

  /// Looks at the next portion of the past. Returns whether that was all.
  func look() -> Bool { search.look(at: connection.stream.history, call.resume) }

  /// Others have to be looked through before: what was found is not held meanwhile.
  func forget() { search = RememberingFilter(filter) }

  /// What is kept for it.
  func replay() -> EventReplay { connection.stream.replay(call.resume, &search) }

  /// It will not be made: gives back what it holds.
  func giveUp() {
    if let wait { connection.cancel(wait) }
    wait = nil
    connection.giveBack(interests)
    connection.giveBack(lease)
  }
}
