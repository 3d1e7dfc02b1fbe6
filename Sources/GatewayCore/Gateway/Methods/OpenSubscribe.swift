/// A `subscribe` that is not answered yet: the server has to agree to it, or the past is looked through for it.
final class OpenSubscribe: OpenCall {
  let requestID: RequestID?
  let call: SubscribeCall
  private(set) var filter: EventFilter
  let target: Connection
  let lease: Lease
  let interests: Set<Interest>
  let hold: FilterHold
  var wait: InterestWait?
  /// For a place that was not reached here.
  var pastWait: PastWait?
  /// All that the link has of the past was told while it waited.
  private var pastIsKnown = false
  /// On its way through the past; nil where nothing of that is asked for.
  private var walk: ReplayWalk?
  /// Other rights may hold than those by which the server was asked.
  private var isOfEarlierRights = false
  /// What it found counts among what waits for the client.
  private var heldBytes = 0

  init(
    _ id: RequestID?, _ call: SubscribeCall, _ filter: EventFilter, on connection: Connection, interests: Set<Interest>,
    hold: FilterHold
  ) {
    requestID = id
    self.call = call
    self.filter = filter
    target = connection
    self.interests = interests
    walk = call.resume.map { ReplayWalk($0, filter) }
    self.hold = hold
    lease = connection.lease(.subscription)
  }

  var connection: Connection? { target }

  /// What the end of its wait counts among `Endings`: it takes as long as the outcomes of ten sends, and longer with many
  /// names; with a look at the past it has a turn of its own.
  var cost: Int { walk == nil ? 10 + filter.size + call.enters.count : Endings.portion }

