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
  /// Room for everything in the reply beside the events.
  private static let envelopeAllowance = 1_024

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

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) {
    let gateway = session.gateway
    var filter = try EventFilter(events)
    // An empty past would be a lie: what there is has been let go of.
    if gateway.isClosed { throw .draining }
    let connection = try session.caller.connection(target, need: .subscribe)
    filter.permit = try session.caller.permit(.subscribe, on: connection)
    let pending = OpenHistory(
      id, self, filter, of: connection, byteLimit: gateway.configuration.limits.line - Self.envelopeAllowance,
      memory: MemoryHold(gateway.seams.memory.send, for: .user(session.peer.uid)))
    let isReading = connection.history.isReadingPast
    let number = session.makeCallNumber()
    // What other hosts have heard since is read by the link alone, which no program may use now.
    if connection.isPastUntold { pending.lease = connection.lease(.call) }
    let pastLimit = since.flatMap { connection.historyLimit(of: $0) } ?? connection.historyLimit(of: .last(limit))
    pending.pastWait = pastLimit.map { limit in
      connection.awaitPast(for: limit, cost: Endings.portion) { [weak session] wasTold in
        guard let session else { return }
        OpenHistory.pastIsOver(number, isKnown: wasTold, in: session)
      }
    }
    let waits = isReading || pending.pastWait != nil
    guard waits || !pending.workOn() else {
      pending.answer(in: session)
      return pending.giveBackLease()
    }
    do throws(LocalError) {
      try session.checkRoom()
      pending.hold = try gateway.shares.filters.hold(filter, on: connection.id, for: session.peer.uid)
    } catch {
      pending.cancel(in: session)
      throw error
    }
    session.open(pending, number: number)
    guard waits else { return OpenHistory.lookOn(number, in: session) }
    if pending.lease == nil { pending.lease = connection.lease(.call) }
    guard isReading else { return }
    connection.history.afterReadingPast { [weak session] in
      // A question makes no user: nothing is dialled for it.
      pending.giveBackLease()
      guard let session else { return }
      OpenHistory.lookOn(number, in: session)
    }
  }
}

extension HistoryCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError) {
    target = try params.target(line)
    events = try params.events(line)
    since = try params.position(.since, line).map { .since(epoch: $0.epoch, sequence: $0.sequence) }
    limit = try params.integer(.limit, line) ?? Self.usualLimit
  }
}

/// A `history` that is not answered yet: the past is being read or looked through, or what was found is put together.
private final class OpenHistory: OpenCall {
  let requestID: RequestID?
  let call: HistoryCall
  let target: Connection
  /// As long as the past is being read, on the disk or by the link, after which the connection may have no other use.
  var lease: Lease?
  /// For a place that was not reached here.
  var pastWait: PastWait?
  /// Whether all that the link has of the past was told while it waited; nil where it did not wait.
  private var pastIsKnown: Bool?
  /// What its filter takes of the user's share while it waits.
  var hold: FilterHold?
  private var filter: EventFilter
  private let byteLimit: Int
  private var walk: ReplayWalk
  /// Nil until all of the past has been looked through.
  private var page: HistoryPage?
  /// What the walk remembers counts among what waits for the clients of the user.
  private let memory: MemoryHold

