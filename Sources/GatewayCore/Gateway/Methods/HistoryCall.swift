/// `history`: the past of a connection, without a subscription to it.
struct HistoryCall: LocalCall {
  var target: CallTarget
  /// Names or globs; nil means every event.
  var events: [String]?
  /// Nil: the newest ones.
  var since: ResumePoint?
  /// Most events of the answer.
  var limit: Int

  private static let usualLimit = 100

  static let method = LocalMethod(
    "history", "Shows the last events of an upstream, as far as they are kept.", right: .subscribe,
    parameters: LocalParameter.target + [
      .optional(
        .events, .strings(count: 1...1_000, each: 1...1_024),
        "Names or globs (`*`, `?`, `\\` escapes) of events; absent means every event."),
      .optional(.since, .position, "Show the first events after this position; absent means the newest ones."),
      .optional(.limit, .amount, "Most events to show; \(usualLimit) unless given."),
    ],
    result: ResultSchemas.history)

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) { try session.history(self, id) }
}

extension HistoryCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError) {
    target = try params.target(line)
    events = try params.events(line)
    since = try params.position(.since, line).map { .since(epoch: $0.epoch, sequence: $0.sequence) }
    limit = try params.integer(.limit, line) ?? Self.usualLimit
  }
}

/// A `history` that is not answered yet: the past is being read, or looked through.
private final class OpenHistory: OpenCall {
  let id: RequestID?
  let call: HistoryCall
  let target: Connection
  /// As long as the past is being read, after which the connection may have no other use.
  var lease: Lease?
  /// What its filter takes of the user's share while it waits.
  var hold: FilterHold?
  private var filter: EventFilter
  private let byteLimit: Int
  private var walk: ReplayWalk
  /// What the walk remembers counts among what waits for the clients of the user.
  private let memory: MemoryHold

  init(
    _ id: RequestID?, _ call: HistoryCall, _ filter: EventFilter, of connection: Connection, byteLimit: Int,
    memory: MemoryHold
  ) {
    self.id = id
    self.call = call
    self.memory = memory
    target = connection
    self.filter = filter
    self.byteLimit = byteLimit
    walk = Self.walk(call, filter, byteLimit)
  }

  var connection: Connection? { target }

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

  func cancel(in session: LocalSession) { giveBackLease() }

  func demandRights(in session: LocalSession) throws(LocalError) {
    let permit = try session.caller.permit(.subscribe, on: target)
    guard permit != filter.permit else { return }
    filter.permit = permit
    forget()
  }
}

extension LocalSession {
  fileprivate func history(_ call: HistoryCall, _ id: RequestID?) throws(LocalError) {
    var filter = try EventFilter(call.events)
    // An empty past would be a lie: what there is has been let go of.
    if gateway.isClosed { throw .draining }
    let connection = try caller.connection(call.target, need: .subscribe)
    filter.permit = try caller.permit(.subscribe, on: connection)
    let pending = OpenHistory(
      id, call, filter, of: connection, byteLimit: gateway.configuration.limits.line - Self.envelopeAllowance,
      memory: MemoryHold(gateway.seams.memory.send, for: .user(peer.uid)))
    let isReading = connection.history.isReadingPast
    guard isReading || !pending.look() else { return answer(pending) }
    try checkRoom()
    pending.hold = try hold(filter, on: connection)
    let number = makeCallNumber()
    open(pending, number: number)
    guard isReading else { return lookOn(number) }
    pending.lease = connection.lease(.call)
    connection.history.afterReadingPast { [weak self] in
      // A question makes no user: nothing is dialled for it.
      pending.giveBackLease()
      self?.lookOn(number)
    }
  }

  /// What was asked for is looked for in turns of its own.
  private func lookOn(_ number: UInt64) {
    let account = Account.user(peer.uid)
    if gateway.shares.searches.isBusy(for: account), let pending = openCall(number) as? OpenHistory { pending.forget() }
    gateway.shares.searches.add(for: account) { [weak self] in
      guard let self, let pending = openCall(number) as? OpenHistory else { return true }
      let isStopping = pending.target.isDraining
      guard isStopping || pending.look() else { return false }
      guard close(number) != nil else { return true }
      if isStopping { reply(pending.id, .draining) } else { answer(pending) }
      pending.cancel(in: self)
      return true
    }
  }

  private func answer(_ pending: OpenHistory) {
    let connection = pending.target
    let page = pending.page()
    reply(pending.id) { out in
      out.key("events")
      out.raw(page.events)
      out.member("epoch", connection.stream.epoch)
      out.member("seq", page.sequence)
      out.key("complete")
      out.bool(page.isComplete)
      out.key("more")
      out.bool(page.hasMore)
    }
    // A question makes no user: a connection that was made for it goes again.
    connection.review()
  }

  /// Room for everything in the reply beside the events.
  private static let envelopeAllowance = 1_024
}

/// As many past events as fit into one answer.
private struct HistoryPage {
  /// JSON text of an array.
  private(set) var events: [UInt8] = [UInt8(ascii: "[")]
  /// The last number that the answer covers.
  private(set) var sequence: UInt64
  private(set) var isComplete: Bool
  private(set) var hasMore: Bool

  /// What the array has beside the events, in bytes.
  static let brackets = 2

  init(_ call: HistoryCall, _ replay: EventReplay, of stream: EventStream, byteLimit: Int) {
    sequence = stream.sequence
    isComplete = replay.isComplete
    let found = replay.items.drained()
    let items = call.since == nil ? Self.newest(found, byteLimit) : found[...]
    if items.count < found.count { isComplete = false }
    hasMore = replay.missedCount > 0
    var count = 0
    var last: UInt64?
    for case .event(let number, let tail, _) in items {
      // It was taken under a larger limit.
      guard tail.count <= byteLimit else {
        isComplete = false
        continue
      }
      guard count < call.limit, events.count + tail.count <= byteLimit + Self.brackets else {
        hasMore = true
        break
      }
      append(tail, isFirst: count == 0)
      count += 1
      last = number
    }
    if hasMore, let last { sequence = last }
    events.append(UInt8(ascii: "]"))
  }

  /// A tail ends with the braces of `params` and of the line, and with the line's end.
  private mutating func append(_ tail: [UInt8], isFirst: Bool) {
    if !isFirst { events.append(UInt8(ascii: ",")) }
    events.append(UInt8(ascii: "{"))
    events += tail.dropLast(2)
  }

  /// Without a position the newest count: the oldest are left out where not all fit.
  private static func newest(_ items: [Backlog.Item], _ byteLimit: Int) -> ArraySlice<Backlog.Item> {
    var bytes = 0
    var first = items.endIndex
    while first > items.startIndex {
      bytes += items[first - 1].byteCount
      guard bytes <= byteLimit else { break }
      first -= 1
    }
    return items[first...]
  }
}
