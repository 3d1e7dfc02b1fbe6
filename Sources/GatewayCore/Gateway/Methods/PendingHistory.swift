/// A `history` that is not answered yet: the past is being read, or looked through.
final class PendingHistory: OpenCall {
  let call: HistoryCall
  let target: Connection
  /// As long as the past is being read, after which the connection may be nobody's.
  var lease: Lease?
  /// What its filter takes of the user's share while it waits.
  var hold: FilterHold?
  private let filter: EventFilter
  private var search: RememberingFilter

  init(_ id: RequestID?, _ call: HistoryCall, _ filter: EventFilter, of connection: Connection) {
    self.call = call
    target = connection
    self.filter = filter
    search = RememberingFilter(filter)
    super.init(id)
  }

  override var connection: Connection? { target }

  private var resume: SubscribeCall.Resume { call.since ?? .last(call.limit) }

  /// Looks at the next portion of the past. Returns whether that was all.
  func look() -> Bool { search.look(at: target.stream.history, resume) }

  /// Others have to be looked through before: what was found is not held meanwhile.
  func forget() { search = RememberingFilter(filter) }

  /// What is kept of it.
  func replay() -> EventReplay { target.stream.replay(resume, &search) }

  func giveBackLease() {
    if let lease { target.giveBack(lease) }
    lease = nil
  }

  override func cancel(in session: LocalSession) { giveBackLease() }

  override func demandRights(in session: LocalSession) throws(LocalError) { try session.demand(.subscribe, on: target) }
}
