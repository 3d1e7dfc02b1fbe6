/// One upstream connection, shared by every local program that has the right to use it. Everything that survives a
/// reconnect lives here: leases, subscriptions, queued commands, the numbering of events. What dies with the link lives
/// in the channel, which is never used twice.
final class Connection {
  /// For what does not keep it: timers, and others that may outlive it.
  let reference = LightReference<Connection>()
  private let identity: ConnectionIdentity
  private(set) var specification: UpstreamSpecification
  /// Whose access rules hold for it. Those of another upstream than it was made for, if that has its URL by now.
  var rules: AccessPlace
  private(set) var connector: any UpstreamConnector
  private(set) var context: ConnectionContext
  let stream: EventStream

  private var machine = ConnectionStateMachine()
  private(set) var channel: (any UpstreamChannel)?
  /// The commands that have no outcome yet.
  let delivery: Delivery
  /// The answers that the server has asked for.
  let answers: Answers
  /// What subscriptions want to be sent.
  let interests: Interests
  /// What is said to the server at every connect.
  let enters: Enters
  let history: ConnectionHistory
  /// The calls that wait for what its link tells of the past.
  let toldPast: ToldPast
  /// What waited for it in great number and has its end.
  let endings: Endings
  /// The calls that wait for its state.
  var stateWaits = StateWaits()
  /// What the keeper goes by, and when it looks.
  let upkeep: ConnectionUpkeep

  /// Told what happens. Set by the pool, once, and meant for its owner.
  var onReport: ((Connection, ConnectionReport) -> Void)?
  /// Told before that of its release. Set by the pool, once.
  var onRelease: ((Connection) -> Void)?

  init(
    key: ConnectionKey, specification: UpstreamSpecification, connector: any UpstreamConnector,
    context: ConnectionContext
  ) {
    identity = ConnectionIdentity(id: context.random.uuid(), key: key, specification)
    self.specification = specification
    rules = AccessPlace(
      specification.name.map { .upstream($0) } ?? .adhoc, namespace: specification.namespace)
    self.connector = connector
    self.context = context
    stream = EventStream(
      outputs: context.outputs, time: context.time, random: context.random, work: context.work,
      lineLimit: context.limits.line, history: specification.settings.history,
      serverTime: specification.settings.serverTime, broadcasts: Broadcasts(context.sliced, for: identity.account))
    stream.history.memory = MemoryHold(context.memory.history, for: specification.account)
    endings = Endings(context.sliced, for: identity.account)
    delivery = Delivery(specification, endings: endings, context: context)
    toldPast = ToldPast(endings: endings, context.timers)
    history = ConnectionHistory(of: stream, connector: connector, context: context)
    upkeep = ConnectionUpkeep(specification, context: context)
    enters = Enters(specification, context: context)
    answers = Answers(specification, delivery: delivery, context: context)
    interests = Interests(of: stream, endings: endings, for: identity.account, context: context)
    reference.begin(self)
    delivery.connection = self
    enters.connection = self
    answers.connection = self
    interests.connection = self
    upkeep.connection = self
    endings.onOver = { [reference] in reference.object?.endingsAreOver() }
    history.onKnown = { [reference] in reference.object?.review() }
    history.adopt(specification, connector: connector)
    upkeep.lookAtNetwork()
  }

  deinit { reference.end() }

  var id: String { identity.id }
  var key: ConnectionKey { identity.key }
  /// On whose account it was made.
  var account: Account { identity.account }
  /// How the outbox names it; the settings in it change nothing about that.
  var outboxTarget: OutboxTarget { identity.target }

  /// Hears what a trace shows.
  var observer: (any UpstreamObserver)? {
    get { connector.observer }
    set { connector.observer = newValue }
  }

  var state: ConnectionState { machine.state }
  /// Its upstream is not in the configuration any more.
  var isWithdrawn: Bool { upkeep.notes.isWithdrawn }
  /// The daemon stops.
  var isDraining: Bool { upkeep.notes.isDraining }
  /// Why it is not connected, or why it last was not.
  var lastFailure: UpstreamFailure? { upkeep.notes.lastFailure }
  /// What the keeper said last.
  var judgement: Judgement? { upkeep.notes.judgement }
  var leaseCount: Int { upkeep.leases.count }
  /// Whether there may be a way to the server.
  var reach: NetworkReach { upkeep.reach }
  /// When it was up, and since when it is not.
  var record: ConnectionRecord { upkeep.record }
  /// Milliseconds until the next attempt; nil when none is planned.
  var retryIn: Int64? { upkeep.retryIn }

