/// The one door to everything: one per daemon. Owns the pool of connections and the local sessions, and knows the
/// configuration in force.
public final class Gateway {
  /// What all local clients still have to be sent; the I/O side writes it.
  public let outputs = ClientOutputs()
  let identity: GatewayIdentity
  let seams: GatewaySeams
  /// Random per start: a client that sees another one knows that memory was lost.
  let instance: String
  let started: MonotonicInstant
  /// What the ids of this daemon's sends begin with.
  private let life: String

  /// What is in force.
  public private(set) var configuration: Configuration
  private(set) var access: AccessPolicy
  /// What the targets of calls mean under that configuration.
  private(set) var resolver: TargetResolver
  private(set) var sessions = NumberTable<LocalSession>()
  private var admissions: SharedLimit
  private var nextSession: UInt64 = 1
  private var nextCommand: UInt64 = 1
  private var nextSerial: UInt64 = 1
  private let tokens = TokenCounter()
  private let budget: AttemptBudget
  /// Grows whenever what a target means may have changed: by a reload, or by a connection that left the pool.
  private(set) var generation: UInt64 = 0
  var keys = IdempotencyTable()
  /// What is kept on disk.
  let outbox: Outbox
  /// What of histories is kept on disk.
  let histories: HistoryLogs
  /// Looks through the past, which takes long.
  let searches: SlicedWork
  /// What else takes long of what users cause.
  let slicedWork: SlicedWork
  var traces = TraceTable()
  /// What the filters of subscriptions take.
  let filters = FilterShares()
  /// The examinations that are under way.
  var doctors = SharedLimit(SharedBounds(share: DoctorCall.limit))
  /// Clients that have a `wait` pending.
  var waiting: Set<UInt64> = []
  /// Memory of the last reply, for the next one; most are written and copied into a client's output at once.
  var replyRoom: [UInt8] = []
  static let keptReplyRoom = 4 << 10
  private let factory: ConnectionFactory
  private(set) lazy var pool = ConnectionPool(
    factory: factory, places: SharedBounds(total: configuration.limits.connections)
  ) { [unowned self] in self.heard($1, of: $0) }
  /// Nothing new is taken.
  private(set) var isDraining = false
  /// The daemon ends: no client is taken either.
  private(set) var isStopping = false

  /// Told what happened, for the log.
  public var onFact: ((GatewayFact) -> Void)?
  /// Told to close a client's socket at once; the I/O side then calls `detach`.
  public var onClose: ((LocalSession) -> Void)?
  /// Told now and then, however little happens: for what has to be looked after.
  public var onTick: (() -> Void)?

  public init(configuration: Configuration, identity: GatewayIdentity, seams: GatewaySeams) {
    self.configuration = configuration
    self.identity = identity
    self.seams = seams
    budget = AttemptBudget(configuration.limits, time: seams.time, timers: seams.timers)
    seams.memory.adopt(configuration.limits)
    instance = seams.random.uuid()
    life = instance.prefix(13) + "-"
    started = seams.time.now
    searches = SlicedWork(seams.timers)
    slicedWork = SlicedWork(seams.timers)
    admissions = SharedLimit(configuration.limits.sharedClients)
    access = AccessPolicy(configuration, daemonUser: identity.uid)
    factory = ConnectionFactory(kinds: seams.kinds)
    resolver = TargetResolver(configuration: configuration, urls: seams.urls, factory: factory)
    outbox = Outbox(seams.outbox, settings: configuration.outbox, time: seams.time)
    histories = HistoryLogs(seams.histories, time: seams.time, timers: seams.timers, random: seams.random)
    nextCommand = outbox.lastNumber + 1
    let spares = SpareRelease(seams.timers) { [weak self] in self?.outputs.releaseIdle() ?? false }
    outputs.onSpare = { spares.beginLooking() }
  }

