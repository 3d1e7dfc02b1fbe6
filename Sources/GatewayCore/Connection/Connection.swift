/// One upstream connection, shared by every local program that has the right to use it. Everything that survives a
/// reconnect lives here: leases, subscriptions, queued commands, the numbering of events. What dies with the link lives
/// in the channel, which is never used twice.
final class Connection {
  let id: String
  let key: ConnectionKey
  /// On whose account it was made.
  let account: Account
  private(set) var specification: UpstreamSpecification
  /// Whose access rules hold for it. Those of another upstream than it was made for, if that has its URL by now.
  var rules: AccessScope
  /// How the outbox names it; the settings in it change nothing about that.
  lazy var outboxTarget = OutboxTarget(specification)
  private(set) var connector: any UpstreamConnector
  private(set) var context: ConnectionContext
  let stream: EventStream

  private var machine = ConnectionStateMachine()
  private(set) var channel: (any UpstreamChannel)?
  private var leases: Set<Lease> = []
  private var nextLease: UInt64 = 1
  var commands: CommandLedger
  var answers = AnswerTable()
  var interests = InterestTable()
  /// Whether several users write to it.
  let isShared: Bool
  /// Whose the bytes are that the channel has not taken, where it does not know that itself.
  let unsent: UnsentSends
  private(set) var lastFailure: UpstreamFailure?
  private var schedule: AttemptSchedule
  /// Who waits until what an earlier daemon received is known.
  var pastWaiters = Ring<() -> Void>()
  /// Whether there may be a way to the server.
  var reach = NetworkReach()
  private(set) var since: MonotonicInstant
  private(set) var sinceWall: Int64
  /// When it was last up, and since when it is not, in milliseconds since 1970. Attempts move neither.
  private(set) var lastConnected: Int64?
  private(set) var downSince: Int64?
  private var unleasedSince: MonotonicInstant?
  /// An administrator's `disconnect`, or the upstream's removal from the configuration, until it is taken back.
  private var hold: Hold?
  private(set) var isDraining = false
  private(set) var hasBeenConnected = false
  private(set) var reconnects = 0
  private(set) var judgement: Judgement?
  private var reviewTimer: Timers.ID?
  private var isReviewing = false

  /// Who traces the connection.
  var observer: (any UpstreamObserver)? {
    didSet { connector.observer = observer }
  }

  /// Who is told what happens. Set by the pool's owner, once.
  var report: ((Connection, ConnectionReport) -> Void)?

  private enum Hold { case requested, withdrawn }

  init(
    key: ConnectionKey, specification: UpstreamSpecification, connector: any UpstreamConnector,
    context: ConnectionContext
  ) {
    self.key = key
    account = specification.requester
    self.specification = specification
    rules = specification.name.map { .upstream($0) } ?? .adhoc
    self.connector = connector
    self.context = context
    id = context.random.uuid()
    stream = EventStream(
      outputs: context.outputs, time: context.time, random: context.random, work: context.work,
      lineLimit: context.limits.line, history: specification.settings.history,
      serverTime: specification.settings.serverTime)
    stream.history.memory = MemoryHold(context.memory.history, for: specification.account)
    commands = CommandLedger(limits: context.limits, memory: SharedMemoryHold(context.memory.send))
    isShared = specification.account == .configuration
    unsent = UnsentSends(context.memory.send)
    schedule = AttemptSchedule(settings: specification.settings.reconnect)
    (since, sinceWall) = (context.time.now, context.time.wallMilliseconds)
    unsent.watch(context.timers) { [weak self] in self?.channel?.unsentBytes ?? 0 }
    lookAfterHistory()
    lookAtNetwork()
  }

  var state: ConnectionState { machine.state }
  /// Its upstream is not in the configuration any more.
  var isWithdrawn: Bool { hold == .withdrawn }
  var leaseCount: Int { leases.count }

  /// Why it is not connected; nil while it is, and before the first attempt has failed.
  var downFailure: UpstreamFailure? { state == .connected ? nil : lastFailure }

  /// Whether anybody wants the connection.
  var isOccupied: Bool { use != nil }

  /// What the connection is needed for; nil when nobody wants it.
  private var use: IllegalTransition.Use? {
    if !commands.isIdle { return .commands(commands.count) }
    if isKept { return .configuration }
    return leases.isEmpty ? nil : .leases
  }