  /// Why it is not connected; nil while it is, and before the first attempt has failed.
  var downFailure: UpstreamFailure? { state == .connected ? nil : lastFailure }

  /// Whether a client, a command or the configuration needs the connection.
  var isOccupied: Bool { use != nil }

  /// What the connection is needed for; nil when nothing needs it.
  private var use: IllegalTransition.Use? {
    if !delivery.commands.isIdle { return .commands(delivery.commands.count) }
    if isKept { return .configuration }
    guard !upkeep.leases.isEmpty else { return nil }
    return specification.isHeld ? .fleet : .leases
  }

  /// The configuration in force wants it up.
  var isKept: Bool { specification.settings.keep == .always && !isWithdrawn }

  /// Failed attempts and lost links in a row.
  var failedAttempts: Int { upkeep.notes.schedule.backoff.attempts }

  /// Whether an attempt runs now.
  var attemptIsUnderWay: Bool { machine.attemptIsUnderWay }

  /// The number of the last attempt.
  var generation: UInt64 { upkeep.notes.schedule.generation }

  /// Whether an attempt is under way, or will be made without an order.
  var expectsAttempt: Bool { state == .reconnecting || machine.attemptIsUnderWay || retryIn != nil }

  /// Nothing is queued, awaited, still to be taken by the kernel, or to be told that it has ended.
  var isFlushed: Bool {
    guard endings.isEmpty, (channel?.unsentBytes ?? 0) == 0 else { return false }
    return delivery.commands.isIdle || (state == .connected && delivery.commands.isQuiet)
  }

  // MARK: - Leases

  /// Takes a hold. A connection that is waiting for its next attempt starts one at once, at most once a second, unless
  /// the server refused the last one.
  func lease(_ purpose: Lease.Purpose) -> Lease {
    let lease = upkeep.lease(purpose)
    hurry(.lease)
    return lease
  }

  /// Gives a hold back; one that was given back before is ignored.
  func giveBack(_ lease: Lease) {
    if upkeep.giveBack(lease) { review() }
  }

  /// What had its end has been told so: nothing else may keep the connection listed.
  private func endingsAreOver() {
    if state == .disconnected, !isOccupied { review() }
  }

  /// Links, addresses or routes changed.
  func networkChanged(_ change: NetworkChange) { upkeep.networkChanged(change) }

  /// The machine slept: what became of its links is not known, and waiting may be over.
  func resumed() { upkeep.resumed() }

  // MARK: - Commands

  /// Takes a command, whose message the connector has prepared since the last turn of the loop. With `now: true` it is
  /// written now or not at all (`volatile`).
  func submit(_ command: Command, now: Bool = false) throws(SubmissionProblem) -> Submission {
    channel?.checkHeartbeat()
    switch ConnectionStateMachine.admits(.send, in: state) {
    case .illegal: throw .released
    case .keep, .write: return try delivery.take(command, now: now)
    case .queue:
      guard now else { return try enqueue(command) }
      askForConnection()
      return .dropped
    }
  }

  private func enqueue(_ command: Command) throws(SubmissionProblem) -> Submission {
    if command.noQueue, state != .created {
      throw .down(lastFailure ?? UpstreamFailure(.idle, "it is not connected"))
    }
    return try delivery.enqueue(command)
  }

  /// A volatile command came while nothing could be written: it is dropped, but the next ones shall find a connection.
  private func askForConnection() {
    let lease = lease(.call)
    context.timers.after(.seconds(1)) { [reference] in reference.object?.giveBack(lease) }
  }

  /// Takes a command out of the queue. Returns whether it was there and was never written.
  @discardableResult
  func takeBack(_ command: Command) -> Bool { delivery.takeBack(command) }

  /// The caller left: its acknowledgement is not awaited any more.
  func forget(_ command: Command) { delivery.forget(command) }

