/// `subscribe` and `unsubscribe`.
extension LocalSession {
  func subscribe(_ call: SubscribeCall, _ id: RequestID?) throws(LocalError) {
    let filter: EventFilter
    do { filter = try EventFilter(call.events) } catch { throw LocalError(.invalidParams, "\(error).") }
    let replaced = call.subscription.flatMap { subscriptions[$0] }
    let limit = gateway.configuration.limits.subscriptions
    guard subscriptions.count + pendingSubscriptionCount < limit || replaced != nil else {
      throw LocalError(
        .quotaExceeded, "This client has \(limit) subscriptions; give some back with `unsubscribe`.",
        [.init("quota", .string("subscriptions")), .init("limit", .integer(limit))])
    }
    let connection = try connection(call.target, need: .subscribe)
    for verb in AccessVerb.needed(answers: call.answer) { try demand(verb, on: connection) }
    let interests = Interest.of(events: call.events, answers: call.answer)
    for interest in interests {
      if let problem = connection.connector.problem(with: interest) { throw LocalError(problem) }
    }
    let hold = try hold(filter, on: connection, insteadOf: call.subscription)
    if let own = call.subscription { overtake(own) }
    let pending = PendingSubscription(call, filter, on: connection, interests: interests, hold: hold)
    let awaited = connection.hold(interests)
    guard !connection.isReadingPast else {
      let number = makeCallNumber()
      connection.afterReadingPast { [weak self] in self?.subscriptionAnswered(number, nil) }
      return open(id, number: number, .subscribe(pending))
    }
    guard !awaited.isEmpty else {
      do throws(LocalError) { return try begin(pending, id) } catch {
        pending.giveUp()
        throw error
      }
    }
    let number = makeCallNumber()
    pending.wait = connection.await(awaited) { [weak self] in self?.subscriptionAnswered(number, $0) }
    open(id, number: number, .subscribe(pending))
  }

  /// Room for a filter in this user's share, beside all but what has the id of a subscription that it is for.
  func hold(
    _ filter: EventFilter, on connection: Connection, insteadOf subscription: String? = nil
  ) throws(LocalError) -> FilterHold {
    do throws(FilterShares.Overrun) {
      return try gateway.filters.hold(
        filter, on: connection.id, for: peer.uid, insteadOf: subscription.map(holds(of:)) ?? [])
    } catch { throw LocalError(error) }
  }

  /// What the filters take of a subscription, and of the `subscribe` calls for its id that wait.
  private func holds(of subscription: String) -> [FilterHold] {
    var holds = waitingSubscribes(subscription).compactMap { number -> FilterHold? in
      if case .subscribe(let pending) = openCall(number)?.work { pending.hold } else { nil }
    }
    if let held = subscriptions[subscription] { holds.append(held.filter) }
    return holds
  }

  /// The server has agreed, or says why not; or it cannot be asked now, which keeps no subscription from being made.
  private func subscriptionAnswered(_ number: UInt64, _ failure: UpstreamFailure?) {
    guard let call = close(number), case .subscribe(let pending) = call.work else { return }
    pending.wait = nil
    guard !isClosing else { return pending.giveUp() }
    do throws(LocalError) {
      // The past that was being read, if there is one, is not known.
      if pending.connection.isDraining { throw .draining }
      if let failure {
        throw failure.isRefusal
          ? LocalError(refused: failure, by: pending.connection.specification, "subscription")
          : LocalError(down: failure)
      }
      try begin(pending, call.id)
    } catch {
      pending.giveUp()
      reply(call.id, error)
    }
  }

  private func begin(_ pending: PendingSubscription, _ id: RequestID?) throws(LocalError) {
    guard !pending.look() else { return try add(pending, id) }
    let number = makeCallNumber()
    open(id, number: number, .subscribe(pending))
    let account = Account.user(peer.uid)
    if gateway.searches.isBusy(for: account) { pending.forget() }
    gateway.searches.add(for: account) { [weak self] in self?.lookOn(number) ?? true }
  }

  /// Looks at the next portion of the past for a subscription. Returns whether it has begun, or will not.
  private func lookOn(_ number: UInt64) -> Bool {
    guard let call = openCall(number), case .subscribe(let pending) = call.work else { return true }
    guard pending.look() else { return false }
    guard close(number) != nil else { return true }
    do throws(LocalError) {
      if pending.connection.isDraining { throw .draining }
      if isClosing { pending.giveUp() } else { try add(pending, call.id) }
    } catch {
      pending.giveUp()
      reply(call.id, error)
    }
    return true
  }

  private func add(_ pending: PendingSubscription, _ id: RequestID?) throws(LocalError) {
    let (call, connection) = (pending.call, pending.connection)
    if call.resume == nil { connection.prepareForFreshSubscriber() }
    let replay = pending.replay()
    if call.strict, !replay.isComplete { throw .unrecoverable(connection.stream) }
    // The new hold is taken before the old one is given back: the connection never looks unused in between.
    let replaced = call.subscription.flatMap { detachSubscription($0) }
    let subscription = Subscription(
      id: call.subscription ?? makeSubscriptionID(), serial: gateway.makeSerial(), call: call,
      filter: pending.filter, interests: pending.interests,
      output: output, outputs: gateway.outputs, limits: gateway.configuration.limits)
    add(
      HeldSubscription(
        subscription: subscription, connection: connection, lease: pending.lease, filter: pending.hold))
    replaced.map(answersMayHaveEnded)
    reply(id) { out in
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

  func unsubscribe(_ subscription: String, _ id: RequestID?) throws(LocalError) {
    let wasWaiting = overtake(subscription)
    guard removeSubscription(subscription) || wasWaiting else { throw .noSubscription(subscription) }
    reply(id)
  }

  /// Ends the `subscribe` calls for an id that wait, because another call for it has come. False if none waits.
  @discardableResult
  private func overtake(_ subscription: String) -> Bool {
    let overtaken = waitingSubscribes(subscription)
    for number in overtaken {
      guard let call = close(number) else { continue }
      abandon(call.work)
      reply(call.id, LocalError(.cancelled, "A later call for the subscription '\(subscription)' took its place."))
    }
    return !overtaken.isEmpty
  }

  /// The gateway stops: nothing will happen any more that a `wait` could wait for.
  func endWaits() {
    endExaminations()
    for (number, _) in waits {
      guard let call = close(number) else { continue }
      finishWait(call.work)
      reply(call.id, .draining)
    }
    for number in callsAboutPast {
      guard let call = close(number) else { continue }
      abandon(call.work)
      reply(call.id, .draining)
    }
  }

}
