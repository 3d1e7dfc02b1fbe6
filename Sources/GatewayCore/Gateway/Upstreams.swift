/// The upstreams under the configuration in force: what a target means, what each user may do with it, and the
/// connections that there are.
final class Upstreams {
  /// For what does not keep it.
  private let reference = LightReference<Upstreams>()
  /// What each user may do with them.
  private(set) var access: AccessPolicy
  /// What the targets of calls mean.
  private(set) var resolver: TargetResolver
  /// Grows whenever what a target means may have changed: by a reload, or by a connection that left the pool.
  private(set) var generation: UInt64 = 0
  let pool: ConnectionPool
  /// What of histories outlives the daemon.
  let histories: HistoryPlaces
  /// What of them is to be written next.
  let commits = HistoryCommits()
  /// What connections have counted that have left the pool, by the name that metrics give to their upstream.
  private(set) var retired: [String: ConnectionCounters] = [:]
  /// The traces of their connections.
  private var traces = TraceTable()
  let factory: ConnectionFactory
  /// Nil where this host is in none.
  let fleet: Fleet?
  /// What this host holds for it.
  var links: HeldLinks?
  /// What it keeps of this host's sends.
  var sends: FleetSends?
  let budget: AttemptBudget
  let tokens = TokenCounter()
  private let seams: GatewaySeams
  private let outputs: ClientOutputs
  private let work: SlicedWork
  private let filters: FilterShares
  /// The uid that the daemon runs as.
  private let daemonUser: UInt32

  init(
    _ configuration: Configuration, daemonUser: UInt32, seams: GatewaySeams, outputs: ClientOutputs,
    shares: UserShares
  ) {
    (work, filters) = (shares.work, shares.filters)
    self.daemonUser = daemonUser
    self.seams = seams
    self.outputs = outputs
    factory = ConnectionFactory(kinds: seams.kinds.all)
    budget = AttemptBudget(configuration.limits, time: seams.time, timers: seams.timers)
    fleet = seams.fleet.flatMap { Fleet(configuration.fleet, $0) }
    if let fleet { factory.adapt = { [unowned fleet] in fleet.connector(for: $0, $1) } }
    let commits = commits
    func logs(
      _ opening: Result<any HistoryStore, StorageProblem>, _ remainder: HistoryLogs.Remainder, _ files: MemoryBudget?
    ) -> HistoryLogs {
      HistoryLogs(opening, remainder, commits, files, time: seams.time, timers: seams.timers, random: seams.random)
    }
    histories = HistoryPlaces(
      state: logs(seams.histories, .kept, nil),
      runtime: seams.runtimeHistories.map { logs($0, .removed, seams.memory.historyFiles) })
    pool = ConnectionPool(factory: factory, places: SharedBounds(total: configuration.limits.connections))
    access = AccessPolicy(configuration, daemonUser: daemonUser)
    resolver = TargetResolver(configuration: configuration, urls: seams.urls, factory: factory)
    seams.servers.adopt(configuration.upstreams.values.flatMap(\.urls))
    reference.begin(self)
    fleet?.onHolder = { [reference] in reference.object?.tellHolder(of: $0) }
  }

  deinit { reference.end() }

  /// What is in force.
  var configuration: Configuration { resolver.configuration }

  /// The connection for a specification, made now if it does not exist. Nil for a scheme that no kind claims.
  func connection(for specification: UpstreamSpecification) -> Connection? {
    if let known = pool.existing(specification) { return known }
    guard let made = pool.connection(for: specification, context: context) else { return nil }
    made.rules = resolver.place(of: specification)
    // Also none: what a connection speaks to may outlive it, and with it the observer of a trace that has ended since.
    made.observer = traces.observer(of: made.key)
    return made
  }

  /// What there is of a specification: what programs use, and then the link that this host holds for its fleet.
  func connections(of specification: UpstreamSpecification) -> [Connection] {
    var all = [specification]
    if specification.name != nil {
      all.append(specification)
      all[1].isHeld = true
    }
    return all.compactMap { pool.existing($0) }
  }

  private var context: ConnectionContext {
    ConnectionContext(
      time: seams.time, timers: seams.timers, random: seams.random, outputs: outputs, tokens: tokens,
      budget: budget, network: seams.network, histories: histories, memory: seams.memory, work: seams.work,
      sliced: work, filters: filters,
      permit: { [reference] in reference.object?.access.answer($0, at: $1, for: $2).permit ?? .none },
      limits: configuration.limits)
  }