  /// Makes the connections that the configuration keeps up, and lets the keeper tick. Call once, when the loop is about
  /// to run.
  public func start() {
    outbox.onCondition = { [unowned self] in note(.outbox($0)) }
    outbox.onWarning = { [unowned self] in note(.outboxWarning($0)) }
    histories.onReport = { [unowned self] in note(.history(upstream: $0.upstream, namespace: $0.namespace, $1)) }
    histories.adopt(keeping: wantedHistories(), atMost: pool.places.bounds)
    rememberKeys()
    placeStored()
    seams.network?.onChange = { [weak self] change in
      guard let self else { return }
      for connection in pool.all { connection.networkChanged(change) }
    }
    connectKept()
    tick()
  }

  /// The machine was suspended and goes on.
  public func resumed() {
    for connection in pool.all { connection.resumed() }
  }

  private func connectKept() {
    for (name, upstream) in configuration.upstreams.sorted(by: { $0.key < $1.key })
    where upstream.settings.keep == .always {
      do throws(LocalError) {
        connection(for: try resolver.resolve(CallTarget(name: .upstream(name)), uid: identity.uid))?.review()
      } catch {
        note(.internalError("upstream \(name): \(error.message)"))
      }
    }
  }

  /// The keeper's safety net: every connection is looked at now and then, whatever else was forgotten.
  private func tick() {
    seams.timers.after(Self.tickInterval) { [weak self] in
      guard let self, !isStopping else { return }
      for connection in pool.all {
        connection.stream.forgetOld()
        connection.review()
      }
      outbox.trimArchive()
      histories.tick()
      onTick?()
      tick()
    }
  }

  private static let tickInterval: Duration = .seconds(30)

  var context: ConnectionContext {
    ConnectionContext(
      time: seams.time, timers: seams.timers, random: seams.random, outputs: outputs, tokens: tokens,
      budget: budget, network: seams.network, histories: histories, memory: seams.memory, work: seams.work,
      limits: configuration.limits)
  }

  func connection(for specification: UpstreamSpecification) -> Connection? {
    let connection = pool.connection(for: specification, context: context)
    if let connection, let observer = traces.observer(of: connection.key), connection.observer !== observer {
      connection.observer = observer
    }
    return connection
  }

  /// The number of a send, which grows over restarts.
  func makeCommandNumber() -> UInt64 {
    defer { nextCommand += 1 }
    return nextCommand
  }

  /// The globally unique id of the send of a number.
  func commandID(_ number: UInt64) -> CommandID { CommandID(life: life, number: number) }

  /// Orders subscriptions by age.
  func makeSerial() -> UInt64 {
    defer { nextSerial += 1 }
    return nextSerial
  }

  func note(_ fact: GatewayFact) { onFact?(fact) }

  /// What lines of local programs count as whose end has not come.
  public var receiveMemory: MemoryBudget { seams.memory.receive }

  // MARK: - Local clients

  /// What became of a newcomer.
  public enum Admission {
    case admitted(LocalSession)
    /// Write this line, then close.
    case refused([UInt8])
  }

  /// A program connected. `tag` is handed back in `ClientOutput.tag`.
  public func attach(_ peer: PeerCredentials, tag: Int) -> Admission {
    do throws(SharedBounds.Overrun) { try admissions.check(for: .user(peer.uid)) } catch {
      switch error {
      case .share(let limit): return refuse(peer, quota: "clients_per_user", limit: limit)
      case .total(let limit): return refuse(peer, quota: "clients", limit: limit)
      }
    }
    if isStopping { return .refused(LocalReply.error(nil, .draining, limit: configuration.limits.line)) }
    let session = LocalSession(number: nextSession, peer: peer, gateway: self, output: outputs.add(tag: tag))
    nextSession += 1
    sessions[session.number] = session
    admissions.count(for: .user(peer.uid))
    note(.clientAttached(session.fact))
    return .admitted(session)
  }

