/// `subscribe`: the events of an upstream.
struct SubscribeCall: LocalCall {
  let target: CallTarget
  /// Names or globs; nil means every event.
  var events: [String]?
  /// What is to be delivered before anything new; nil: nothing.
  var resume: ResumePoint?
  /// Fail rather than begin with a gap.
  var strict = false
  var options = SubscriptionOptions()
  /// The client's own id; nil lets the daemon choose.
  var subscription: String?
  /// Said to the server at every connect.
  var enters: [HeldEnter] = []
  /// What an earlier daemon let go of when the right to it was taken away, by the name of the event. No client says it.
  var withheld: [ExactText: Backlog.Gap] = [:]

  static let method = LocalMethod(
    "subscribe", "Delivers the events of an upstream, after a snapshot of where it stands.", right: .subscribe,
    parameters: LocalParameter.target + [
      .optional(
        .events, .strings(count: 1...1_000, each: 1...1_024),
        "Names or globs (`*`, `?`, `\\` escapes) of events; absent means every event."),
      .optional(.since, .position, "Deliver first what came after this position; not together with `last`."),
      .optional(.last, .amount, "Deliver first the last so many events; not together with `since`."),
      .optional(.strict, .boolean, "Fail with Unrecoverable rather than begin with a gap."),
      .optional(.state, .boolean, "Deliver a `state` notification for every transition of the connection."),
      .optional(.answer, .boolean, "Receive `ack` tokens of events whose server wants an answer, for `respond`."),
      .optional(.queue, .amount, "How many events may wait for a client that does not read."),
      .optional(
        .onSlow, .choice(SlowPolicy.allCases.map(\.rawValue)),
        "What happens when the queue is full; `drop_oldest` unless given."),
      .optional(
        .credit, .integer(0...1_000_000_000), "Deliver so many events only, until `credit` lets more through."),
      .optional(
        .subscription, .name,
        "The client's own id for this subscription; a subscription that has it already is replaced."),
      .optional(
        .enter, .messages(count: 1...HeldEnter.countLimit, orNull: false),
        "Said to the server at every connect, before anything that is queued, as long as a subscription holds it; once for equal ones. With `ack` the server has to acknowledge it."
      ),
      .optional(
        .leave, .messages(count: 1...HeldEnter.countLimit, orNull: true),
        "Said when the last subscription ends that holds the message at the same place of `enter`; null: nothing is."),
    ],
    result: ResultSchemas.subscribe)

  /// Behind which it goes on; nil where it names none.
  var place: (epoch: String, sequence: UInt64)? {
    guard case .since(let epoch, let sequence)? = resume else { return nil }
    return (epoch, sequence)
  }

