/// A `subscribe` that the server has to agree to before it is made.
final class OpenSubscribe: OpenCall {
  let id: RequestID?
  let call: SubscribeCall
  private(set) var filter: EventFilter
  let target: Connection
  let lease: Lease
  let interests: Set<Interest>
  let hold: FilterHold
  var wait: InterestWait?
  /// On its way through the past; nil where nothing of that is asked for.
  private var walk: ReplayWalk?
  /// What it found counts among what waits for the client.
  private var heldBytes = 0

  init(
    _ id: RequestID?, _ call: SubscribeCall, _ filter: EventFilter, on connection: Connection, interests: Set<Interest>,
    hold: FilterHold
  ) {
    self.id = id
    self.call = call
    self.filter = filter
    target = connection
    self.interests = interests
    walk = call.resume.map { ReplayWalk($0, filter) }
    self.hold = hold
    lease = connection.lease(.subscription)
  }

  var connection: Connection? { target }

  func continuation(at now: MonotonicInstant) -> [UInt8]? { call.line(id) }

  /// Looks at the next portion of the past. Returns whether that was all.
  func look(in session: LocalSession) -> Bool {
    guard walk != nil else { return true }
    let room = session.subscriptions.replayRoom + heldBytes
    let isDone = walk?.advance(in: target.stream, room: room) ?? true
    hold(walk?.replay.byteCount ?? 0, in: session)
    return isDone
  }

  /// Whether gaps, which are never dropped, take more than may wait for the client.
  var isOverfull: Bool { walk?.replay.isOverfull ?? false }

  /// Whether everything that was asked for was found.
  var isComplete: Bool { walk?.replay.isComplete ?? true }

  /// Others have to be looked through before: what was found is not held meanwhile.
  func forget(in session: LocalSession) {
    if let walk { session.gateway.shares.work.release(walk.replay.items, for: .user(session.peer.uid)) }
    walk = call.resume.map { ReplayWalk($0, filter) }
    hold(0, in: session)
  }

  /// What is kept for it; it is the subscription's from now on.
  func takeReplay(in session: LocalSession) -> EventReplay {
    defer { walk = nil }
    hold(0, in: session)
    return walk?.replay ?? EventReplay(epoch: target.stream.epoch)
  }

  private func hold(_ bytes: Int, in session: LocalSession) {
    session.subscriptions.notePending(bytes - heldBytes)
    heldBytes = bytes
  }

  /// It will not be made: gives back what it holds.
  func cancel(in session: LocalSession) {
    if let wait { target.cancel(wait) }
    wait = nil
    forget(in: session)
    target.giveBack(interests)
    target.enters.giveBack(call.enters, of: .user(session.peer.uid))
    target.giveBack(lease)
  }

  func demandRights(in session: LocalSession) throws(LocalError) {
    let permit = try session.caller.permit(.subscribe, on: target)
    if call.options.answer { try session.caller.demandAnswering(filter, on: target) }
    for request in call.enters.flatMap(\.requests) { try session.caller.demand(request, on: target) }
    guard permit != filter.permit else { return }
    filter.permit = permit
    forget(in: session)
  }
}
