/// A `subscribe` that the server has to agree to before it is made.
final class PendingSubscription: OpenCall {
  let call: SubscribeCall
  let filter: EventFilter
  let target: Connection
  let lease: Lease
  let interests: Set<Interest>
  let hold: FilterHold
  var wait: InterestWait?
  /// What it wants, and what of that is known of the past.
  private var search: RememberingFilter

  init(
    _ id: RequestID?, _ call: SubscribeCall, _ filter: EventFilter, on connection: Connection, interests: Set<Interest>,
    hold: FilterHold
  ) {
    self.call = call
    self.filter = filter
    target = connection
    self.interests = interests
    search = RememberingFilter(filter)
    self.hold = hold
    lease = connection.lease(.subscription)
    super.init(id)
  }

  override var connection: Connection? { target }

  /// Looks at the next portion of the past. Returns whether that was all.
  func look() -> Bool { search.look(at: target.stream.history, call.resume) }

  /// Others have to be looked through before: what was found is not held meanwhile.
  func forget() { search = RememberingFilter(filter) }

  /// What is kept for it.
  func replay() -> EventReplay { target.stream.replay(call.resume, &search) }

  /// It will not be made: gives back what it holds.
  override func cancel(in session: LocalSession) {
    if let wait { target.cancel(wait) }
    wait = nil
    target.giveBack(interests)
    target.giveBack(lease)
  }

  override func demandRights(in session: LocalSession) throws(LocalError) {
    for verb in AccessVerb.needed(answers: call.answer) { try session.demand(verb, on: target) }
  }
}
