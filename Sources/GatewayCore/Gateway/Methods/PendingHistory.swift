/// A `history` that is not answered yet: the past is being read, or looked through.
final class PendingHistory: OpenCall {
  let call: HistoryCall
  let target: Connection
  /// As long as the past is being read, after which the connection may be nobody's.
  var lease: Lease?
  /// What its filter takes of the user's share while it waits.
  var hold: FilterHold?
  private let filter: EventFilter
  private let byteLimit: Int
  private var walk: ReplayWalk
  /// What the walk remembers counts among what waits for the clients of the user.
  private let memory: MemoryHold

  init(
    _ id: RequestID?, _ call: HistoryCall, _ filter: EventFilter, of connection: Connection, byteLimit: Int,
    memory: MemoryHold
  ) {
    self.call = call
    self.memory = memory
    target = connection
    self.filter = filter
    self.byteLimit = byteLimit
    walk = Self.walk(call, filter, byteLimit)
    super.init(id)
  }

  override var connection: Connection? { target }

  private static func walk(_ call: HistoryCall, _ filter: EventFilter, _ byteLimit: Int) -> ReplayWalk {
    ReplayWalk(call.since ?? .last(call.limit), filter, page: byteLimit + HistoryPage.brackets)
  }

  /// Looks at the next portion of the past. Returns whether that was all.
  func look() -> Bool {
    let room = max(memory.room + memory.count, ClientOutput.directLimit)
    let isDone = walk.advance(in: target.stream, room: room)
    memory.set(walk.heldBytes)
    return isDone
  }

  /// Others have to be looked through before: what was found is not held meanwhile.
  func forget() {
    walk = Self.walk(call, filter, byteLimit)
    memory.set(0)
  }

  /// What is kept of it.
  func page() -> HistoryPage { HistoryPage(call, walk.replay, of: target.stream, byteLimit: byteLimit) }

  func giveBackLease() {
    if let lease { target.giveBack(lease) }
    lease = nil
  }

  override func cancel(in session: LocalSession) { giveBackLease() }

  override func demandRights(in session: LocalSession) throws(LocalError) { try session.demand(.subscribe, on: target) }
}