  static let startsWork = true

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) {
    let (caller, gateway) = (session.caller, session.gateway)
    var filter = try EventFilter(events)
    let replaced = subscription.flatMap { session.subscriptions[$0] }
    let limit = gateway.configuration.limits.subscriptions
    guard session.subscriptions.count + session.openCalls(OpenSubscribe.self).count < limit || replaced != nil else {
      throw LocalError(
        .quotaExceeded, "This client has \(limit) subscriptions; give some back with `unsubscribe`.",
        [.init("quota", .string("subscriptions")), .init("limit", .integer(limit))])
    }
    if replaced == nil { try gateway.quotas.checkSubscriptions(of: session.peer.uid, caller.quota) }
    let connection = try caller.connection(target, need: .subscribe)
    filter.permit = try caller.permit(.subscribe, on: connection)
    if options.answer { try caller.demandAnswering(filter, on: connection) }
    let interests = connection.interests.wanted(by: filter, answers: options.answer)
    for interest in interests {
      if let problem = connection.connector.problem(with: interest) { throw LocalError(problem) }
    }
    let hold = try hold(filter, on: connection, in: session)
    try checkEnters(on: connection, in: session, isRestored: id?.isAnswered == true)
    if let subscription { OpenSubscribe.overtake(subscription, in: session) }
    let pending = OpenSubscribe(id, self, filter, on: connection, interests: interests, hold: hold)
    var awaited = Set(connection.interests.hold(interests).map { Wanted.interest($0) })
    awaited.formUnion(connection.enters.hold(enters, of: session.caller.identity).map { .enter($0) })
    guard !connection.history.isReadingPast else {
      let number = session.makeCallNumber()
      connection.history.afterReadingPast { [weak session] in
        guard let session else { return }
        OpenSubscribe.answered(number, nil, in: session)
      }
      return session.open(pending, number: number)
    }
    let number = session.makeCallNumber()
    // A session that anything refers to weakly costs more at every touch, for as long as it lasts: only where it must.
    pending.pastWait = connection.pastLimit(of: resume).map { limit in
      connection.awaitPast(for: limit, cost: pending.cost) { [weak session] wasTold in
        guard let session else { return }
        OpenSubscribe.pastIsOver(number, isKnown: wasTold, in: session)
      }
    }
    guard !awaited.isEmpty || pending.pastWait != nil else {
      do throws(LocalError) { return try pending.begin(in: session) } catch {
        pending.cancel(in: session)
        throw error
      }
    }
    if !awaited.isEmpty {
      pending.wait = connection.interests.await(awaited, cost: pending.cost) { [weak session] failure in
        guard let session else { return }
        OpenSubscribe.answered(number, failure, in: session)
      }
    }
    session.open(pending, number: number)
  }

  /// Refuses what may not be said, by rights, rates and what the server takes. Those of an earlier daemon's client were
  /// counted there.
  private func checkEnters(on connection: Connection, in session: LocalSession, isRestored: Bool) throws(LocalError) {
    guard !enters.isEmpty else { return }
    let (caller, user) = (session.caller, session.peer.uid)
    for request in enters.flatMap(\.requests) {
      try caller.demand(request, on: connection)
    }
    do throws(SubmissionProblem) {
      try connection.enters.check(enters)
      try connection.enters.checkRoom(for: enters, of: .user(user))
    } catch { throw LocalError(error, nextAttempt: connection.retryIn) }
    guard session.gateway.quotas.limitsRates, !isRestored else { return }
    let requests = enters.flatMap(\.requests)
    let size = requests.reduce(0) { $0 + $1.message.byteCount }
    try session.gateway.quotas.take(requests.count, bytes: size, for: user, caller.quota)
  }

  /// Room for its filter, and what is said for it, in this user's share, beside all but what has the id of the
  /// subscription that it is for: a subscription, and the `subscribe` calls for it that wait.
  private func hold(_ filter: EventFilter, on connection: Connection, in session: LocalSession) throws(LocalError)
    -> FilterHold
  {
    var older: [FilterHold] = []
    if let subscription {
      older = OpenSubscribe.waiting(for: subscription, in: session).map(\.call.hold)
      if let held = session.subscriptions[subscription] { older.append(held.filter) }
    }
    return try session.gateway.shares.filters.hold(
      filter, enters, on: connection.id, for: session.peer.uid, insteadOf: older)
  }
}

extension SubscribeCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError) {
    target = try params.target(line)
    events = try params.events(line)
    let last = try params.integer(.last, line)
    if let position = try params.position(.since, line) {
      guard last == nil else { throw .invalid("last", "\"subscribe\" takes either \"since\" or \"last\", not both.") }
      resume = .since(epoch: position.epoch, sequence: position.sequence)
    } else if let last {
      resume = .last(last)
    }
    strict = try params.boolean(.strict, line) ?? false
    options.state = try params.boolean(.state, line) ?? false
    options.answer = try params.boolean(.answer, line) ?? false
    options.queue = try params.integer(.queue, line)
    options.onSlow = try params.choice(.onSlow, line) ?? .dropOldest
    options.credit = try params.integer(.credit, line)
    subscription = try params.string(.subscription, line)
    enters = try Self.enters(params, line)
  }

  private static func enters(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError) -> [HeldEnter] {
    let enters = (try params.messages(.enter, line) ?? []).compactMap { $0 }
    let leaves = try params.messages(.leave, line) ?? []
    guard leaves.count <= enters.count else {
      throw .invalid(
        "leave", "Each message of \"leave\" undoes the one at the same place of \"enter\", which has fewer of them.")
    }
    let held = HeldEnter.pairs(enters, leaves)
    guard Set(held.map(\.enter.message)).count == held.count else {
      throw .invalid("enter", "The param \"enter\" has the same message twice.")
    }
    let size = held.reduce(0) { $0 + $1.byteCount }
    guard size <= HeldEnter.byteLimit else {
      throw .invalid(
        "enter", "The messages of \"enter\" and \"leave\" have \(size) bytes, and may have \(HeldEnter.byteLimit).")
    }
    return held
  }
}

extension ParameterValues {
  /// The names and globs of `events`. What they are together has a limit of its own: taking a megabyte of them apart is
  /// some twenty milliseconds of one turn.
  func events(_ line: RawSpan) throws(LocalError) -> [String]? {
    guard range(.events).map({ $0.count <= EventFilter.textLimit }) ?? true else {
      throw .invalid("events", "'events' is longer than \(EventFilter.textLimit) bytes; use globs, or several calls.")
    }
    return try strings(.events, line)
  }
}