  /// The configuration in force wants it up.
  private var isKept: Bool { specification.settings.keep == .always && hold != .withdrawn }

  /// A command was written: an unused connection lingers from now on.
  func noteUse() { unleasedSince = context.time.now }

  /// Failed attempts and lost links in a row.
  var failedAttempts: Int { schedule.backoff.attempts }

  /// The number of the last attempt.
  var generation: UInt64 { schedule.generation }

  /// Whether an attempt is under way, or will be made without an order.
  var expectsAttempt: Bool { state == .reconnecting || machine.attemptIsUnderWay || retryIn != nil }

  /// Nothing is queued, awaited or still to be taken by the kernel.
  var isFlushed: Bool {
    (commands.isIdle || (state == .connected && commands.isQuiet)) && (channel?.unsentBytes ?? 0) == 0
  }

  // MARK: - Leases

  /// Takes a hold. A connection that is waiting for its next attempt starts one at once, at most once a second, unless
  /// the server refused the last one.
  func lease(_ purpose: Lease.Purpose) -> Lease {
    let lease = Lease(number: nextLease, purpose: purpose)
    nextLease += 1
    leases.insert(lease)
    hurry(.lease)
    return lease
  }

  /// Gives a hold back; one that was given back before is ignored.
  func giveBack(_ lease: Lease) {
    guard leases.remove(lease) != nil else { return }
    review()
  }

  /// Somebody does not want to wait for the back-off. Without an attempt that could be hastened it means nothing.
  func hurry(_ urgency: Urgency) {
    if state == .disconnected || (state == .created && !machine.attemptIsUnderWay) {
      schedule.hasten(urgency)
    }
    review()
  }

  // MARK: - Orders by an administrator

  /// Lifts a hold and starts an attempt at once.
  func reconnect() throws(IllegalTransition) {
    guard state == .disconnected else { throw IllegalTransition(state: state, asked: .connect) }
    hold = nil
    schedule.ordered(context.budget)
    if !awaitsPast { try apply(.connect) }
    review()
  }

  /// Closes and stays down until `reconnect`.
  func disconnect() throws(IllegalTransition) {
    try close(UpstreamFailure(onPurpose: .requested), hold: .requested)
  }

  /// Leaves the pool, if nobody uses it.
  func release() throws(IllegalTransition) {
    if let use { throw IllegalTransition(state: state, asked: .release, use: use) }
    try apply(.release)
  }

  private func close(_ failure: UpstreamFailure, hold newHold: Hold?) throws(IllegalTransition) {
    let before = (lastFailure, hold, schedule)
    // Everything that is told about the transition must already know its reason.
    lastFailure = failure
    hold = newHold ?? hold
    schedule.endedOnPurpose(at: context.time.now)
    do { try apply(.disconnect) } catch {
      (lastFailure, hold, schedule) = before
      throw error
    }
    review()
  }

  // MARK: - Configuration and stop

  /// New settings for the same upstream: what is up is closed and comes back with them at once.
  func adopt(_ specification: UpstreamSpecification, connector: any UpstreamConnector) {
    self.specification = specification
    self.connector.observer = nil
    connector.observer = observer
    self.connector = connector
    stream.adopt(specification.settings.history)
    lookAfterHistory()
    stream.clock.adopt(specification.settings.serverTime)
    lookAtNetwork()
    schedule.adopt(specification.settings.reconnect)
    if hold == .withdrawn { hold = nil }
    restart(.init(.idle, "its settings changed"))
  }

  /// The upstream left the configuration: down until it comes back.
  func withdraw() {
    let failure = UpstreamFailure(.requested, "the upstream is no longer in the configuration")
    hold = hold ?? .withdrawn
    restart(failure)
  }

  /// Closes for the daemon's end: nothing is tried any more, and every command gets its outcome.
  func shutDown() {
    isDraining = true
    let failure = UpstreamFailure(onPurpose: .draining)
    restart(failure)
    // What the outbox has stays there for the next daemon.
    for command in commands.takeAll() where !command.isStored { report?(self, .leftOver(command, failure)) }
    context.timers.cancel(reviewTimer)
    endHistory()
  }