  init(
    _ id: RequestID?, _ call: HistoryCall, _ filter: EventFilter, of connection: Connection, byteLimit: Int,
    memory: MemoryHold
  ) {
    requestID = id
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

  /// Does the next portion of the work. Returns whether that was all.
  func workOn() -> Bool {
    if page == nil {
      guard look() else { return false }
      page = beginPage()
    }
    return page?.putIn() ?? true
  }

  /// Looks at the next portion of the past. Returns whether that was all.
  private func look() -> Bool {
    let room = max(memory.room + memory.count, ClientOutput.directLimit)
    let isDone = walk.advance(in: target.stream, room: room)
    memory.set(walk.heldBytes)
    return isDone
  }

  /// Others have to be looked through before: what was found is not held meanwhile.
  func forget() {
    walk = Self.walk(call, filter, byteLimit)
    page = nil
    memory.set(0)
  }

  /// The link has told what it has of the past, or what is known here has to do.
  static func pastIsOver(_ number: UInt64, isKnown: Bool, in session: LocalSession) {
    guard let pending = session.openCall(number) as? OpenHistory else { return }
    pending.pastWait = nil
    pending.pastIsKnown = isKnown
    lookOn(number, in: session)
    pending.giveBackLease()
  }

  /// What was asked for is looked for in turns of its own.
  static func lookOn(_ number: UInt64, in session: LocalSession) {
    let account = Account.user(session.peer.uid)
    let searches = session.gateway.shares.searches
    if searches.isBusy(for: account), let pending = session.openCall(number) as? OpenHistory { pending.forget() }
    searches.add(for: account) { [weak session] in
      guard let session, let pending = session.openCall(number) as? OpenHistory else { return true }
      let isStopping = pending.target.isDraining
      guard isStopping || pending.workOn() else { return false }
      guard session.close(number) != nil else { return true }
      if isStopping { session.reply(pending.requestID, .draining) } else { pending.answer(in: session) }
      pending.cancel(in: session)
      return true
    }
  }

  /// What was found, up to this moment: what comes while it is written is none of it.
  private func beginPage() -> HistoryPage {
    if pastIsKnown != true, let place = target.placeAhead(in: call.since) {
      return HistoryPage(nothingBehind: place, detail: target.untoldDetail)
    }
    let isUntold = !(pastIsKnown ?? !target.isPastUntold)
    return HistoryPage(
      call, &walk, of: target.stream, byteLimit: byteLimit, isUntold: isUntold, detail: target.untoldDetail)
  }

  /// Answers with what was found.
  func answer(in session: LocalSession) {
    guard let page else { return }
    session.reply(requestID) { page.write(into: &$0) }
    // A question makes no user: a connection that was made for it goes again.
    target.review()
  }

  func giveBackLease() {
    if let lease { target.giveBack(lease) }
    lease = nil
  }

  func cancel(in session: LocalSession) {
    if let pastWait { target.toldPast.cancel(pastWait) }
    pastWait = nil
    giveBackLease()
  }

  func demandRights(in session: LocalSession) throws(LocalError) {
    let permit = try session.caller.permit(.subscribe, on: target)
    guard permit != filter.permit else { return }
    filter.permit = permit
    forget()
  }
}

extension Connection {
  /// Why the answer lacks what others have heard, in a sentence.
  fileprivate var untoldDetail: String? { (pastTrouble ?? downFailure)?.detail }
}

/// As many past events as fit into one answer, while they are put together.
private struct HistoryPage {
  /// JSON text of an array.
  private var events: [UInt8] = [UInt8(ascii: "[")]
  private let epoch: String
  /// The last number that the answer covers.
  private var sequence: UInt64
  /// Why something is missing up to there.
  private var missing: Set<GapReason> = []
  /// Of the newest that were asked for, the oldest do not fit.
  private let isCut: Bool
  private var hasMore: Bool
  /// There may be more behind it, which was not read here.
  private let isUntold: Bool
  /// Why not, in a sentence.
  private let detail: String?

  /// What is not looked at yet.
  private var items = Ring<Backlog.Item>()
  /// Those in front of them that do not fit: only what they say is missing counts.
  private var cutCount = 0
  /// The same of all that are left.
  private var isFull = false
  /// Whether the gaps among them say what is missing.
  private let saysMissing: Bool
  /// Those that say so else.
  private let firstGaps: [GapReason: UInt64]
  private let limit: Int
  private let byteLimit: Int
  private var count = 0
  /// The number of the last one that was looked at.
  private var last: UInt64?

