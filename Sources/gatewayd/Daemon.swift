import GatewayCore
import Glibc

/// The composition root: makes every part, ties them together, and lives from `READY=1` to the exit.
final class Daemon {
  private let loop: EventLoop
  private let log: Log
  private let notifier = ServiceNotifier()
  private let loader: FileConfigurationLoader
  private let gateway: Gateway
  private let pendingCloses: PendingCloses
  private let context: TransportContext
  private let requester: CurlRequester
  private let credentials: SystemCredentialReader
  private let server: LocalServer
  private let metrics: MetricsServer
  private let listeners: DaemonListeners
  private let state: DaemonState
  private let status: StatusPublisher
  private let job: StopJob
  /// What an earlier daemon left, until its clients are taken over.
  private var parcel: HandoverParcel?
  /// Nil where the kernel or a sandbox does not allow it.
  private let suspends: SuspendWatch?
  /// Nil where the kernel or a sandbox does not allow it.
  private let network: NetlinkObserver?
  /// What is not watched, and why.
  private let blindness: [LogRecord]
  /// What the last reload was refused for, for the status line; nil after a good one.
  private var refusal: ConfigurationProblem?
  private var isStopping = false

  /// Makes everything but takes no client yet.
  init(
    _ options: CommandLineOptions, _ configuration: Configuration, loader: FileConfigurationLoader,
    urls: any URLReader, environment: @escaping (String) -> String?
  ) throws(StartFailure) {
    let passed = ServiceNotifier.takePassedSockets()
    parcel = HandoverParcel(among: passed)
    listeners = try DaemonListeners(
      options: options, settings: configuration.socket,
      passed: passed.filter { HandoverParcel.Part(rawValue: $0.name) == nil }, environment: environment)
    let parts: Parts
    do throws(StartFailure) {
      let choice = StateFolder.Choice.resolve(
        configured: configuration.state.path, user: options.user, environment: environment)
      state = try DaemonState(choice, runtime: DaemonState.runtimeFolder(environment), time: SystemTime())
      parts = try Self.makeParts(configuration, AnnouncedLoader(loader, notifier: notifier), urls, state, environment)
      if parts.gateway.storesURLs { try Self.tryURLs(urls) }
    } catch {
      listeners.remove()
      throw error
    }
    self.loader = loader
    loop = parts.loop
    log = parts.log
    gateway = parts.gateway
    pendingCloses = parts.pendingCloses
    context = parts.context
    requester = parts.requester
    credentials = parts.credentials
    server = parts.server
    metrics = MetricsServer(loop: parts.loop, gateway: parts.gateway)
    suspends = parts.suspends
    network = parts.network
    blindness = parts.blindness
    status = StatusPublisher(timers: loop.timers)
    job = StopJob(on: loop, isUser: options.user, environment: environment)
    connectParts()
  }

  /// Serves until a signal ends it.
  func run() throws(StartFailure) -> ExitStatus {
    defer { listeners.remove() }
    do throws(SystemError) {
      try loop.system.onSignal(SIGTERM) { [unowned self] in stopOrHandOver("SIGTERM") }
      try loop.system.onSignal(SIGINT) { [unowned self] in stop("SIGINT") }
      try loop.system.onSignal(SIGHUP) { [unowned self] in _ = gateway.reload() }
      for descriptor in listeners.descriptors { try server.listen(on: descriptor) }
      _ = try loop.system.startWatchdog()
      gateway.start()
      takeClientsOver()
      offerMetrics()
      announceStart()
      let code = try loop.run()
      credentials.stop()
      log.flush()
      return ExitStatus(rawValue: code) ?? .software
    } catch {
      throw StartFailure(.software, error.description)
    }
  }
}

// MARK: Making

extension Daemon {
  /// The parts in the order of their making.
  private struct Parts {
    let loop: EventLoop
    let log: Log
    let gateway: Gateway
    let pendingCloses: PendingCloses
    let context: TransportContext
    let requester: CurlRequester
    let credentials: SystemCredentialReader
    let server: LocalServer
    let suspends: SuspendWatch?
    let network: NetlinkObserver?
    let blindness: [LogRecord]