  /// A connection has left the pool.
  func noteReleased(_ connection: Connection) {
    generation += 1
    retired[UpstreamFigures.label(of: connection), default: ConnectionCounters()]
      .add(.ofUpstream(connection, at: seams.time.now))
  }

  /// Makes the connections that the configuration keeps up, a portion in each turn. `report` is told what is wrong with
  /// those that cannot be, a sentence each.
  func connectKept(_ report: @escaping (String) -> Void) {
    let kept = configuration.upstreams.filter { $0.value.settings.keep == .always }.keys.sorted()
    let connect = { [reference] (name: String) -> Void in reference.object?.connect(toKept: name, report) }
    work.forEach(of: kept, portion: Self.portion, for: .configuration, connect)
  }

  private func connect(toKept name: String, _ report: (String) -> Void) {
    // Another configuration may have come meanwhile.
    guard configuration.upstreams[name]?.settings.keep == .always else { return }
    do throws(LocalError) {
      connection(for: try resolver.resolve(CallTarget(name: .upstream(name)), uid: daemonUser))?.review()
    } catch { report("upstream \(name): \(error.message)") }
  }

  // MARK: - What concerns all of them

  /// Links, addresses or routes of the machine changed.
  func networkChanged(_ change: NetworkChange) { forEach { $0.networkChanged(change) } }

  /// The machine was suspended and goes on.
  func resumed() { forEach { $0.resumed() } }

  /// Does something to each connection that there is now: thousands take tens of milliseconds, so that some have their
  /// turn in this turn of the loop, and the others in later ones.
  private func forEach(_ body: @escaping (Connection) -> Void, then done: @escaping () -> Void = {}) {
    let present = { (connection: Connection) in
      if connection.state != .released { body(connection) }
    }
    work.forEach(of: pool.all, portion: Self.portion, for: .configuration, present, then: done)
  }

  /// A trace begins: what there is of its connections is observed from now on, and whatever is made of them later. Of
  /// an upstream whose link another host has it says at once which.
  func add(_ trace: Trace) {
    let observer = traces.add(trace)
    for connection in connections(of: trace.specification) { connection.observer = observer }
    let specification = trace.specification
    guard let fleet, specification.settings.fleet, let name = specification.name else { return }
    let place = fleet.place(name, specification.namespace)
    if let fact = FleetDocument.holderFact(of: place, in: fleet) { trace.take(fact) }
  }

  /// A trace ends.
  func remove(_ trace: Trace) {
    guard traces.remove(trace) else { return }
    for connection in connections(of: trace.specification) { connection.observer = nil }
  }

  /// Another host has a link of the fleet, or none has it any more.
  private func tellHolder(of place: FleetPlace) {
    guard let fleet, var specification = resolver.configured(place.upstream) else { return }
    specification.namespace = place.namespace
    guard let observer = traces.observer(of: ConnectionKey(specification)) else { return }
    if let fact = FleetDocument.holderFact(of: place, in: fleet) { observer.observed(fact) }
  }

  /// The keeper's safety net: every connection is looked at now and then, whatever else was forgotten.
  func tick() {
    look(at: Snapshot(pool.all, work, for: .configuration))
    histories.tick()
    reviewFleet()
  }

  /// Looks at some of them in each turn.
  private func look(at rest: Snapshot<Connection>) {
    var portion = Portion(Self.portion, seams.timers)
    while !rest.isEmpty, portion.takesMore(), let connection = rest.next() {
      guard connection.state != .released else { continue }
      forgetOld(connection.stream)
      connection.review()
    }
    if !rest.isEmpty { seams.timers.after(.zero) { [reference] in reference.object?.look(at: rest) } }
  }

  /// Connections that are looked at in one go, at most.
  private static let portion = 256

  /// What is too old of a long history goes in portions, one in each turn.
  private func forgetOld(_ stream: EventStream) {
    if !stream.forgetOld() { seams.timers.after(.zero) { [reference] in reference.object?.forgetOld(stream) } }
  }

  // MARK: - Another configuration