  /// New limits of a changed configuration. A queue that is longer than its new limit is emptied as usual.
  func adopt(_ limits: Limits) {
    context.limits = limits
    stream.adopt(lineLimit: limits.line)
    commands.adopt(limits)
  }

  /// Gives what is queued a last chance before the daemon stops.
  func flushForStop() {
    if !commands.isIdle { hurry(.order) }
  }

  /// Down, for a reason of ours, and up again at once if the keeper thinks so.
  func restart(_ failure: UpstreamFailure) {
    // An administrator's `disconnect` stays the reason, whatever else happens.
    let failure = hold == .requested ? UpstreamFailure(onPurpose: .requested) : failure
    schedule.hasten(.order)
    if state == .created {
      abandon(failure)
    } else if (try? close(failure, hold: hold)) == nil {
      lastFailure = failure
    }
    review()
  }

  /// The first attempt cannot be taken back by an order, but it can be lost.
  func abandon(_ failure: UpstreamFailure) {
    channel?.close()
    lost(failure)
  }

  // MARK: - The keeper

  /// Lets the keeper look at the connection and does what it says, until it has nothing more to say.
  func review() {
    guard !isReviewing else { return }
    isReviewing = true
    defer { isReviewing = false }
    noteOccupation()
    context.timers.cancel(reviewTimer)
    reviewTimer = nil
    // Three acts in a row are already more than the five states allow.
    for _ in 0..<4 {
      var judgement = context.keeper.judge(health)
      if hold == .withdrawn, judgement.rule == "hold" { judgement.why = "The upstream left the configuration." }
      self.judgement = judgement
      switch judgement.verdict {
      case .act(let action): perform(action)
      case .wait(let until):
        guard let until, state != .released else { return }
        reviewTimer = context.timers.at(until) { [weak self] in self?.review() }
        return
      }
    }
  }

  /// The last command has its outcome. While the connection is up that changes nothing but the end of its linger time, and
  /// it is going to be looked at by then.
  func noteIdle() {
    if state != .connected || reviewTimer == nil || isDraining { review() }
  }

  private func noteOccupation() {
    if isOccupied {
      unleasedSince = nil
    } else if unleasedSince == nil {
      unleasedSince = context.time.now
    }
  }

  /// What the keeper looks at.
  private var health: Health {
    var health = Health(state: state, since: since, now: context.time.now, settings: specification.settings)
    health.attemptIsUnderWay = machine.attemptIsUnderWay
    health.hasLeases = !leases.isEmpty || !commands.isIdle
    health.unleasedSince = unleasedSince
    health.isConfigured = specification.name != nil && hold != .withdrawn
    health.isKeptAlways = isKept
    health.lastReason = lastFailure?.reason
    health.lastStatus = lastFailure?.status
    schedule.describe(to: &health)
    health.isHeld = hold != nil
    health.awaitsPast = awaitsPast
    health.networkIsUp = reach.isUp
    health.isDraining = isDraining
    return health
  }

  private func perform(_ action: KeeperAction) {
    do {
      switch action {
      // While its turn has not come the keeper, asked again, says to wait for it.
      case .connect: if hasTurn() { try apply(.connect) }
      case .disconnect(let reason): try close(UpstreamFailure(onPurpose: reason), hold: nil)
      case .abandon(let reason): abandon(UpstreamFailure(onPurpose: reason))
      case .release: try apply(.release)
      }
    } catch {
      report?(self, .illegal(error))
    }
  }

  /// Whether the attempt that the keeper wants has its turn; if not, it waits for one.
  private func hasTurn() -> Bool {
    schedule.hasTurn(context.budget, for: account) { attempt in
      AttemptBudget.Candidate(
        isWanted: { [weak self] in self.map { $0.schedule.wantsTurn(attempt, isWanted: $0.mayAttempt) } ?? false },
        start: { [weak self] in
          self?.schedule.turnCame()
          self?.review()
        })
    }
  }

  /// Whether an attempt makes sense now.
  private var mayAttempt: Bool {
    isOccupied && hold == nil && !isDraining && reach.isUp
      && (state == .disconnected || (state == .created && !machine.attemptIsUnderWay))
  }

  // MARK: - The state machine