    init(
      _ configuration: Configuration, _ loader: any ConfigurationLoader, _ urls: any URLReader, _ state: DaemonState,
      _ environment: @escaping (String) -> String?
    ) throws(SystemError) {
      loop = try EventLoop(turnClock: environment("GATEWAYD_TURN_CLOCK") == "processor" ? .processor : .wall)
      let isJournal = Journal.isConnected(environment: environment)
      let text = TextLog(descriptor: STDERR_FILENO, time: loop.time)
      log = Log(time: loop.time, timers: loop.timers, write: isJournal ? Journal.write : text.write)
      log.level = configuration.log.level
      let random = SystemRandom()
      let budgets = MemoryBudgets()
      let servers = ConfiguredServers(urls: urls)
      let work = MatchingCost()
      context = TransportContext(
        multi: CurlMulti(loop: loop, environment: environment), memory: budgets, work: work)
      requester = CurlRequester(multi: context.multi, memory: budgets.receive)
      credentials = SystemCredentialReader(loop: loop, environment: environment)
      let (context, requester, credentials, loop) = (context, requester, credentials, loop)
      let dialer = WebSocketDialer(on: context, random: random)
      let seams = UpstreamSeams(
        webSockets: dialer, lines: StreamDialer(of: LineStream.self, on: context), requester: requester,
        credentials: credentials,
        timers: loop.timers,
        time: loop.time, random: random, cryptography: SystemCryptography(loop: loop), memory: budgets,
        servers: servers)
      pendingCloses = seams.pendingCloses
      var blindness: [LogRecord] = []
      network = Self.watch(.networkUnwatched, &blindness) { () throws(SystemError) in try NetlinkObserver(loop: loop) }
      suspends = Self.watch(.suspendUnwatched, &blindness) { () throws(SystemError) in try SuspendWatch(loop: loop) }
      self.blindness = blindness
      let memory = ResidentMemory(time: loop.time)
      gateway = Gateway(
        configuration: configuration,
        identity: GatewayIdentity(version: GatewayVersion.current, pid: getpid(), uid: getuid()),
        seams: GatewaySeams(
          time: loop.time, timers: loop.timers, random: random, urls: urls, kinds: UpstreamKinds.make(seams),
          loader: loader, network: network, outbox: try state.opening(on: loop), histories: state.histories,
          runtimeHistories: state.runtimeHistories,
          residentBytes: { memory.bytes }, longestTurn: { [unowned loop] in loop.longestTurn },
          figures: { [unowned loop] clients in
            ProcessFigures(
              turns: loop.turns, descriptors: OpenDescriptors.count ?? loop.watchedCount + clients,
              descriptorLimit: OpenDescriptors.limit)
          },
          memory: budgets, servers: servers, work: work,
          doctor: DoctorSeams(
            route: CurlRouteProbe(multi: context.multi), requester: requester, dialer: dialer, credentials: credentials,
            makeKinds: { UpstreamKinds.make(seams) }), users: SystemUsers(), fleet: .redis(context, credentials, loop)))
      server = try LocalServer(gateway: gateway, loop: loop)
    }

    /// Nil, with a record of the reason, where it is not possible.
    private static func watch<Watch>(
      _ kind: LogKind, _ blindness: inout [LogRecord], _ make: () throws(SystemError) -> Watch
    ) -> Watch? {
      do throws(SystemError) { return try make() } catch {
        blindness.append(LogRecord(kind, [.detail: error.description]))
        return nil
      }
    }
  }

  private static func makeParts(
    _ configuration: Configuration, _ loader: any ConfigurationLoader, _ urls: any URLReader, _ state: DaemonState,
    _ environment: @escaping (String) -> String?
  ) throws(StartFailure) -> Parts {
    do throws(SystemError) { return try Parts(configuration, loader, urls, state, environment) } catch {
      throw StartFailure(.software, error.description)
    }
  }

  /// What is stored for a URL would lie still, and its keys be forgotten, where none can be read: then it is for whoever has
  /// started the daemon to try again.
  private static func tryURLs(_ urls: any URLReader) throws(StartFailure) {
    do { _ = try urls.read("ws://localhost") } catch {
      throw StartFailure(.unavailable, "the outbox has sends to URLs, and no URL can be read: \(error.message)")
    }
  }