  /// From now on another configuration says what targets mean and what each user may do. What is there goes on until
  /// `adoptSettings`.
  func adopt(_ fresh: Configuration) {
    resolver = TargetResolver(configuration: fresh, urls: seams.urls, factory: factory)
    seams.servers.adopt(fresh.upstreams.values.flatMap(\.urls))
    access = AccessPolicy(fresh, daemonUser: daemonUser)
    generation += 1
    budget.adopt(fresh.limits)
    pool.places.bounds = SharedBounds(total: fresh.limits.connections)
    for connection in pool.all { connection.rules = resolver.place(of: connection.specification) }
  }

  /// What waits to be sent ends where its sender has lost the right to, a portion in each turn; none of it is written before its
  /// turn comes. Connections that are only there under other rules go as soon as those that used them have given back what they
  /// held.
  func checkSenders() {
    let rest = Snapshot(pool.inNoOrder.filter { $0.rightsChanged() }, work, for: .configuration)
    var present: (connection: Connection, place: UInt64)?
    work.begin(for: .configuration) { [reference, timers = seams.timers] in
      var portion = Portion(Self.checkedAtOnce, timers)
      while portion.takesMore() {
        guard let (connection, place) = present ?? rest.next().map({ ($0, 0) }) else {
          timers.after(.zero) { reference.object?.withdrawUnderOtherRules() }
          return true
        }
        present = connection.checkSender(from: place).map { (connection, $0) }
      }
      return false
    }
  }

  /// Commands that are looked at in one go, at most.
  static let checkedAtOnce = 1_000

  /// Ends the connections that are only there under other rules, and not used any more.
  func withdrawUnderOtherRules() {
    for connection in pool.all where connection.rules.name != connection.specification.name && !connection.isOccupied {
      connection.withdraw()
    }
  }

  /// Gives each connection its settings of the configuration in force, or ends those that have none, a portion in each
  /// turn. `done` is called when all have theirs.
  func adoptSettings(then done: @escaping () -> Void) {
    forEach({ [reference] in reference.object?.adoptSettings(of: $0) }, then: done)
  }

  private func adoptSettings(of connection: Connection) {
    // What is being closed for the daemon's end stays so.
    guard !connection.isDraining else { return }
    guard let specification = current(connection.specification) else { return end(connection) }
    connection.adopt(configuration.limits)
    // If the upstream is another namespace now, whoever used the old one must not get the new one's events.
    guard ConnectionKey(specification) == connection.key else { return connection.withdraw() }
    if specification != connection.specification || connection.isWithdrawn {
      pool.adopt(specification, for: connection)
    }
  }

  /// The configuration in force has no connection like that any more. The link that this host has for a fleet which it
  /// leaves is closed in order as soon as it is given up.
  private func end(_ connection: Connection) {
    guard connection.specification.isHeld else { return connection.withdraw() }
    if !connection.isOccupied { try? connection.release() }
  }

  /// What an existing connection's specification is under the configuration in force; nil if it has none.
  private func current(_ old: UpstreamSpecification) -> UpstreamSpecification? {
    guard let name = old.name else {
      guard resolver.place(of: old).scope != .closed else { return nil }
      var settings = configuration.adhocSettings
      settings.auth = old.settings.auth
      old.options?.apply(to: &settings)
      var fresh = old
      fresh.settings = settings
      return fresh
    }
    if old.isHeld {
      return configuration.upstreams[name]?.settings.fleet == true ? held(name, old.namespace) : nil
    }
    guard var fresh = resolver.configured(name) else { return nil }
    if resolver.namesNamespaces(fresh.url) { fresh.namespace = old.namespace }
    fresh.requester = old.requester
    return fresh
  }

  /// Keeps the histories on disk that the configuration in force wants there, and forgets others.
  func adoptHistories() {
    let passing = configuration.upstreams.filter { $0.value.settings.history.isForRuntime }.keys
    histories.adopt(keeping: wantedHistories(), ofUpstreams: Array(passing), atMost: pool.places.bounds)
  }

  /// The names of the histories that the configuration in force wants on disk, whether a program uses them or not:
  /// those of its upstreams with their own namespaces.
  func wantedHistories() -> Set<String> {
    let wanted = configuration.upstreams.filter { $0.value.settings.history.disk == true }.keys
    return Set(wanted.compactMap { resolver.configured($0).flatMap(HistoryLog.Identity.init)?.name })
  }
}
