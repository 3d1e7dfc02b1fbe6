/// `history`: the past of a connection, without a subscription to it.
struct HistoryCall: LocalCall {
  var target: CallTarget
  /// Names or globs; nil means every event.
  var events: [String]?
  /// Nil: the newest ones.
  var since: SubscribeCall.Resume?
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
    events = try params.strings(.events, line)
    since = try params.position(.since, line).map { .since(epoch: $0.epoch, sequence: $0.sequence) }
    limit = try params.integer(.limit, line) ?? Self.usualLimit
  }
}

extension LocalSession {
  fileprivate func history(_ call: HistoryCall, _ id: RequestID?) throws(LocalError) {
    let filter = try EventFilter.wanted(by: call.events)
    let connection = try connection(call.target, need: .subscribe)
    let pending = PendingHistory(
      id, call, filter, of: connection, byteLimit: gateway.configuration.limits.line - Self.envelopeAllowance,
      memory: MemoryHold(gateway.seams.memory.send, for: .user(peer.uid)))
    let isReading = connection.isReadingPast
    guard isReading || !pending.look() else { return answer(pending) }
    try checkRoom()
    pending.hold = try hold(filter, on: connection)
    let number = makeCallNumber()
    open(pending, number: number)
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
    if gateway.searches.isBusy(for: account), let pending = openCall(number) as? PendingHistory { pending.forget() }
    gateway.searches.add(for: account) { [weak self] in
      guard let self, let pending = openCall(number) as? PendingHistory else { return true }
      let isStopping = pending.target.isDraining
      guard isStopping || pending.look() else { return false }
      guard close(number) != nil else { return true }
      if isStopping { reply(pending.id, .draining) } else { answer(pending) }
      pending.cancel(in: self)
      return true
    }
  }

  private func answer(_ pending: PendingHistory) {
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