  private func connectParts() {
    gateway.onFact = { [unowned self] in heard($0) }
    network?.onBlind = { [unowned self] in log.record(LogRecord(.networkUnwatched, [.detail: $0.description])) }
    suspends?.onResume = { [unowned self] _ in gateway.resumed() }
    suspends?.onClockSet = { [unowned self] in gateway.clockWasSet() }
    gateway.onClose = { [unowned self] in server.close($0) }
    credentials.onPublicFile = { [unowned self] in log.record(LogRecord(.secretIsPublic, [.path: $0])) }
    status.summary = { [unowned self] in summary }
    status.publish = { [unowned self] in notifier.status($0) }
    server.onTrouble = { [unowned self] trouble in
      switch trouble {
      case .noDescriptor: log.record(LogRecord(.descriptorsExhausted))
      case .failed(let error): log.record(LogRecord(.acceptFailed, [.detail: error.description]))
      }
    }
  }

  private func announceStart() {
    for record in blindness { log.record(record) }
    for socket in listeners.ignored { log.record(LogRecord(.socketIgnored, [.name: socket.name])) }
    if let path = listeners.passedOver {
      let detail = "socket.path is not used, because $GATEWAYD_SOCKET names another path; --socket comes before both"
      log.record(LogRecord(.configurationWarning, [.path: path, .detail: detail]))
    }
    for warning in loader.warnings { log.record(FactLog.record(warning: warning)) }
    for record in state.records { log.record(record) }
    log.record(
      LogRecord(.started, [.version: GatewayVersion.current, .path: listeners.path ?? "passed by systemd"]))
    announceReady()
  }

  private func announceReady() {
    let summary = summary
    notifier.ready(status: summary)
    status.published(summary)
  }

  private var summary: String {
    refusal.map { "\(gateway.summary); configuration refused: \($0)" } ?? gateway.summary
  }
}

// MARK: Living

extension Daemon {
  private func heard(_ fact: GatewayFact) {
    for record in FactLog.records(for: fact, at: log.level) { log.record(record) }
    switch fact {
    case .reloaded:
      log.level = gateway.configuration.log.level
      refusal = nil
      for warning in loader.warnings { log.record(FactLog.record(warning: warning)) }
      offerMetrics()
      announceReady()
    case .reloadRefused(let problems):
      refusal = problems.first
      announceReady()
    case .clientAttached, .clientDetached, .clientDropped, .quotaExceeded, .connectionMoved, .connectionReleased,
      .sendFailed, .interestRefused, .reloadIgnored, .stopping, .sendsKept, .outbox, .outboxWarning, .history,
      .fleetNameTaken,
      .fleetNameRegained, .fleetLeaveOrdered, .fleetLeaveFailed, .fleet, .internalError:
      status.changed()
    }
  }

  /// Where the configuration wants it. Without metrics the daemon does its work all the same.
  private func offerMetrics() {
    let address = gateway.configuration.metrics.listen
    do throws(SystemError) { try metrics.listen(at: address) } catch {
      log.record(LogRecord(.metricsUnavailable, [.path: address?.text, .detail: error.description]))
    }
  }

  /// The first signal asks for an orderly stop, the second one for an end at once.
  private func stop(_ signal: String) {
    guard beginStop() else { return }
    stopForGood(signal)
  }

  /// The same where the service manager may start another daemon at once.
  private func stopOrHandOver(_ signal: String) {
    guard beginStop() else { return }
    job.askWhetherAnotherFollows { [unowned self] in $0 ? handOver(signal) : stopForGood(signal) }
  }

  /// False if it has begun already, and is to end at once.
  private func beginStop() -> Bool {
    if isStopping { loop.exit(ExitStatus.success.rawValue) }
    defer { isStopping = true }
    return !isStopping
  }

  private func prepareStop() {
    status.stop()
    notifier.stopping()
    // Systemd keeps newcomers for the next daemon; on a socket of our own they are told to come again.
    if listeners.arePassed { server.stopAccepting() }
  }

  private func stopForGood(_ signal: String) {
    prepareStop()
    let deadline = loop.time.now + gateway.configuration.limits.stop
    gateway.stop(reason: signal) { [unowned self] in
      // Whatever the upstreams took of the time, the clients get a moment to read.
      drain(until: max(deadline, loop.time.now + .milliseconds(500)))
    }
  }

