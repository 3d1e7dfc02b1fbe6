/// The one door to everything: one per daemon. Takes local programs in, applies the configuration, and hands on between
/// the owners of what there is: clients, upstreams, the outbox, and how all of it stops.
public final class Gateway {
  /// What all local clients still have to be sent; the I/O side writes it.
  public let outputs = ClientOutputs()
  let identity: GatewayIdentity
  let seams: GatewaySeams
  /// Random per start: a client that sees another one knows that memory was lost.
  let instance: String
  let started: MonotonicInstant
  /// The same in milliseconds since 1970, by the clock as it was then.
  let startedAt: Int64

  /// What is in force.
  public private(set) var configuration: Configuration
  /// What of the first one stays in force.
  private let startSettings: StartSettings
  let clients: LocalClients
  let upstreams: Upstreams
  let relay: OutboxRelay
  /// What each user may have.
  let quotas: UserQuotas
  var shares: UserShares
  private let ending: GatewayStop
  let reference = LightReference<Gateway>()
  private var nextSerial: UInt64 = 1
  /// The daemon ends, and another one goes on with its clients: nothing more of them is heard.
  private(set) var isHandingOver = false
  /// How often clients went from one daemon to the next so far.
  var handovers: UInt64 = 0
  /// What wrote the last reply, with its memory for the next one; most are copied into a client's output at once.
  var replyWriter: JSONWriter?
  static let keptReplyRoom = 4 << 10

  /// Told what happened, for the log.
  public var onFact: ((GatewayFact) -> Void)?
  /// Told to close a client's socket at once; the I/O side then calls `detach`.
  public var onClose: ((LocalSession) -> Void)?
  /// Told now and then, however little happens: for what has to be looked after.
  public var onTick: (() -> Void)?

  public init(configuration: Configuration, identity: GatewayIdentity, seams: GatewaySeams) {
    self.configuration = configuration
    startSettings = StartSettings(configuration)
    self.identity = identity
    self.seams = seams
    seams.memory.adopt(configuration.limits)
    instance = seams.random.uuid()
    started = seams.time.now
    startedAt = seams.time.wallMilliseconds
    clients = LocalClients(configuration.limits.sharedClients)
    quotas = UserQuotas(configuration.quotas, seams.time)
    shares = UserShares(seams.timers)
    upstreams = Upstreams(
      configuration, daemonUser: identity.uid, seams: seams, outputs: outputs, shares: shares)
    relay = OutboxRelay(
      seams.outbox, settings: configuration.outbox, upstreams: upstreams, instance: instance, seams: seams)
    ending = GatewayStop(upstreams, relay, seams)
    let spares = SpareRelease(seams.timers) { [reference] in reference.object?.outputs.releaseIdle() ?? false }
    outputs.onSpare = { spares.beginLooking() }
    quotas.onRefusal = { [unowned self] in note(.quotaExceeded(uid: $0, quota: $1)) }
    upstreams.pool.onReport = { [reference] in reference.object?.heard($1, of: $0) }
    reference.begin(self)
  }

  deinit { reference.end() }

  /// Durable sends of an earlier process, or their keys, name a URL: it has to be readable when they are taken up.
  public var storesURLs: Bool {
    relay.outbox.usage.allLines.contains { $0.target.isURL }
      || relay.outbox.archive.records.contains { $0.entry.target.isURL }
  }

  /// Makes the connections that the configuration keeps up, and lets the keeper tick. Call once, when the loop is about
  /// to run.
  public func start() {
    upstreams.histories.report { [unowned self] in
      note(.history(upstream: $0.upstream, namespace: $0.namespace, $1))
    }
    upstreams.adoptHistories()
    upstreams.fleet?.release = identity.version
    upstreams.fleet?.onRenamed = { [unowned self] in note(.fleetNameTaken($0, renamed: $1)) }
    upstreams.fleet?.onNameRegained = { [unowned self] in note(.fleetNameRegained($0)) }
    upstreams.fleet?.onReport = { [unowned self] in note(.fleet($0)) }
    upstreams.beginFleet(relay)
    relay.onFact = { [unowned self] in note($0) }
    relay.onStored = { [unowned self] client, call, id, connection in
      if let session = clients.caller(client) { OpenSend.stored(call, id, on: connection, in: session) }
    }
    relay.start()
    seams.network?.onChange = { [reference] change in
      reference.object?.upstreams.networkChanged(change)
    }
    connectKept()
    tick()
  }

  private func connectKept() {
    upstreams.connectKept { [reference] in reference.object?.note(.internalError($0)) }
  }

  private func tick() {
    seams.timers.after(Self.tickInterval) { [reference] in
      guard let gateway = reference.object, !gateway.isStopping else { return }
      gateway.upstreams.tick()
      gateway.relay.outbox.trimArchive()
      gateway.quotas.tick()
      gateway.onTick?()
      gateway.tick()
    }
  }

  private static let tickInterval: Duration = .seconds(30)

  /// Orders subscriptions by age.
  func makeSerial() -> UInt64 {
    defer { nextSerial += 1 }
    return nextSerial
  }

  func note(_ fact: GatewayFact) { onFact?(fact) }