  private func apply(_ event: ConnectionStateMachine.Event) throws(IllegalTransition) {
    for action in try machine.handle(event) { perform(action) }
  }

  private func perform(_ action: ConnectionStateMachine.Action) {
    switch action {
    case .startAttempt:
      schedule.started(at: context.time.now)
      channel = connector.dial(owner: self)
      askFor(interests.all)
    case .closeChannel:
      if isDraining, outlivesDaemon { channel?.suspend() } else { channel?.close() }
      forgetChannel()
    case .discardChannel:
      if let lastFailure { blame(lastFailure) }
      forgetChannel()
    case .drainQueue: drainQueue()
    case .announce(let from, let to): announce(from: from, to: to)
    case .removeFromPool:
      context.timers.cancel(reviewTimer)
      endHistory()
      report?(self, .released)
    }
  }

  private func forgetChannel() {
    channel = nil
    unsent.taken(downTo: 0)
    stream.conversationEnded()
    stream.log?.noteResumption()
    forgetInterests()
    answers.endOfLink()
    let failure = lastFailure ?? UpstreamFailure(.closed, "the connection was closed")
    for command in commands.endOfLink() { settle(command, .acknowledgementLost(failure)) }
    requeueRetries(failure)
  }

  private func announce(from: ConnectionState, to: ConnectionState) {
    since = context.time.now
    sinceWall = context.time.wallMilliseconds
    if to == .released { return }
    if to == .connected {
      (lastConnected, downSince) = (sinceWall, nil)
    } else {
      downSince = downSince ?? sinceWall
    }
    for subscription in stream.subscriptions where subscription.wantsState {
      subscription.notify(stateNotification(for: subscription))
    }
    report?(self, .moved(from: from, to: to))
  }

  private func stateNotification(for subscription: Subscription) -> [UInt8] {
    let down = downFailure
    return LocalNotification.state(
      subscription: subscription.id, state: state, epoch: stream.epoch,
      attempt: state == .connected ? nil : failedAttempts, retryIn: state == .disconnected ? retryIn : nil,
      reason: down?.reason, detail: down?.detail, status: down?.status,
      isRecovered: state == .connected && channel?.isRecovered == true)
  }

  /// Milliseconds until the next attempt; nil when none is planned.
  var retryIn: Int64? {
    guard state == .disconnected || state == .created, isOccupied else { return nil }
    switch context.keeper.judge(health).verdict {
    case .act(.connect): return 0
    case .wait(let until?): return max(0, (until - context.time.now).milliseconds)
    case .act, .wait: return nil
    }
  }

  // MARK: - The channel's facts

  /// The server has accepted us; events may come from now on.
  func beginConversation() {
    stream.conversationBegan(isRecovered: channel?.isRecovered == true)
    stream.log?.noteResumption()
  }

  /// A subscription that asks for nothing of the past begins.
  func prepareForFreshSubscriber() {
    if connector.resumption == nil { stream.prepareForFreshSubscriber() }
  }

  /// Everything that belongs to the conversation is agreed.
  func opened() {
    if hasBeenConnected { reconnects += 1 }
    hasBeenConnected = true
    lastFailure = nil
    reach.lastAddress = channel?.facts.transport?.address ?? reach.lastAddress
    lookAtNetwork()
    schedule.opened(at: context.time.now)
    commands.beginFlow(rate: specification.settings.flush, now: context.time.now)
    transition(.opened)
  }

  /// The way to the server is gone: what is waited for from now on is the network, unless the network was not it.
  func noteOffline() {
    guard state == .disconnected, isOccupied, hold == nil, !outlastsNetwork else { return }
    lastFailure = UpstreamFailure(onPurpose: .offline)
  }

  func lost(_ failure: UpstreamFailure) {
    lastFailure = failure
    schedule.failed(failure, at: context.time.now, fraction: context.random.fraction())
    awaitNewCredentials(after: failure)
    transition(.lost)
    for command in commands.failed(refused: failure.isRefusal) {
      settle(command, failure.reason == .refused ? .refused(failure) : .down(failure))
    }
    review()
  }

  private func transition(_ event: ConnectionStateMachine.Event) {
    do { try apply(event) } catch { report?(self, .illegal(error)) }
    review()
  }
}
