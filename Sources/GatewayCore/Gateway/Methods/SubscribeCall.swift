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

  static let startsWork = true

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) { try session.subscribe(self, id) }
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

extension LocalSession {
  fileprivate func subscribe(_ call: SubscribeCall, _ id: RequestID?) throws(LocalError) {
    var filter = try EventFilter(call.events)
    let replaced = call.subscription.flatMap { subscriptions[$0] }
    let limit = gateway.configuration.limits.subscriptions
    guard subscriptions.count + openCalls(OpenSubscribe.self).count < limit || replaced != nil else {
      throw LocalError(
        .quotaExceeded, "This client has \(limit) subscriptions; give some back with `unsubscribe`.",
        [.init("quota", .string("subscriptions")), .init("limit", .integer(limit))])
    }
    if replaced == nil { try gateway.quotas.checkSubscriptions(of: peer.uid, caller.quota) }
    let connection = try caller.connection(call.target, need: .subscribe)
    filter.permit = try caller.permit(.subscribe, on: connection)
    if call.options.answer { try caller.demandAnswering(filter, on: connection) }
    let asks = connection.connector.confirmsInterests
    // The server is told of nothing that no rule lets the user read, or answer.
    if asks, call.options.answer { try caller.demandAnsweringGlobs(of: filter, on: connection) }
    let permitted = call.events?.filter { Glob.isPattern($0) || filter.permit.passes(Glob.unescape($0)) }
    let interests = asks ? Interest.of(events: permitted, answers: call.options.answer) : []
    for interest in interests {
      if let problem = connection.connector.problem(with: interest) { throw LocalError(problem) }
    }
    let hold = try hold(filter, call.enters, on: connection, insteadOf: call.subscription)
    try check(call.enters, on: connection, isRestored: id?.isAnswered == true)
    if let own = call.subscription { overtake(own) }
    let pending = OpenSubscribe(id, call, filter, on: connection, interests: interests, hold: hold)
    var awaited = Set(connection.hold(interests).map { Wanted.interest($0) })
    awaited.formUnion(connection.enters.hold(call.enters, of: .user(peer.uid)).map { .enter($0) })
    guard !connection.history.isReadingPast else {
      let number = makeCallNumber()
      connection.history.afterReadingPast { [weak self] in self?.subscriptionAnswered(number, nil) }
      return open(pending, number: number)
    }
    guard !awaited.isEmpty else {
      do throws(LocalError) { return try begin(pending) } catch {
        pending.cancel(in: self)
        throw error
      }
    }
    let number = makeCallNumber()
    pending.wait = connection.await(awaited) { [weak self] in self?.subscriptionAnswered(number, $0) }
    open(pending, number: number)
  }

  /// Refuses what may not be said, by rights, rates and what the server takes. Those of an earlier daemon's client were
  /// counted there.
  private func check(_ enters: [HeldEnter], on connection: Connection, isRestored: Bool) throws(LocalError) {
    guard !enters.isEmpty else { return }
    for request in enters.flatMap(\.requests) {
      try caller.demand(request, on: connection)
    }
    do throws(SubmissionProblem) {
      try connection.enters.check(enters)
      try connection.enters.checkRoom(for: enters, of: .user(peer.uid))
    } catch { throw LocalError(error, nextAttempt: connection.retryIn) }
    guard gateway.quotas.limitsRates, !isRestored else { return }
    for request in enters.flatMap(\.requests) {
      try gateway.quotas.take(request.message.byteCount, for: peer.uid, caller.quota)
    }
  }

  /// Room for a filter, and what is said for it, in this user's share, beside all but what has the id of a subscription that it is for.
  func hold(
    _ filter: EventFilter, _ enters: [HeldEnter] = [], on connection: Connection,
    insteadOf subscription: String? = nil
  ) throws(LocalError) -> FilterHold {
    try gateway.shares.filters.hold(
      filter, enters, on: connection.id, for: peer.uid, insteadOf: subscription.map(holds(of:)) ?? [])
  }

  /// What the filters take of a subscription, and of the `subscribe` calls for its id that wait.
  private func holds(of subscription: String) -> [FilterHold] {
    var holds = waitingSubscribes(subscription).map(\.call.hold)
    if let held = subscriptions[subscription] { holds.append(held.filter) }
    return holds
  }