  /// Ends when every client has taken its last words, or at the deadline, and the upstreams have answered the goodbye.
  private func drain(until deadline: MonotonicInstant) {
    server.flush()
    guard server.sessionCount > 0, loop.time.now < deadline else { return leave() }
    loop.timers.after(.milliseconds(10)) { [unowned self] in drain(until: deadline) }
  }

  /// Ends when the upstreams have answered the goodbye: bounded by the limits for that, of conversations and of their
  /// transports, which began when the gateway closed its links.
  private func leave() {
    pendingCloses.whenQuiet { [unowned self] in
      context.whenQuiet { [unowned self] in
        requester.whenQuiet { [unowned self] in loop.exit(ExitStatus.success.rawValue) }
      }
    }
  }
}

// MARK: Hand-over

extension Daemon {
  /// Stops, and leaves the clients to the next daemon, without their notice. Where that cannot be they are told to come
  /// again.
  private func handOver(_ signal: String) {
    prepareStop()
    gateway.stop(reason: signal, handingOver: true) { [unowned self] in
      server.flush()
      do throws(SystemError) {
        let parcel = try HandoverParcel()
        let count = try server.handOver(in: parcel)
        try notifier.store(parcel.contents)
        server.abandonClients()
        log.record(LogRecord(.clientsHandedOver, [.clients: String(count)]))
        leave()
      } catch {
        log.record(LogRecord(.handoverFailed, [.detail: error.description]))
        // Sockets in the store have no end that their clients see.
        notifier.removeStored(HandoverParcel.names)
        gateway.abandonHandover()
        drain(until: loop.time.now + .milliseconds(500))
      }
    }
  }

  /// Goes on with the clients of an earlier daemon. Whatever is wrong with what it left, this one starts.
  private func takeClientsOver() {
    guard let parcel else { return }
    self.parcel = nil
    let taken = parcel.takeSockets()
    var sockets: [UInt64: HandoverParcel.Socket] = [:]
    var left: [HandoverParcel.Socket] = []
    for socket in taken.sockets {
      if let number = try? LocalSocket.number(of: socket.descriptor) {
        sockets[number] = socket
      } else {
        left.append(socket)
      }
    }
    // From here on they end with this daemon: should it be the document that ends it, the next one starts without.
    notifier.removeStored(HandoverParcel.names)
    if taken.lost > 0 {
      let detail = "the process may not have so many descriptors (LimitNOFILE=)"
      log.record(LogRecord(.handoverFailed, [.closed: String(taken.lost), .detail: detail]))
    }
    var (found, lost) = (HandoverCounts(), HandoverCounts())
    var problem: HandoverReader.Problem?
    do throws(HandoverReader.Problem) {
      try parcel.read { entry in
        switch entry {
        case .header(let header): gateway.takeOver(header)
        case .key(let key): gateway.takeOver(key)
        case .client(let client):
          if let socket = sockets.removeValue(forKey: client.socket) { found.add(server.takeOver(client, on: socket)) }
        case .leftOver(let client):
          if let socket = sockets.removeValue(forKey: client.socket) { lost.add(server.turnAway(client, on: socket)) }
        }
      }
    } catch { problem = error }
    gateway.endTakingKeysOver()
    left += sockets.values
    for socket in left { lost.add(server.turnAway(socket)) }
    if problem != nil || lost.ended > 0 {
      record(lost, problem.map { "the document cannot be used: \($0.message)" } ?? "the document does not know them")
    }
    if found.ended > 0 {
      record(found, "there are more of them than limits and quotas allow by now, or a socket is of no use")
    }
    log.record(LogRecord(.clientsTakenOver, [.clients: String(found.goOn)]))
  }

  private func record(_ counts: HandoverCounts, _ detail: String) {
    log.record(
      LogRecord(
        .handoverFailed, [.clients: String(counts.told), .closed: String(counts.closed), .detail: detail]))
  }
}

/// What became of the clients of an earlier daemon.
private struct HandoverCounts {
  private(set) var goOn = 0
  private(set) var told = 0
  private(set) var closed = 0

  /// With whom this daemon does not go on.
  var ended: Int { told + closed }

  mutating func add(_ one: LocalServer.TakingOver) {
    switch one {
    case .goesOn: goOn += 1
    case .told: told += 1
    case .closed: closed += 1
    }
  }
}
