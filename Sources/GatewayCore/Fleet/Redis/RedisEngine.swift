/// How a fleet's Redis is reached, and how long what may take.
struct RedisSettings: Sendable {
  /// Its servers, each with TLS and limits of its own; the one that says it is the master counts.
  var servers: [DialRequest]
  /// Nil: the default user.
  var user: String?
  /// Read at each connect; nil says no login.
  var password: SecretSource?
  /// Replicas that must confirm what has to last; 0 asks none.
  var copies = 0
  /// How long they have for it.
  var copyLimit: Duration = .milliseconds(400)
  /// How long an answer may take. Longer than `copyLimit`.
  var answerLimit: Duration = .seconds(3)
  /// How long a round over all servers rests before the next: it doubles from the first to the second.
  var rest: ClosedRange<Duration> = .milliseconds(100)...(.seconds(1))
  /// After so long without a word the connection that waits is asked for a sign of life.
  var quietLimit: Duration = .seconds(5)
  /// Most entries of one stream that are read at once.
  var readLimit = 1_000

  init(servers: [DialRequest]) { self.servers = servers }
}

/// The engine of a fleet on Redis or Valkey: finds the master among its servers, and keeps two connections to it, one for
/// calls and one that waits for entries of streams. When either ends both do, and it looks again.
/// Decision 0129.
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
    /// Nothing is held any more.
    case closed
  }

  /// Two connections to one server that are being made, one behind the other.
  private struct Attempt {
    let request: DialRequest
    let login: RedisLogin
    /// Servers that are tried after this one.
    var others: ArraySlice<DialRequest>
    let calls: RedisConnection
    var streams: RedisConnection?
  }

  private struct Reached {
    let server: FleetServer
    let place: RedisPlace
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
  private var state = State.resting(nil)
  /// Rounds over all servers without one that could be used.
  private var rounds = 0
  /// Where a server said that its keys are now; tried first, once.
  private var hint: RedisPlace?
  private var receivers: [Receiver] = []
  /// Why it is not reached, or was not the last time.
  private(set) var failure: UpstreamFailure?

  /// One that is told, and whether it has heard that the engine is reached.
  private struct Receiver {
    weak var receiver: (any FleetEngineReceiver)?
    var knows = false
  }

  init(
    _ settings: RedisSettings, dialer: any TransportDialer, credentials: any CredentialReader, timers: Timers,
    random: any RandomSource
  ) {
    self.settings = settings
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
    receivers = []
    abandon(for: .closed)
  }

  var server: FleetServer? {
    if case .reached(let reached) = state { reached.server } else { nil }
  }

  /// How long the server takes for an answer; nil where it is not known.
  var roundTrip: Duration? {
    if case .reached(let reached) = state { reached.callConnection.roundTrip } else { nil }
  }

  // MARK: - Finding it

  private func rest() {
    let doubled = settings.rest.lowerBound * (1 << min(rounds, 10))
    rounds += 1
    // Hosts that lost the same server do not all come back at once.
    let delay = min(doubled, settings.rest.upperBound) * (0.75 + random.fraction() / 2)
    state = .resting(timers.after(delay) { [weak self] in self?.startRound() })
  }

  private func startRound() {
    guard case .resting = state else { return }
    state = .reading
    var servers = settings.servers
    if let hint, var first = servers.first {
      (first.host, first.port) = (hint.host, hint.port)
      servers.insert(first, at: 0)
    }
    hint = nil
    settings.readLogin(by: credentials, while: { [weak self] in self?.isReading == true }) { [weak self] result in
      guard let self, case .reading = state else { return }
      switch result {
      case .success(let login): reach(servers[...], login)
      case .failure(let trouble):
        failure = trouble.failure(of: "")
        rest()
      }
    }
  }

  private var isReading: Bool { if case .reading = state { true } else { false } }

  private func reach(_ servers: ArraySlice<DialRequest>, _ login: RedisLogin) {
    guard let request = servers.first else { return rest() }
    let connection = RedisConnection(timers: timers, limit: settings.answerLimit, owner: self)
    state = .reaching(Attempt(request: request, login: login, others: servers.dropFirst(), calls: connection))
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
    let reached = FleetServer(run: server.run, address: place.description, version: server.version)
    state = .reached(
      Reached(
        server: reached, place: place, callConnection: attempt.calls, streamConnection: streams, pipeline: pipeline,
        reading: reading))
    rounds = 0
    failure = nil
    for receiver in receivers { tell(receiver.receiver, reached) }
  }

  /// The one that is to hear it may have gone, or have heard it.
  private func tell(_ receiver: (any FleetEngineReceiver)?, _ server: FleetServer) {
    guard let receiver, self.server == server, let at = receivers.firstIndex(where: { $0.receiver === receiver }),
      !receivers[at].knows
    else { return }
    receivers[at].knows = true
    receiver.engineGained(server)
  }

  // MARK: - Losing it

  private func fail(_ attempt: Attempt, _ trouble: RedisTrouble) {
    note(trouble, of: RedisPlace(attempt.request))
    attempt.calls.close()
    attempt.streams?.close()
    reach(attempt.others, attempt.login)
  }

  private func note(_ trouble: RedisTrouble, of place: RedisPlace) {
    failure = trouble.failure(of: place.description)
    if case .moved(let place?) = trouble { hint = place }
  }

  private func lose(_ trouble: RedisTrouble) {
    guard case .reached(let reached) = state else { return }
    note(trouble, of: reached.place)
    abandon(for: .resting(nil))
    for receiver in receivers where receiver.knows {
      guard let at = receivers.firstIndex(where: { $0.receiver === receiver.receiver }) else { continue }
      receivers[at].knows = false
      if let failure { receiver.receiver?.engineLost(failure) }
    }
    if case .resting(nil) = state { rest() }
  }

  /// Lets go of what the state holds.
  private func abandon(for next: State) {
    let last = state
    state = next
    switch last {
    case .resting(let timer): timers.cancel(timer)
    case .reading, .closed: break
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
    case .resting, .reading, .closed: break
    }
  }
}

extension RedisPlace {
  init(_ request: DialRequest) { self.init(host: request.host, port: request.port) }
}

extension RedisEngine {
  func add(_ receiver: any FleetEngineReceiver) {
    receivers.append(Receiver(receiver: receiver))
    guard let server else { return }
    timers.after(.zero) { [weak self, weak receiver] in self?.tell(receiver, server) }
  }

  func remove(_ receiver: any FleetEngineReceiver) {
    receivers.removeAll { $0.receiver == nil || $0.receiver === receiver }
    if case .reached(let reached) = state { reached.reading.remove(receiver) }
  }

  func readOn(_ key: FleetKey, after position: FleetPosition, for receiver: any FleetEngineReceiver) {
    if case .reached(let reached) = state { reached.reading.read(key, after: position, for: receiver) }
  }

  func readNoMore(_ key: FleetKey, for receiver: any FleetEngineReceiver) {
    if case .reached(let reached) = state { reached.reading.readNoMore(key, for: receiver) }
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

  func rows(of key: FleetKey, _ names: [String]?, _ done: @escaping (FleetOutcome<[String: [UInt8]]>) -> Void) {
    commands(done)?.rows(of: key, names, done)
  }

  func remove(_ names: [String], of key: FleetKey, _ done: @escaping (FleetOutcome<Void>) -> Void) {
    commands(done)?.remove(names, of: key, done)
  }
}
