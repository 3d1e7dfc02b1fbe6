/// The engine of a fleet on Redis or Valkey: finds the master among its servers, and keeps two connections to it, one for
/// calls and one that waits for entries of streams. When either ends both do, and it looks again. Decision 0129.
///
/// Nothing is ever asked twice: what had no answer may have been done, and those who asked know what to say again.
final class RedisEngine: FleetEngine {
  private enum State {
    /// Until the next round. May become `reading` or `closed`.
    case resting(Timers.ID?)
    /// The password is read. May become `reaching`, `resting` or `closed`.
    case reading
    /// May become `reached`, `reaching` the next server, `resting` or `closed`.
    case reaching(Attempt)
    /// May become `resting` or `closed`.
    case reached(Reached)
    /// The servers are a cluster: each upstream has an engine of its own. May become `closed`.
    case spread
    /// Nothing is held any more.
    case closed
  }

  /// Two connections to one server that are being made, one behind the other.
  private struct Attempt {
    let request: DialRequest
    let login: RedisLogin
    /// Servers that are tried after this one.
    var others: ArraySlice<DialRequest>
    /// How often one server led to another before this one.
    var hops = 0
    let calls: RedisConnection
    var streams: RedisConnection?
  }

  private struct Reached {
    let server: FleetServer
    let place: RedisPlace
    /// By which others are looked at.
    let login: RedisLogin
    let callConnection: RedisConnection
    let streamConnection: RedisConnection
    let pipeline: RedisPipeline
    let reading: RedisReading
  }

  private let settings: RedisSettings
  private let dialer: any TransportDialer
  private let credentials: any CredentialReader
  private let timers: Timers
  private let random: any RandomSource
  /// The upstream that it is for; nil for all.
  private let place: FleetPlace?
  /// Engines of single upstreams, as far as somebody uses them.
  private var shares: [Share] = []
  private var state = State.resting(nil)
  private var servers: RedisServers
  private let receivers = RedisReceivers()
  private(set) var failure: UpstreamFailure?
  private(set) var vainFailure: UpstreamFailure?
  /// Looks for a server with enough replicas.
  private var scout: RedisScout?
  /// The last that was reported.
  private var reported: UpstreamFailure?
  var onReport: (FleetReport) -> Void = { _ in }

  private struct Share {
    weak var share: RedisShare?
  }

  /// - Parameter place: the upstream that it is for; nil for all.
  init(
    _ settings: RedisSettings, dialer: any TransportDialer, credentials: any CredentialReader, timers: Timers,
    random: any RandomSource, for place: FleetPlace? = nil
  ) {
    self.place = place
    self.settings = settings
    servers = RedisServers(settings.servers)
    self.dialer = dialer
    self.credentials = credentials
    self.timers = timers
    self.random = random
  }

  /// Looks for the server.
  func begin() {
    if case .resting(nil) = state { startRound() }
  }

  /// Lets go of everything; receivers hear nothing more, and calls have no answer.
  func close() {
    receivers.removeAll()
    abandon(for: .closed)
  }

  var server: FleetServer? {
    switch state {
    case .reached(let reached): reached.server
    case .spread: shares.lazy.compactMap { $0.share?.server }.first
    case .resting, .reading, .reaching, .closed: nil
    }
  }

  // MARK: - Clusters

  func share(of place: FleetPlace) -> any FleetEngine {
    let share = RedisShare(place, of: self)
    shares.removeAll { $0.share == nil }
    shares.append(Share(share: share))
    if case .spread = state { share.use(engine(for: place)) }
    return share
  }

  private func engine(for place: FleetPlace) -> RedisEngine {
    let engine = RedisEngine(
      settings, dialer: dialer, credentials: credentials, timers: timers, random: random, for: place)
    engine.onReport = { [weak self] in self?.onReport($0) }
    engine.begin()
    return engine
  }

  /// One XREAD cannot wait for keys in different slots, and a node has those of some upstreams alone.
  private func spread() {
    abandon(for: .spread)
    (failure, vainFailure, reported) = (nil, nil, nil)
    for share in shares.compactMap(\.share) { share.use(engine(for: share.place)) }
  }

  /// How long the server takes for an answer; nil where it is not known.
  var roundTrip: Duration? {
    if case .reached(let reached) = state { reached.callConnection.roundTrip } else { nil }
  }

  // MARK: - Finding it

  /// No server is to be used.
  private func endRound() {
    vainFailure = servers.failure
    rest()
  }

  private func rest() {
    if let failure = servers.failure { miss(failure) }
    let delay = servers.endRound(settings.rest, fraction: random.fraction())
    state = .resting(timers.after(delay) { [weak self] in self?.startRound() })
  }