  // MARK: - What the machine says

  /// The machine was suspended and goes on.
  public func resumed() { upstreams.resumed() }

  /// The wall clock was set.
  public func clockWasSet() { relay.clockWasSet() }

  /// To be called right before anything is written to local clients: what they are about to be told has to outlive the
  /// daemon first, so that no number is ever used twice. One write for each connection that received something.
  @inline(__always)
  public func commitHistories() {
    let commits = upstreams.commits
    if commits.isPending { commits.commit() }
  }

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
    do throws(LocalError) {
      try checkPlace(for: peer)
      if isStopping { throw .draining }
    } catch { return .refused(LocalReply.error(nil, error, limit: configuration.limits.line)) }
    return .admitted(add(peer, tag: tag, hasPlace: true))
  }

  /// A client, with or without a place among those that its user may have.
  func add(_ peer: PeerCredentials, tag: Int, hasPlace: Bool) -> LocalSession {
    let session = clients.add(peer, in: self, tag: tag, hasPlace: hasPlace)
    note(.clientAttached(session.fact))
    return session
  }

  /// Whether a user may have one more client. Where not, it is told for the log.
  func checkPlace(for peer: PeerCredentials) throws(LocalError) {
    let quota = quotas.quota(of: peer.identity, by: upstreams.access).clients
    do throws(SharedBounds.Overrun) { try clients.check(for: peer.uid, quota: quota) } catch {
      switch error {
      case .share(let limit) where quota != nil:
        throw refuse(
          peer, quota: "clients", .quotaExceeded("clients", limit, "local clients; end some, or try again later"))
      case .share(let limit): throw refuse(peer, quota: "clients_per_user", limit: limit)
      case .total(let limit): throw refuse(peer, quota: "clients", limit: limit)
      }
    }
  }

  private func refuse(_ peer: PeerCredentials, quota: String, limit: Int) -> LocalError {
    refuse(
      peer, quota: quota,
      LocalError(
        .quotaExceeded,
        "The gateway has as many local clients as `limits.\(quota)` allows (\(limit)); try again later.",
        [.init("quota", .string(quota)), .init("limit", .integer(limit))]))
  }

  private func refuse(_ peer: PeerCredentials, quota: String, _ error: LocalError) -> LocalError {
    note(.quotaExceeded(uid: peer.uid, quota: quota))
    return error
  }

  /// The program's socket is fully closed: everything it held is given back, and its place with the last of that.
  public func detach(_ session: LocalSession) {
    guard clients.remove(session) else { return }
    session.leave { [clients, outputs] in
      outputs.remove(session.output)
      clients.giveBackPlace(of: session)
    }
    note(.clientDetached(session.fact))
  }

  // MARK: - What connections report

  private func heard(_ report: ConnectionReport, of connection: Connection) {
    switch report {
    case .moved(let from, let to): note(.connectionMoved(connection.fact, from: from, to: to))
    case .released:
      upstreams.noteReleased(connection)
      note(.connectionReleased(connection.fact))
    case .settled(let command, let outcome):
      if let trouble = relay.trouble(behind: outcome, on: connection) {
        settled(command, .notStored(trouble), on: connection)
      } else {
        settled(command, outcome, on: connection)
      }
    case .leftOver(let command, let failure):
      if !relay.storeLeftover(command, of: connection) { connection.settle(command, .down(failure)) }
    case .progressed(let command, let part):
      if case .call(let client, let request) = command.owner, let session = clients.caller(client) {
        OpenSend.progressed(request, part, in: session)
      }
    case .refusedInterest(let interest, let refusal):
      note(.interestRefused(connection.fact, interest: interest.description, detail: refusal.detail))
    case .withheld(let command): relay.withhold(command)
    case .tried(let command): relay.outbox.noteAttempts(command)
    case .returned(let command): relay.returned(command)
    case .illegal(let transition): note(.internalError(transition.description))
    }
  }

  private func settled(_ command: Command, _ outcome: CommandOutcome, on connection: Connection) {
    relay.settled(command, outcome)
    if case .call(let client, let request) = command.owner {
      if let session = clients.caller(client) {
        OpenSend.settled(request, command, outcome, on: connection, in: session)
      }
    } else if let failure = outcome.logText {
      let suspicion = command.isSuspected ? ", suspected of breaking the link" : ""
      note(.sendFailed(connection.fact, SendFact(command), outcome: failure + suspicion))
    }
  }

  // MARK: - Configuration

  /// Why a configuration was not taken.
  public enum ReloadFailure: Error, Equatable {
    /// It was not read: what would change is on its way out.
    case draining
    case invalid(ConfigurationProblems)
  }

  /// Reads the configuration again: all or nothing, and nothing new while the gateway drains. Returns the names of the
  /// upstreams and sections that changed.
  public func reload() -> Result<[String], ReloadFailure> {
    if isDraining {
      note(.reloadIgnored)
      return .failure(.draining)
    }
    switch seams.loader.load() {
    case .failure(let problems):
      note(.reloadRefused(problems.all))
      return .failure(.invalid(problems))
    case .success(let fresh):
      let change = ConfigurationChange(from: configuration, to: fresh, startedWith: startSettings)
      apply(fresh, change)
      note(.reloaded(change))
      return .success(change.names)
    }
  }

  /// What was found when the configuration was read last that is no mistake and hardly meant.
  var configurationWarnings: [ConfigurationProblem] { seams.loader.warnings }

  /// The settings in force that are used from the next start of the daemon on.
  var needsRestart: [String] { StartSettings(configuration).differences(from: startSettings) }

  /// What was allowed when it began may not be any more: that is looked at before anything is done with new settings
  /// for programs that may not. Thousands of connections get their settings in later turns, and what depends on these
  /// follows.
  private func apply(_ fresh: Configuration, _ change: ConfigurationChange) {
    configuration = fresh
    clients.adopt(fresh.limits.sharedClients)
    quotas.adopt(fresh.quotas)
    seams.memory.adopt(fresh.limits)
    upstreams.adopt(fresh)
    clients.checkRights()
    if change.concernsSends {
      relay.stopPlacing()
      upstreams.checkSenders()
    }
    upstreams.adoptSettings { [reference] in reference.object?.settingsAreAdopted(change) }
  }

  private func settingsAreAdopted(_ change: ConfigurationChange) {
    guard !isClosed else { return }
    upstreams.joinFleet()
    relay.outbox.adopt(configuration.outbox)
    upstreams.adoptHistories()
    if change.concernsSends { placeSends() }
    connectKept()
  }

  private func placeSends() {
    let isWanted = { [reference] in reference.object?.isClosed == false }
    relay.placeAll(while: isWanted) { [reference] in
      reference.object?.upstreams.withdrawUnderOtherRules()
    }
  }

  // MARK: - Stop

  /// Nothing new is taken.
  var isDraining: Bool { ending.isDraining }
  /// Whether nothing is known of upstreams any more.
  var isClosed: Bool { ending.isClosed }
  /// The daemon ends: no client is taken either.
  var isStopping: Bool { ending.isStopping }

  /// Takes nothing new and gives what is queued its chance to leave. `done` is called once, when everything has left or
  /// when the time is over, with how many sends are left; or at once when it is not asked for any more.
  func drain(within limit: Duration, while isWanted: @escaping () -> Bool, _ done: @escaping (Int) -> Void) {
    ending.drain(within: limit, while: isWanted, done)
  }

  /// Stops in order: no new work, queued sends and open calls get their chance within `limits.stop`, then every link is
  /// closed, what is left moves to the outbox, and every client is told goodbye. `finished` is called once, when only
  /// unread output may be left.
  ///
  /// `handingOver`: another daemon goes on with the clients. They are told nothing, and `handOver` of each session says
  /// what the other one needs, once `finished` was called.
  public func stop(reason: String, handingOver: Bool = false, finished: @escaping () -> Void) {
    guard !isStopping else { return }
    note(.stopping(reason: reason))
    isHandingOver = handingOver
    if handingOver { clients.prepareHandover() } else { clients.endWaitsForStates() }
    ending.stop(within: configuration.limits.stop) { [reference] kept in
      guard let gateway = reference.object else { return finished() }
      gateway.stopped(kept)
      guard let fleet = gateway.upstreams.fleet else { return finished() }
      fleet.stop(within: Self.leaveLimit, finished)
    }
  }

  /// How long a host that stops waits for its fleet.
  private static let leaveLimit: Duration = .seconds(1)

  private func stopped(_ kept: Int) {
    if kept > 0 { note(.sendsKept(kept)) }
    if isHandingOver { clients.endWaits() } else { sayGoodbye("stopping") }
  }

  private func sayGoodbye(_ reason: String) { clients.sayGoodbye(reason) { self.reconnectDelay } }

  /// After a `stop` for it there is no hand-over: the clients are told to come back.
  public func abandonHandover() {
    isHandingOver = false
    clients.abandonHandover()
    sayGoodbye(LocalSession.restarting)
  }

  /// Spreads the return of all clients after a restart.
  var reconnectDelay: Duration { .milliseconds(100 + Int64(seams.random.fraction() * 900)) }

  /// One line for `STATUS=`.
  public var summary: String {
    let connections = upstreams.pool.inNoOrder
    let up = connections.count { $0.state == .connected }
    let queued = connections.reduce(0) { $0 + $1.delivery.commands.queue.count }
    if isDraining { return "stopping; \(queued) queued sends left" }
    return "\(connections.count) upstreams: \(up) up; \(clients.count) clients; \(queued) queued sends"
  }
}

/// What users share of the gateway's time and memory, beside connections and sends.
struct UserShares {
  /// What the filters of subscriptions take.
  let filters = FilterShares()
  /// The examinations that are under way.
  var doctors = SharedLimit(SharedBounds(share: DoctorCall.limit))
  /// Looks through the past, which takes long.
  let searches: SlicedWork
  /// What else takes long of what users cause.
  let work: SlicedWork
  /// What clients that leave give back.
  let departures: Departures

  init(_ timers: Timers) {
    searches = SlicedWork(timers)
    work = SlicedWork(timers)
    departures = Departures(work)
  }
}