  /// The server has agreed, or says why not; or it cannot be asked now, which keeps no subscription from being made.
  private func subscriptionAnswered(_ number: UInt64, _ failure: UpstreamFailure?) {
    guard let pending = close(number) as? OpenSubscribe else { return }
    pending.wait = nil
    guard !isClosing else { return pending.cancel(in: self) }
    do throws(LocalError) {
      // The past that was being read, if there is one, is not known.
      if pending.target.isDraining { throw .draining }
      if let failure {
        throw failure.isRefusal
          ? LocalError(refused: failure, by: pending.target.specification, "subscription")
          : LocalError(down: failure)
      }
      try begin(pending)
    } catch {
      pending.cancel(in: self)
      reply(pending.id, error)
    }
  }

  private func begin(_ pending: OpenSubscribe) throws(LocalError) {
    guard !pending.look(in: self) else { return try add(pending) }
    let number = makeCallNumber()
    open(pending, number: number)
    let account = Account.user(peer.uid)
    if gateway.shares.searches.isBusy(for: account) { pending.forget(in: self) }
    gateway.shares.searches.add(for: account) { [weak self] in self?.lookOn(number) ?? true }
  }

  /// Looks at the next portion of the past for a subscription. Returns whether it has begun, or will not.
  private func lookOn(_ number: UInt64) -> Bool {
    guard let pending = openCall(number) as? OpenSubscribe else { return true }
    guard pending.target.isDraining || pending.look(in: self) || pending.isOverfull else { return false }
    guard close(number) != nil else { return true }
    do throws(LocalError) {
      if pending.target.isDraining { throw .draining }
      if isClosing { pending.cancel(in: self) } else { try add(pending) }
    } catch {
      pending.cancel(in: self)
      reply(pending.id, error)
    }
    return true
  }

  private func add(_ pending: OpenSubscribe) throws(LocalError) {
    let (call, connection) = (pending.call, pending.target)
    if call.resume == nil { connection.prepareForFreshSubscriber() }
    // Gaps are never dropped: a client that would let them pile up beyond its limit is let go instead.
    guard !pending.isOverfull else {
      pending.cancel(in: self)
      return drop(reason: "slow_consumer")
    }
    if call.strict, !pending.isComplete { throw .unrecoverable(connection.stream) }
    // Others of the user may have been made while this one waited.
    if call.subscription.flatMap({ subscriptions[$0] }) == nil {
      try gateway.quotas.checkSubscriptions(of: peer.uid, caller.quota)
    }
    let replay = pending.takeReplay(in: self)
    // The new hold is taken before the old one is given back: the connection never looks unused in between.
    let replaced = call.subscription.flatMap { subscriptions.detach($0) }
    let subscription = Subscription(
      id: call.subscription ?? subscriptions.makeID(), serial: gateway.makeSerial(), options: call.options,
      filter: pending.filter, interests: pending.interests, enters: call.enters,
      output: output, outputs: gateway.outputs, limits: gateway.configuration.limits)
    subscriptions.add(
      HeldSubscription(
        subscription: subscription, connection: connection, lease: pending.lease, filter: pending.hold,
        target: call.target)
    ) { [unowned self] in drop(reason: "slow_consumer") }
    replaced.map(subscriptions.answersMayHaveEnded)
    reply(pending.id) { out in
      out.member("subscription", subscription.id)
      out.member("connection", connection.id)
      out.member("state", connection.state.rawValue)
      out.member("epoch", connection.stream.epoch)
      out.member("seq", Int(connection.stream.sequence))
      out.key("recovered")
      out.bool(replay.isComplete)
      out.member("replayed", replay.eventCount)
      if replay.epoch != connection.stream.epoch { out.member("first_epoch", replay.epoch) }
      StatusDocument.writeUpstream(connection, into: &out)
    }
    subscription.replay(replay)
  }

  /// Ends the `subscribe` calls for an id that wait, because another call for it has come. False if none waits.
  @discardableResult
  func overtake(_ subscription: String) -> Bool {
    let overtaken = waitingSubscribes(subscription)
    for (number, _) in overtaken {
      end(number, LocalError(.cancelled, "A later call for the subscription '\(subscription)' took its place."))
    }
    return !overtaken.isEmpty
  }

  /// The `subscribe` calls for one id that wait.
  private func waitingSubscribes(_ subscription: String) -> [(number: UInt64, call: OpenSubscribe)] {
    openCalls(OpenSubscribe.self).filter { $0.call.call.subscription == subscription }
  }
}