  func continuation(at now: MonotonicInstant) -> CallContinuation? {
    call.continuation(requestID)
  }

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
    if let wait { target.interests.cancel(wait) }
    if let pastWait { target.toldPast.cancel(pastWait) }
    (wait, pastWait) = (nil, nil)
    forget(in: session)
    target.interests.giveBack(interests)
    target.enters.giveBack(call.enters, of: session.caller.identity)
    target.giveBack(lease)
  }

  /// What it holds is given back as that of a subscription.
  var cancelCost: Int { 1 + filter.size + call.enters.count }

  func demandRights(in session: LocalSession) throws(LocalError) {
    let permit = try session.caller.permit(.subscribe, on: target)
    isOfEarlierRights = true
    if call.options.answer { try session.caller.demandAnswering(filter, on: target) }
    for request in call.enters.flatMap(\.requests) { try session.caller.demand(request, on: target) }
    guard permit != filter.permit else { return }
    filter.permit = permit
    forget(in: session)
  }

  // MARK: - On the way to a subscription

  /// The server has agreed, or says why not; or it cannot be asked now, which keeps no subscription from being made.
  static func answered(_ number: UInt64, _ failure: UpstreamFailure?, in session: LocalSession) {
    guard let pending = session.openCall(number) as? OpenSubscribe else { return }
    pending.wait = nil
    if failure == nil, pending.pastWait != nil { return }
    guard session.close(number) != nil, !session.isClosing else { return pending.cancel(in: session) }
    do throws(LocalError) {
      // The past that was being read, if there is one, is not known.
      if pending.target.isDraining { throw .draining }
      if let failure {
        throw failure.isRefusal
          ? LocalError(refused: failure, by: pending.target.specification, "subscription")
          : LocalError(down: failure)
      }
      try pending.begin(in: session)
    } catch {
      pending.cancel(in: session)
      session.reply(pending.requestID, error)
    }
  }

  /// The link has told what it has of the past, or what is known here has to do.
  static func pastIsOver(_ number: UInt64, isKnown: Bool, in session: LocalSession) {
    guard let pending = session.openCall(number) as? OpenSubscribe else { return }
    pending.pastWait = nil
    pending.pastIsKnown = isKnown
    if pending.wait == nil { answered(number, nil, in: session) }
  }

  /// Makes the subscription now, or once the past has been looked through in turns of its own.
  func begin(in session: LocalSession) throws(LocalError) {
    if let untold {
      walk = nil
      return try makeSubscription(in: session, passingOver: untold)
    }
    guard !look(in: session) else { return try makeSubscription(in: session) }
    let number = session.makeCallNumber()
    session.open(self, number: number)
    let account = Account.user(session.peer.uid)
    let searches = session.gateway.shares.searches
    if searches.isBusy(for: account) { forget(in: session) }
    searches.add(for: account) { [weak session] in
      guard let session else { return true }
      return Self.lookOn(number, in: session)
    }
  }

  /// Looks at the next portion of the past for a subscription. Returns whether it has begun, or will not.
  private static func lookOn(_ number: UInt64, in session: LocalSession) -> Bool {
    guard let pending = session.openCall(number) as? OpenSubscribe else { return true }
    guard pending.target.isDraining || pending.look(in: session) || pending.isOverfull else { return false }
    guard session.close(number) != nil else { return true }
    do throws(LocalError) {
      if pending.target.isDraining { throw .draining }
      if session.isClosing { pending.cancel(in: session) } else { try pending.makeSubscription(in: session) }
    } catch {
      pending.cancel(in: session)
      session.reply(pending.requestID, error)
    }
    return true
  }

  /// What the client is not to hear when the link tells it, which has not done so yet and may.
  private var untold: PassedOver? {
    guard !pastIsKnown else { return nil }
    if case .since? = call.resume {
      let place = call.strict ? nil : target.placeAhead(in: call.resume)
      return place.map { PassedOver($0, until: target.toldPast.mark(on: target.channel)) }
    }
    guard target.isPastUntold else { return nil }
    // Who asks for the last events misses those that come until then.
    return PassedOver(
      in: call.resume == nil ? target.stream.epoch : nil, until: target.toldPast.mark(on: target.channel),
      because: EventStream.beginning)
  }

  private func makeSubscription(in session: LocalSession, passingOver ahead: PassedOver? = nil) throws(LocalError) {
    let (gateway, subscriptions) = (session.gateway, session.subscriptions)
    if call.resume == nil { target.prepareForFreshSubscriber() }
    // Gaps are never dropped: a client that would let them pile up beyond its limit is let go instead.
    guard !isOverfull else {
      cancel(in: session)
      return session.drop(reason: "slow_consumer")
    }
    // Of what was asked for nothing is known where the link has not told it.
    let isUntold = call.resume != nil && ahead.map { $0.place == nil } == true
    if call.strict, !isComplete || isUntold { throw .unrecoverable(target.stream) }
    // Others of the user may have been made while this one waited.
    if call.subscription.flatMap({ subscriptions[$0] }) == nil {
      try gateway.quotas.checkSubscriptions(of: session.peer.uid, session.caller.quota)
    }
    let replay = takeReplay(in: session)
    // The new hold is taken before the old one is given back: the connection never looks unused in between.
    let replaced = call.subscription.flatMap { subscriptions.detach($0) }
    let subscription = Subscription(
      id: call.subscription ?? subscriptions.makeID(), serial: gateway.makeSerial(), options: call.options,
      filter: filter, interests: interests, enters: call.enters,
      output: session.output, outputs: gateway.outputs, limits: gateway.configuration.limits)
    if let ahead { subscription.passOver(ahead) }
    subscriptions.add(
      HeldSubscription(
        subscription: subscription, connection: target, lease: lease, filter: hold, target: call.target)
    ) { [unowned session] in session.drop(reason: "slow_consumer") }
    replaced.map(subscriptions.answersMayHaveEnded)
    session.reply(requestID) { out in
      out.member("subscription", subscription.id)
      out.member("connection", target.id)
      out.member("state", target.state.rawValue)
      out.member("epoch", ahead?.place?.epoch ?? target.stream.epoch)
      out.member("seq", Int(ahead?.place?.sequence ?? target.stream.sequence))
      out.key("recovered")
      out.bool(replay.isComplete && !isUntold)
      out.member("replayed", replay.eventCount)
      if replay.epoch != target.stream.epoch { out.member("first_epoch", replay.epoch) }
      StatusDocument.writeUpstream(target, into: &out)
    }
    subscription.replay(replay)
    if !call.withheld.isEmpty {
      subscription.restore(call.withheld, behind: call.place, in: target.stream.epoch)
    }
    if isOfEarlierRights { target.interests.review(subscription) }
  }

  /// Ends the `subscribe` calls for an id that wait, because another call for it has come. False if none waits.
  @discardableResult
  static func overtake(_ subscription: String, in session: LocalSession) -> Bool {
    let overtaken = waiting(for: subscription, in: session)
    for (number, _) in overtaken {
      session.end(
        number, LocalError(.cancelled, "A later call for the subscription '\(subscription)' took its place."))
    }
    return !overtaken.isEmpty
  }

  /// The `subscribe` calls for one id that wait.
  static func waiting(for subscription: String, in session: LocalSession) -> [(number: UInt64, call: OpenSubscribe)] {
    session.openCalls(OpenSubscribe.self).filter { $0.call.call.subscription.isExactly(subscription) }
  }
}