  /// A command ends here, for a reason from outside.
  func settle(_ command: Command, _ outcome: CommandOutcome) { delivery.settle(command, outcome) }

  /// The rights may have changed: none is written any more that its sender may not send. Returns whether any waits.
  func rightsChanged() -> Bool { delivery.rightsChanged() }

  /// Ends or withholds the next one that still is to be written, from a place of the queue on, if it may not be any more.
  /// Returns where to go on; nil at the end.
  func checkSender(from place: UInt64) -> UInt64? { delivery.checkSender(from: place) }

  /// Whether the sender of a command still may have it written.
  func isAllowed(_ command: Command) -> Bool { delivery.isAllowed(command) }

  /// The disk has a command: it may be written when its turn comes, and its caller does not wait for it any more.
  func committed(_ command: Command) { delivery.committed(command) }

  /// The disk does not take a command, which therefore ends here.
  func reject(_ command: Command, _ problem: StorageProblem) { delivery.reject(command, problem) }

  /// Takes over commands that were accepted before, by an earlier life of the daemon or for another connection, in
  /// order. Returns how many later ones had to be queued again behind them.
  @discardableResult
  func restore(_ stored: some Collection<Command>) -> Int { delivery.restore(stored) }

  /// Until `earlierHaveCome` nothing of the queue is written: commands that were accepted before are going to join it.
  func awaitEarlier() { delivery.awaitEarlier() }

  /// All have: the queue flows on.
  func earlierHaveCome() { delivery.earlierHaveCome() }

  /// Another connection will carry a command, which may be under way. What is behind it stays where it is until
  /// `resume(behind:)`, as it may be about to move as well.
  func handAway(_ command: Command) { delivery.handAway(command) }

  /// All that were to be handed away were: what stood behind them may follow.
  func resume(behind gone: some Sequence<Command>) { delivery.resume(behind: gone) }

  // MARK: - Orders by an administrator

  /// Whether an order concerns it: not a link that this host does not hold, unless it was told to keep that closed.
  var takesOrders: Bool { !specification.isHeld || isOccupied || isRequestedDown }

  /// One keeps it closed.
  var isRequestedDown: Bool { upkeep.notes.isRequestedDown }

  /// Lifts a hold and starts an attempt at once; of a link that this host does not hold, as soon as it does.
  func reconnect() throws(IllegalTransition) {
    guard state == .disconnected else { throw IllegalTransition(state: state, asked: .connect) }
    upkeep.reconnectWasOrdered()
    guard isOccupied || !specification.isHeld else { return end(.linkNotHeld) }
    if !history.awaitsPast { try apply(.connect) }
    review()
  }

  /// Closes and stays down until `reconnect`.
  func disconnect() throws(IllegalTransition) {
    try close(UpstreamFailure(onPurpose: .requested), holding: true)
  }

  /// Leaves the pool, if it is not used and nobody is still to be told what became of a call.
  func release() throws(IllegalTransition) {
    if let use = use ?? (endings.isEmpty ? nil : .endings) {
      throw IllegalTransition(state: state, asked: .release, use: use)
    }
    try apply(.release)
  }

  /// Closes for a reason of ours; `holding`: and stays down until `reconnect`.
  func close(_ failure: UpstreamFailure, holding: Bool = false) throws(IllegalTransition) {
    let before = upkeep.notes
    // Everything that is told about the transition must already know its reason.
    upkeep.closing(failure, holding: holding)
    do { try apply(.disconnect) } catch {
      upkeep.notes = before
      throw error
    }
    review()
  }

  // MARK: - Configuration and stop

  /// New settings for the same upstream: what is up is closed and comes back with them at once.
  func adopt(_ specification: UpstreamSpecification, connector: any UpstreamConnector) {
    self.specification = specification
    let observer = observer
    self.connector.observer = nil
    connector.observer = observer
    if connector.pastLimit == nil {
      stream.giveItsOwnPlaces()
    } else if !stream.hasGivenPlaces {
      stream.takePlaces(behind: toldPast.mark(on: nil))
    }
    self.connector = connector
    stream.adopt(specification.settings.history)
    history.adopt(specification, connector: connector)
    stream.clock.adopt(specification.settings.serverTime)
    delivery.adopt(specification.settings)
    enters.adopt(specification.settings)
    upkeep.adopt(specification)
    restart(.init(.idle, "its settings changed"))
  }

