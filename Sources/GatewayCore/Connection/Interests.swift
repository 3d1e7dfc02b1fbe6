/// What the interests of subscriptions need of their connection.
protocol InterestsOwner: LinkOwner {
  var state: ConnectionState { get }
  /// How long the server may take to answer for what it was asked.
  var confirmationLimit: Duration { get }
  /// What is said at every connect has been said.
  var areEntersSaid: Bool { get }
  /// Everything that belongs to the conversation is agreed.
  func opened()
  /// The attempt is given up.
  func abandon(_ failure: UpstreamFailure)
}

/// What subscriptions want of an upstream that sends only what it was asked for: asked once for all of them, confirmed
/// by the server, asked again on every new link, given back with the last of them. The conversation counts as connected
/// when the server has answered for everything. Decision 0050.
final class Interests {
  /// It alone has this object. Set by the connection, once.
  unowned var connection: (any InterestsOwner)!
  private let stream: EventStream
  private let endings: Endings
  private let timers: Timers
  /// In whose turns subscriptions are told, and for whom.
  private let sliced: SlicedWork
  private let account: Account
  private var table = InterestTable()
  /// The calls that wait for answers to what they want.
  private var waits = InterestWaits()
  /// What waited before this place has a link that is gone, and ends in turns of its own.
  private var goneBefore: UInt64 = 0
  /// Runs while a conversation has begun, and what is wanted is being confirmed.
  private var openingTimer: Timers.ID?

  init(of stream: EventStream, endings: Endings, for account: Account, context: ConnectionContext) {
    self.stream = stream
    self.endings = endings
    self.account = account
    timers = context.timers
    sliced = context.sliced
  }

  /// How long the server may take to answer for what it was asked.
  var confirmationLimit: Duration { connection.confirmationLimit }

  // MARK: - Holders

  /// What the server is to be asked for, for a subscription with this filter.
  func wanted(by filter: EventFilter, answers: Bool) -> Set<Interest> {
    let isAsked = connection.connector.confirmedInterests.include(Interest(.all, answers: answers))
    return isAsked ? filter.interests(answers: answers) : []
  }

  /// A subscription wants these. Returns what the server has to confirm first; nothing while there is no conversation.
  func hold(_ interests: Set<Interest>) -> Set<Interest> {
    table.hold(interests)
    ask(interests)
    return connection.state == .connected ? table.awaited(interests) : []
  }

  /// The client of a subscription has other rights than before: what is wanted by now is asked for, and no other. No call
  /// waits for it, so that the subscription is told of what it is not given.
  func review(_ subscription: Subscription) {
    let held = subscription.interests
    var wanted = wanted(by: subscription.filter, answers: subscription.feed.pointee.answers)
    guard wanted != held else { return }
    for interest in wanted.subtracting(held) {
      guard let problem = connection.connector.problem(with: interest) else { continue }
      wanted.remove(interest)
      subscription.note(.interest(interest), refusal: problem.clause, epoch: stream.epoch)
    }
    subscription.adopt(wanted)
    _ = hold(wanted.subtracting(held))
    giveBack(held.subtracting(wanted))
  }

  /// A subscription is gone.
  func giveBack(_ interests: Set<Interest>) {
    let unwanted = table.giveBack(interests)
    guard connection.connector.confirmedInterests != .none, let channel = connection.channel else { return }
    for interest in unwanted { channel.drop(interest) }
    concludeOpening()
  }

  /// A channel was dialled: it is asked for everything.
  func askForAll() { ask(table.all) }

  private func ask(_ interests: some Sequence<Interest>) {
    guard connection.connector.confirmedInterests != .none, let channel = connection.channel else { return }
    for interest in table.ask(interests) { channel.want(interest) }
  }

  // MARK: - The beginning of a conversation

  /// The conversation has begun. It counts as connected now, or when the server has answered for everything that is
  /// wanted, and what is entered is said.
  func beginOpening() {
    guard isAwaited else { return connection.opened() }
    openingTimer = timers.after(confirmationLimit, connection.ringing { [unowned self] in openingTimedOut() })
  }

  /// Something of that may be done.
  func concludeOpening() {
    guard openingTimer != nil, !isAwaited else { return }
    endOpening()
    connection.opened()
  }

  private var isAwaited: Bool { table.areAwaited || !connection.areEntersSaid }