  private func startRound() {
    guard case .resting = state else { return }
    state = .reading
    let servers = servers.beginRound()
    settings.readLogin(for: place, by: credentials, while: { [weak self] in self?.isReading == true }) {
      [weak self] result in
      guard let self, case .reading = state else { return }
      switch result {
      case .success(let login): reach(servers[...], login)
      case .failure(let trouble):
        if let first = servers.first { self.servers.note(trouble, of: RedisPlace(first)) }
        endRound()
      }
    }
  }

  private var isReading: Bool { if case .reading = state { true } else { false } }

  private func reach(_ servers: ArraySlice<DialRequest>, _ login: RedisLogin, hops: Int = 0) {
    guard let request = servers.first else { return endRound() }
    let connection = RedisConnection(timers: timers, limit: settings.answerLimit, owner: self)
    state = .reaching(
      Attempt(request: request, login: login, others: servers.dropFirst(), hops: hops, calls: connection))
    connection.dial(request, by: dialer, login: login)
  }

  private func gain(_ attempt: Attempt, _ streams: RedisConnection) {
    guard let server = attempt.calls.server, let other = streams.server, server.run == other.run else {
      return fail(attempt, .twoServers)
    }
    let pipeline = RedisPipeline(on: attempt.calls, timers: timers, settings: settings)
    let reading = RedisReading(on: streams, pipeline, timers: timers, settings: settings) { [weak self] trouble in
      self?.lose(trouble)
    }
    let place = RedisPlace(attempt.request)
    let danger = server.eviction.map {
      "\(place) removes keys when its memory is full (maxmemory-policy \($0)): a fleet needs noeviction"
    }
    let reached = FleetServer(
      run: server.run, address: place.description, version: server.version, danger: danger)
    pipeline.onRefusal = { [weak self] in self?.note($1, of: $0) }
    state = .reached(
      Reached(
        server: reached, place: place, login: attempt.login, callConnection: attempt.calls, streamConnection: streams,
        pipeline: pipeline, reading: reading))
    servers.found()
    (failure, vainFailure, reported) = (nil, nil, nil)
    onReport(.reached(server: reached.address, version: reached.version))
    if let danger { onReport(.endangered(danger)) }
    receivers.gained(reached) { [weak self] in self?.server == reached }
  }

  // MARK: - Losing it

  private func fail(_ attempt: Attempt, _ trouble: RedisTrouble) {
    attempt.calls.close()
    attempt.streams?.close()
    if case .moved(let place?) = trouble, attempt.hops < Self.hopLimit {
      var request = attempt.request
      (request.host, request.port) = (place.host, place.port)
      return reach([request] + attempt.others, attempt.login, hops: attempt.hops + 1)
    }
    servers.note(trouble, of: RedisPlace(attempt.request))
    // In later rounds what the last one has found says more than the first servers of this one.
    if reported == nil { failure = servers.failure }
    reach(attempt.others, attempt.login)
  }

  /// Nodes of a cluster that have not heard of each other may lead in a circle.
  private static let hopLimit = 5

  private func lose(_ trouble: RedisTrouble) {
    guard case .reached(let reached) = state else { return }
    let failure = servers.lost(reached.place, trouble)
    self.failure = failure
    abandon(for: .resting(nil))
    receivers.lost(failure)
    guard case .resting(nil) = state else { return }
    miss(failure)
    rest()
  }

  /// Not reached, for a reason that is told once.
  private func miss(_ failure: UpstreamFailure) {
    self.failure = failure
    guard failure != reported else { return }
    reported = failure
    onReport(.missed(failure.reason, detail: failure.detail))
    receivers.missed()
  }

  // MARK: - What it refuses

  private func note(_ refusal: RedisRefusals.Refusal?, of place: FleetPlace) {
    guard case .reached(let reached) = state else { return }
    guard let refusal else { return onReport(.accepted(upstream: place.upstream)) }
    let failure = refusal.failure(of: reached.server.address)
    if case .copies = refusal.cause { lookForReplicas(reached) }
    if refusal.isFirst { onReport(.refused(upstream: place.upstream, detail: failure.detail)) }
    receivers.refused(failure, of: place)
  }

  private func lookForReplicas(_ reached: Reached) {
    let others = servers.others(than: reached.place)
    guard scout == nil, !others.isEmpty else { return }
    let scout = RedisScout(
      others, not: reached.server.run, reached.login, settings: settings, dialer: dialer, timers: timers
    ) { [weak self] found in
      guard let self else { return }
      // Not from within what it is called by.
      timers.after(found == nil ? settings.rest.upperBound : .zero) { [weak self] in
        guard let self else { return }
        self.scout = nil
        if let found { lose(.bettered(by: RedisPlace(found))) }
      }
    }
    self.scout = scout
    scout.begin()
  }

  func refusal(of place: FleetPlace) -> UpstreamFailure? {
    guard case .reached(let reached) = state else { return nil }
    return reached.pipeline.refusals.of(place, at: timers.now)?.failure(of: reached.server.address)
  }