  private func refuse(_ peer: PeerCredentials, quota: String, limit: Int) -> Admission {
    note(.quotaExceeded(uid: peer.uid, quota: quota))
    let error = LocalError(
      .quotaExceeded, "The gateway has as many local clients as `limits.\(quota)` allows (\(limit)); try again later.",
      [.init("quota", .string(quota)), .init("limit", .integer(limit))])
    return .refused(LocalReply.error(nil, error, limit: configuration.limits.line))
  }

  /// The program's socket is fully closed: everything it held is given back, and its place with the last of that.
  public func detach(_ session: LocalSession) {
    guard sessions.removeValue(forKey: session.number) != nil else { return }
    waiting.remove(session.number)
    session.leave { [weak self, outputs] in
      outputs.remove(session.output)
      self?.admissions.giveBack(for: .user(session.peer.uid))
    }
    note(.clientDetached(session.fact))
  }

  // MARK: - What connections report

  private func heard(_ report: ConnectionReport, of connection: Connection) {
    switch report {
    case .moved(let from, let to):
      note(.connectionMoved(connection.fact, from: from, to: to))
      for number in waiting { sessions[number]?.connectionMoved(connection, to: to) }
    case .released:
      generation += 1
      note(.connectionReleased(connection.fact))
    case .settled(let command, let outcome): settled(command, outcome, on: connection)
    case .leftOver(let command, let failure):
      if !storeLeftover(command, of: connection) { connection.settle(command, .down(failure)) }
    case .progressed(let command, let part):
      if case .call(let client, let request) = command.owner { sessions[client]?.progressed(request, part) }
    case .refusedInterest(let interest, let refusal):
      note(.interestRefused(connection.fact, interest: interest.description, detail: refusal.detail))
    case .withheld(let command): withhold(command)
    case .tried(let command): outbox.noteAttempts(command)
    case .illegal(let transition): note(.internalError(transition.description))
    }
  }

  private func settled(_ command: Command, _ outcome: CommandOutcome, on connection: Connection) {
    if command.isStored {
      finishStored(command, outcome)
    }
    keys.note(command, state: outcome.idempotencyState)
    if case .call(let client, let request) = command.owner {
      sessions[client]?.settled(request, command, outcome)
    } else if let failure = outcome.logText {
      let suspicion = command.isSuspected ? ", suspected of breaking the link" : ""
      note(.sendFailed(connection.fact, command: command.id, outcome: failure + suspicion))
    }
  }

  // MARK: - Configuration

  /// Reads the configuration again: all or nothing. Returns the names of the upstreams and sections that changed.
  public func reload() -> Result<[String], ConfigurationProblems> {
    switch seams.loader.load() {
    case .failure(let problems):
      note(.reloadRefused(problems.all))
      return .failure(problems)
    case .success(let fresh):
      let change = ConfigurationChange(from: configuration, to: fresh)
      apply(fresh)
      note(.reloaded(change))
      return .success(change.names)
    }
  }

  private func apply(_ fresh: Configuration) {
    configuration = fresh
    resolver = TargetResolver(configuration: fresh, urls: seams.urls, factory: factory)
    budget.adopt(fresh.limits)
    admissions.bounds = fresh.limits.sharedClients
    pool.places.bounds = SharedBounds(total: fresh.limits.connections)
    seams.memory.adopt(fresh.limits)
    generation += 1
    access = AccessPolicy(fresh, daemonUser: identity.uid)
    checkRights()
    for connection in pool.all {
      guard let specification = current(connection.specification) else {
        connection.withdraw()
        continue
      }
      connection.adopt(fresh.limits)
      guard ConnectionKey(specification) == connection.key else {
        // The upstream is another namespace now: whoever used the old one must not get the new one's events.
        connection.withdraw()
        continue
      }
      if specification != connection.specification || connection.isWithdrawn {
        pool.adopt(specification, for: connection)
      }
    }
    outbox.adopt(fresh.outbox)
    histories.adopt(keeping: wantedHistories(), atMost: pool.places.bounds)
    placeStored()
    connectKept()
  }