  /// What the array has beside the events, in bytes.
  static let brackets = 2
  /// What is looked at in one go: so many items, of which so many bytes are copied: some two milliseconds.
  private static let portion = (items: 1_024, bytes: 1 << 20)

  init(
    _ call: HistoryCall, _ walk: inout ReplayWalk, of stream: EventStream, byteLimit: Int, isUntold: Bool,
    detail: String?
  ) {
    (self.isUntold, self.detail, self.byteLimit) = (isUntold, detail, byteLimit)
    (epoch, sequence) = (stream.epoch, stream.sequence)
    hasMore = walk.replay.missedCount > 0
    firstGaps = walk.replay.firstGaps
    limit = call.limit
    saysMissing = call.since == nil
    items = walk.takeItems()
    cutCount = saysMissing ? Self.cutCount(items, byteLimit) : 0
    isCut = cutCount > 0
  }

  /// The link has not come to the caller's place: it goes on from there the next time.
  init(nothingBehind place: PassedOver.Place, detail: String?) {
    (epoch, sequence, missing) = (place.epoch, place.sequence, [.upstream])
    (isUntold, self.detail) = (true, detail)
    (isCut, hasMore, saysMissing, firstGaps, limit, byteLimit) = (false, false, false, [:], 0, 0)
  }

  /// Puts the next portion in. Returns whether that was all.
  mutating func putIn() -> Bool {
    var left = Self.portion
    while left.items > 0, left.bytes > 0, let item = items.popFirst() {
      left.items -= 1
      left.bytes -= item.byteCount
      put(item)
    }
    guard items.isEmpty else { return false }
    if hasMore, let last { sequence = last }
    if !saysMissing { missing.formUnion(firstGaps.filter { !hasMore || $0.value <= sequence }.keys) }
    if isUntold, !hasMore { missing.insert(.upstream) }
    events.append(UInt8(ascii: "]"))
    return true
  }

  private mutating func put(_ item: Backlog.Item) {
    let isLeftOut = isFull || cutCount > 0
    cutCount = max(0, cutCount - 1)
    switch item {
    case .event(let number, let tail, _) where !isLeftOut: put(tail, number)
    case .gap(let gap) where saysMissing && gap.reason != .slowConsumer: missing.insert(gap.reason)
    case .event, .gap, .notice: break
    }
  }

  private mutating func put(_ tail: [UInt8], _ number: UInt64) {
    // It was taken under a larger limit.
    guard tail.count <= byteLimit else {
      missing.insert(.tooLarge)
      return last = number
    }
    guard count < limit, events.count + tail.count <= byteLimit + Self.brackets else {
      (isFull, hasMore) = (true, true)
      return
    }
    if count > 0 { events.append(UInt8(ascii: ",")) }
    events.append(UInt8(ascii: "{"))
    // A tail ends with the braces of `params` and of the line, and with the line's end.
    events += tail.dropLast(2)
    count += 1
    last = number
  }

  /// The members of the answer.
  func write(into out: inout JSONWriter) {
    out.key("events")
    out.raw(events)
    out.member("epoch", epoch)
    out.member("seq", sequence)
    out.key("complete")
    out.bool(missing.isEmpty && !isCut)
    if !missing.isEmpty {
      out.key("missing")
      out.beginArray()
      for reason in missing.map(\.rawValue).sorted() { out.string(reason) }
      out.endArray()
      if isUntold { out.member("detail", detail) }
    }
    out.key("more")
    out.bool(hasMore)
  }

  /// Without a position the newest count: how many of the oldest are left out, where not all fit.
  private static func cutCount(_ items: Ring<Backlog.Item>, _ byteLimit: Int) -> Int {
    var bytes = 0
    var first = items.count
    while first > 0 {
      bytes += items.look(first - 1) { $0.byteCount } ?? 0
      guard bytes <= byteLimit else { break }
      first -= 1
    }
    return first
  }
}