  /// Lets go of what the state holds.
  private func abandon(for next: State) {
    let last = state
    state = next
    scout = nil
    switch last {
    case .resting(let timer): timers.cancel(timer)
    case .reading, .spread, .closed: break
    case .reaching(let attempt):
      attempt.calls.close()
      attempt.streams?.close()
    case .reached(let reached):
      reached.callConnection.close()
      reached.streamConnection.close()
      reached.reading.end()
      reached.pipeline.end()
    }
  }

  func distrust() {
    if case .reached = state { lose(.distrusted) }
  }
}

extension RedisEngine: RedisConnection.Owner {
  func connectionReady(_ connection: RedisConnection) {
    guard case .reaching(var attempt) = state else { return }
    guard connection === attempt.calls else { return gain(attempt, connection) }
    if let count = connection.server?.replicas, count < settings.copies {
      return fail(attempt, .bare(count, of: settings.copies))
    }
    if connection.server?.isClustered == true, place == nil, shares.contains(where: { $0.share != nil }) {
      return spread()
    }
    let streams = RedisConnection(timers: timers, limit: settings.answerLimit, owner: self)
    attempt.streams = streams
    state = .reaching(attempt)
    streams.dial(attempt.request, by: dialer, login: attempt.login)
  }

  func connectionRests(_ connection: RedisConnection) {
    if case .reached(let reached) = state, connection === reached.streamConnection { reached.reading.rest() }
  }

  func connectionLost(_ connection: RedisConnection, _ trouble: RedisTrouble) {
    switch state {
    case .reaching(let attempt): fail(attempt, trouble)
    case .reached: lose(trouble)
    case .resting, .reading, .spread, .closed: break
    }
  }
}

extension RedisPlace {
  init(_ request: DialRequest) { self.init(host: request.host, port: request.port) }
}

extension RedisEngine {
  func add(_ receiver: any FleetEngineReceiver) {
    receivers.add(receiver)
    guard let server else { return }
    timers.after(.zero) { [weak self] in
      guard let self, self.server == server else { return }
      receivers.gained(server) { [weak self] in self?.server == server }
    }
  }

  func remove(_ receiver: any FleetEngineReceiver) {
    receivers.remove(receiver)
    if case .reached(let reached) = state { reached.reading.remove(receiver) }
  }

  func readOn(_ key: FleetKey, after position: FleetPosition, for receiver: any FleetEngineReceiver) {
    if case .reached(let reached) = state { reached.reading.read(key, after: position, for: receiver) }
  }

  func readNoMore(_ key: FleetKey, for receiver: any FleetEngineReceiver) {
    if case .reached(let reached) = state { reached.reading.readNoMore(key, for: receiver) }
  }

  func note(hosts: Int, of place: FleetPlace) {
    if case .reached(let reached) = state { reached.reading.pace.note(hosts: hosts, of: place) }
  }

  /// Where nothing is reached nothing is asked.
  private func commands<Value>(_ done: @escaping (FleetOutcome<Value>) -> Void) -> RedisCommands? {
    if case .reached(let reached) = state { return RedisCommands(pipeline: reached.pipeline) }
    timers.after(.zero) { done(.unanswered) }
    return nil
  }

  func run<Step: FleetStep>(_ step: Step, _ done: @escaping (FleetOutcome<Step.Result>) -> Void) {
    commands(done)?.run(step, done)
  }

  func append(
    _ fields: FleetFields, to key: FleetKey, at position: FleetPosition?,
    _ done: @escaping (FleetOutcome<FleetPosition>) -> Void
  ) {
    commands(done)?.append(fields, to: key, at: position, done)
  }

  func trim(_ key: FleetKey, before position: FleetPosition) {
    if case .reached(let reached) = state { RedisCommands(pipeline: reached.pipeline).trim(key, before: position) }
  }

  func newest(of key: FleetKey, _ done: @escaping (FleetOutcome<FleetRecord?>) -> Void) {
    commands(done)?.newest(of: key, done)
  }

  func names(of key: FleetKey, _ done: @escaping (FleetOutcome<FleetNames>) -> Void) {
    commands(done)?.names(of: key, done)
  }

  func sizes(of key: FleetKey, _ names: [String], _ done: @escaping (FleetOutcome<[Int]>) -> Void) {
    commands(done)?.sizes(of: key, names, done)
  }

  func rows(of key: FleetKey, _ names: [String]?, _ done: @escaping (FleetOutcome<[String: [UInt8]]>) -> Void) {
    commands(done)?.rows(of: key, names, done)
  }

  func remove(_ names: [String], of key: FleetKey, _ done: @escaping (FleetOutcome<Void>) -> Void) {
    commands(done)?.remove(names, of: key, done)
  }
}
