/// `history`: the past of a connection without a subscription to it.
extension LocalSession {
  func history(_ call: HistoryCall, _ id: RequestID?) throws(LocalError) {
    let filter: EventFilter
    do { filter = try EventFilter(call.events) } catch { throw LocalError(.invalidParams, "\(error).") }
    let connection = try connection(call.target, need: .subscribe)
    let pending = PendingHistory(call, filter, of: connection)
    let isReading = connection.isReadingPast
    guard isReading || !pending.look() else { return answer(pending, id) }
    try checkRoom()
    pending.hold = try hold(filter, on: connection)
    let number = makeCallNumber()
    open(id, number: number, .history(pending))
    guard isReading else { return lookOn(number) }
    pending.lease = connection.lease(.call)
    connection.afterReadingPast { [weak self] in
      // A question makes no user: nothing is dialled for it.
      pending.giveBackLease()
      self?.lookOn(number)
    }
  }

  /// What was asked for is looked for in turns of its own.
  private func lookOn(_ number: UInt64) {
    let account = Account.user(peer.uid)
    if gateway.searches.isBusy(for: account), case .history(let pending) = openCall(number)?.work { pending.forget() }
    gateway.searches.add(for: account) { [weak self] in
      guard let self, let open = openCall(number), case .history(let pending) = open.work else { return true }
      let isStopping = pending.connection.isDraining
      guard isStopping || pending.look() else { return false }
      guard close(number) != nil else { return true }
      if isStopping { reply(open.id, .draining) } else { answer(pending, open.id) }
      abandon(open.work)
      return true
    }
  }

  private func answer(_ pending: PendingHistory, _ id: RequestID?) {
    let connection = pending.connection
    let page = HistoryPage(
      pending.call, pending.replay(), of: connection.stream,
      byteLimit: gateway.configuration.limits.line - Self.envelopeAllowance)
    reply(id) { out in
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
  private(set) var hasMore = false

  init(_ call: HistoryCall, _ replay: EventReplay, of stream: EventStream, byteLimit: Int) {
    sequence = stream.sequence
    isComplete = replay.isComplete
    let items = call.since == nil ? Self.newest(replay.items, byteLimit) : replay.items[...]
    if items.count < replay.items.count { isComplete = false }
    var count = 0
    var last: UInt64?
    for case .event(let number, let tail, _) in items {
      // It was taken under a larger limit.
      guard tail.count <= byteLimit else {
        isComplete = false
        continue
      }
      guard count < call.limit, events.count + tail.count <= byteLimit + 2 else {
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