  /// What was allowed when it began may not be any more. Before anything else of a new configuration, so that nothing is
  /// done with its settings for those who may not.
  private func checkRights() {
    let resolver = resolver
    for connection in pool.all { connection.rules = resolver.scope(of: connection.specification) }
    for session in sessions.values { session.checkRights() }
    for connection in pool.inNoOrder {
      connection.checkSenders { access.allows(.send, under: connection.rules, for: $0) }
    }
    // Those who were let go have given back what they held by then.
    seams.timers.after(.zero) { [weak self] in
      guard let self else { return }
      for connection in pool.all where connection.rules.name != connection.specification.name && !connection.isOccupied
      {
        connection.withdraw()
      }
    }
  }

  /// What an existing connection's specification is under the configuration in force; nil if it has none.
  private func current(_ old: UpstreamSpecification) -> UpstreamSpecification? {
    guard let name = old.name else {
      guard resolver.scope(of: old) != .closed else { return nil }
      var settings = configuration.adhocSettings
      settings.auth = old.settings.auth
      var fresh = old
      fresh.settings = settings
      return fresh
    }
    guard var fresh = resolver.configured(name) else { return nil }
    if resolver.namesNamespaces(fresh.url) { fresh.namespace = old.namespace }
    fresh.requester = old.requester
    return fresh
  }

  // MARK: - Stop

  /// Takes nothing new and gives what is queued its chance to leave. `done` is called once, when everything has left or
  /// when the time is over, with how many sends are left; or at once when it is not asked for any more.
  func drain(within limit: Duration, while isWanted: @escaping () -> Bool, _ done: @escaping (Int) -> Void) {
    isDraining = true
    for connection in pool.all { connection.flushForStop() }
    waitForConnections(until: seams.time.now + limit, { connection, _ in connection.isFlushed || !isWanted() }) {
      [weak self] in
      done(self?.leftCount ?? 0)
    }
  }

  /// Sends that wait to be written or acknowledged.
  private var leftCount: Int {
    pool.inNoOrder.reduce(0) { $0 + $1.commands.count } + outbox.unfinished.count { $0.connection == nil }
  }

  /// Stops in order: no new work, queued sends and open calls get their chance within `limits.stop`, then every link is
  /// closed, what is left moves to the outbox, and every client is told goodbye. `finished` is called once, when only
  /// unread output may be left.
  public func stop(reason: String, finished: @escaping () -> Void) {
    guard !isStopping else { return }
    isStopping = true
    note(.stopping(reason: reason))
    isDraining = true
    let patience = StopPatience(pool.inNoOrder, now: seams.time.now)
    for connection in pool.all { connection.flushForStop() }
    waitForConnections(until: seams.time.now + configuration.limits.stop, { !patience.waits(for: $0, at: $1) }) {
      [weak self] in
      guard let self else { return }
      for connection in pool.all { connection.shutDown() }
      outbox.close { [weak self] in
        self?.noteKept()
        self?.sayGoodbye()
        finished()
      }
    }
  }

  private func noteKept() {
    let count = outbox.unfinished.count
    if count > 0 { note(.sendsKept(count)) }
  }

  private func sayGoodbye() {
    for session in sessions.values {
      session.endWaits()
      session.say(LocalNotification.goodbye(reason: "stopping", reconnectIn: reconnectDelay))
      session.closeWhenFlushed()
    }
  }

  /// Spreads the return of all clients after a restart.
  private var reconnectDelay: Duration { .milliseconds(100 + Int64(seams.random.fraction() * 900)) }

  /// Calls back when every connection is ready, or when the time is over.
  private func waitForConnections(
    until deadline: MonotonicInstant, _ isReady: @escaping (Connection, MonotonicInstant) -> Bool,
    _ done: @escaping () -> Void
  ) {
    let now = seams.time.now
    guard now < deadline, !pool.inNoOrder.allSatisfy({ isReady($0, now) }) else { return done() }
    seams.timers.after(.milliseconds(20)) { [weak self] in self?.waitForConnections(until: deadline, isReady, done) }
  }
}