  /// The upstream left the configuration: down until it comes back.
  func withdraw() {
    let failure = UpstreamFailure(.requested, "the upstream is no longer in the configuration")
    upkeep.notes.isWithdrawn = true
    restart(failure)
  }

  /// Closes for the daemon's end: nothing is tried any more, and every command gets its outcome.
  func shutDown() {
    upkeep.notes.isDraining = true
    let failure = UpstreamFailure(onPurpose: .draining)
    restart(failure)
    toldPast.attemptFailed()
    endings.finish()
    stream.finishTelling()
    delivery.shutDown(failure)
    upkeep.end()
    history.end(.daemon)
  }

  /// New limits of a changed configuration.
  func adopt(_ limits: Limits) {
    guard limits != context.limits else { return }
    context.limits = limits
    stream.adopt(limits)
    delivery.adopt(limits)
  }

  /// Gives what is queued a last chance before the daemon stops.
  func flushForStop() {
    if !delivery.commands.isIdle { hurry(.order) }
  }

  /// Down, for a reason of ours, and up again at once if the keeper thinks so.
  func restart(_ failure: UpstreamFailure) {
    // An administrator's `disconnect` stays the reason, whatever else happens.
    let failure = upkeep.notes.isRequestedDown ? UpstreamFailure(onPurpose: .requested) : failure
    upkeep.notes.schedule.hasten(.order)
    if state == .created {
      abandon(failure)
    } else if (try? close(failure)) == nil {
      upkeep.notes.lastFailure = failure
    }
    review()
  }

  /// Down, because the only one who needed it has given its lease back: without a linger time, and how long it is down
  /// counts from when it is needed again.
  func end(_ failure: UpstreamFailure) {
    restart(failure)
    if !isOccupied { upkeep.endedUnneeded() }
  }

  /// The first attempt cannot be taken back by an order, but it can be lost.
  func abandon(_ failure: UpstreamFailure) {
    channel?.close()
    lost(failure)
  }

  // MARK: - The state machine

  /// A fact or an order for the machine: does what follows.
  func apply(_ event: ConnectionStateMachine.Event) throws(IllegalTransition) {
    for action in try machine.handle(event) { perform(action) }
  }

  private func perform(_ action: ConnectionStateMachine.Action) {
    switch action {
    case .startAttempt:
      upkeep.attemptStarted()
      channel = connector.dial(owner: self)
      interests.askForAll()
      toldPast.ask(channel)
    case .closeChannel:
      delivery.linkCloses()
      // Another daemon goes on, of this host or of another one of its fleet.
      let isKept = isDraining && (history.outlivesDaemon || specification.isHeld)
      if isKept { channel?.suspend() } else { channel?.close() }
      forgetChannel()
    case .discardChannel:
      delivery.linkEnded()
      let breaking = lastFailure.map(enters.blame) ?? []
      if let lastFailure { delivery.blame(lastFailure) }
      forgetChannel()
      for (message, problem) in breaking { enters.answered(message, .breaking, problem) }
    case .drainQueue: if let channel { delivery.begin(on: channel) }
    case .announce(let from, let to): announce(from: from, to: to)
    case .removeFromPool:
      upkeep.end()
      history.end(isDraining ? .daemon : .connection)
      onRelease?(self)
      report(.released)
    }
  }

  private func forgetChannel() {
    channel = nil
    if stream.continuity.phase == .conversing { toldPast.conversationEnded() } else { toldPast.attemptFailed() }
    stream.conversationEnded()
    stream.log?.noteResumption()
    enters.endOfLink()
    interests.endOfLink()
    answers.endOfLink()
    delivery.putBack(lastFailure ?? UpstreamFailure(.closed, "the connection was closed"))
  }

  private func announce(from: ConnectionState, to: ConnectionState) {
    upkeep.moved(to: to)
    if to == .released { return }
    stream.notifyStates(stateNotification)
    report(.moved(from: from, to: to))
    if let line = stateWaits.take(to) { endings.end { [self] in withExtendedLifetime(self) { line.tellNext() } } }
  }
}