  private func openingTimedOut() {
    guard !table.areAwaited else {
      return connection.abandon(UpstreamFailure(.timeout, "the server did not confirm all subscriptions in time"))
    }
    // The server reads slowly what is entered: others wait for that no longer.
    endOpening()
    connection.opened()
  }

  private func endOpening() {
    timers.cancel(openingTimer)
    openingTimer = nil
  }

  /// The channel is gone: what is wanted will be asked for on the next one, so that no call has to wait.
  func endOfLink() {
    endOpening()
    table.endOfLink()
    guard !waits.isEmpty else { return }
    goneBefore = waits.endPlace
    endInPortions { [goneBefore] interests in
      guard let wait = interests.waits.first(before: goneBefore) else { return nil }
      return interests.end(wait, interests.refusal(of: wait.left))
    }
  }

  /// What `next` ends goes in portions, behind what ends already. The connection lives until that is done.
  private func endInPortions(_ next: @escaping (Interests) -> Int?) {
    endings.end { [self, connection = connection!] in withExtendedLifetime(connection) { next(self) } }
  }

  // MARK: - Answers

  /// The server has answered for one.
  func answered(_ interest: Interest, _ refusal: UpstreamFailure?) {
    let news = table.answered(interest, agreed: refusal == nil)
    var concerned: [Subscription] = []
    switch news {
    case .none: return
    // None was ever told anything else.
    case .agreed: break
    case .refused, .agreedAtLast:
      concerned = stream.subscriptions(wanting: interest)
    }
    answered(.interest(interest), refusal, concerning: concerned)
  }

  /// The calls that wait for it go on, and the subscriptions that want it are told why it is refused.
  func answered(_ wanted: Wanted, _ refusal: UpstreamFailure?, concerning subscriptions: [Subscription]) {
    if let freed = waits.takeAll(for: wanted) { goOn(freed, wanted, refusal) }
    if let refusal { connection.report(.refusedInterest(wanted, refusal)) }
    let detail = refusal?.detail
    sliced.forEach(
      of: subscriptions, portion: Broadcasts.portion, for: account,
      { [stream] in $0.note(wanted, refusal: detail, epoch: stream.epoch) })
    concludeOpening()
  }

  /// These waited for it.
  private func goOn(_ freed: consuming TombstoneQueue<InterestWait>, _ wanted: Wanted, _ refusal: UpstreamFailure?) {
    var freed = freed
    endInPortions { interests in
      guard let wait = freed.popFirst() else { return nil }
      if let refusal = refusal ?? interests.refusal(of: [wanted]) { return interests.end(wait, refusal) }
      return wait.agreed(wanted) ? interests.end(wait, nil) : 1
    }
  }

  /// What the server refuses of these on the link that is there by now: said to a call whose end has waited for its turn.
  private func refusal(of wanted: Set<Wanted>) -> UpstreamFailure? {
    for case .interest(let interest) in wanted where table.isRefused(interest) {
      return UpstreamFailure(.refused, "the server refuses \(interest)")
    }
    return nil
  }

  /// Calls back once, when the server has answered for these, the channel is gone, or the time of a handshake is over.
  /// `cost`: what that counts among what ends with it.
  func await(_ wanted: Set<Wanted>, cost: Int, _ done: @escaping (UpstreamFailure?) -> Void) -> InterestWait {
    let wait = InterestWait(wanted, cost: cost, done)
    wait.timer = timers.after(confirmationLimit, connection.ringing { [unowned self] in timedOut(wait) })
    waits.add(wait)
    return wait
  }

  private func timedOut(_ wait: InterestWait) {
    // What has its end already is not told of another one.
    guard wait.place >= goneBefore, waits.isOwed(wait) else { return }
    _ = end(wait, UpstreamFailure(.timeout, "the server did not confirm the subscription in time"))
  }

  /// The call does not wait any more.
  func cancel(_ wait: InterestWait) {
    if waits.remove(wait) { timers.cancel(wait.timer) }
  }

  /// Returns what that counts.
  private func end(_ wait: InterestWait, _ failure: UpstreamFailure?) -> Int {
    guard waits.remove(wait) else { return 1 }
    timers.cancel(wait.timer)
    wait.end(failure)
    return wait.cost
  }
}
