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
  /// How long calls go on without a proof that their answers are their own.
  var proofPause: Duration = .seconds(2)
  /// How long a round over all servers rests before the next: it doubles from the first to the second.
  var rest: ClosedRange<Duration> = .milliseconds(100)...(.seconds(1))
  /// After so long without a word the connection that waits is asked for a sign of life.
  var quietLimit: Duration = .seconds(5)
  /// What a host needs and was refused it asks for again within this time, whatever it is.
  var retryLimit: Duration = .seconds(15)
  /// Most entries of one stream that are read at once.
  var readLimit = 1_000

  init(servers: [DialRequest]) { self.servers = servers }
}

/// Looks at servers one after the other for a master that has as many replicas as are wanted: the one that is used may have
/// lost them to another, which it is not told, as long as nobody turns it into a replica.
final class RedisScout {
  private let timers: Timers
  private let settings: RedisSettings
  private let dialer: any TransportDialer
  private let login: RedisLogin
  /// The process that is used now.
  private let run: String
  /// Told the one that was found, or nil. Not told once the scout is let go.
  private let done: (DialRequest?) -> Void
  private var others: ArraySlice<DialRequest>
  private var connection: RedisConnection?

  init(
    _ servers: [DialRequest], not run: String, _ login: RedisLogin, settings: RedisSettings,
    dialer: any TransportDialer, timers: Timers, _ done: @escaping (DialRequest?) -> Void
  ) {
    (others, self.run, self.login) = (servers[...], run, login)
    (self.settings, self.dialer, self.timers, self.done) = (settings, dialer, timers, done)
  }

  deinit { connection?.close() }

  func begin() {
    connection?.close()
    guard let request = others.first else { return done(nil) }
    let connection = RedisConnection(timers: timers, limit: settings.answerLimit, owner: self)
    self.connection = connection
    connection.dial(request, by: dialer, login: login)
  }
}

extension RedisScout: RedisConnection.Owner {
  func connectionReady(_ connection: RedisConnection) {
    guard let server = connection.server, server.run != run, server.replicas >= settings.copies else { return next() }
    done(others.first)
  }

  func connectionRests(_ connection: RedisConnection) {}
  func connectionLost(_ connection: RedisConnection, _ trouble: RedisTrouble) { next() }

  private func next() {
    others = others.dropFirst()
    begin()
  }
}

/// The servers in the order in which they are tried, round after round, and what each has against it.
struct RedisServers {
  private var all: [DialRequest]
  /// Where the keys are now, as a server said; tried first, once.
  private var hint: RedisPlace?
  /// Rounds over all of them without one that could be used.
  private var rounds = 0
  /// Why those that were tried in this round will not do.
  private var misses: [RedisMiss] = []
  /// The one that was used last: what it has against it says most.
  private var last: RedisPlace?

  init(_ all: [DialRequest]) { self.all = all }

  mutating func beginRound() -> [DialRequest] {
    misses = []
    defer { hint = nil }
    guard let hint, var first = all.first else { return all }
    (first.host, first.port) = (hint.host, hint.port)
    return [first] + all
  }

  /// One of them will not do.
  @discardableResult
  mutating func note(_ trouble: RedisTrouble, of place: RedisPlace) -> UpstreamFailure {
    let miss = RedisMiss(place: place, trouble: trouble)
    misses.append(miss)
    switch trouble {
    case .moved(let place?), .bettered(let place): hint = place
    default: break
    }
    return miss.failure
  }

  /// The one that was used is lost. It may not answer for long, as where its machine is gone: the others come first.
  mutating func lost(_ place: RedisPlace, _ trouble: RedisTrouble) -> UpstreamFailure {
    let failure = note(trouble, of: place)
    (misses, last) = ([], place)
    if let at = all.firstIndex(where: { RedisPlace($0) == place }) { all.append(all.remove(at: at)) }
    return failure
  }

  /// What all of this round have against them, the one that was used last before the others; nil where none was tried.
  var failure: UpstreamFailure? {
    let failures = (misses.filter { $0.place == last } + misses.filter { $0.place != last }).mostTellingFirst
      .map(\.failure)
    return failures.first.map {
      UpstreamFailure($0.reason, failures.map(\.detail).joined(separator: "; "), status: $0.status)
    }
  }

  /// How long to rest before the next round. `fraction` is random, in 0 ..< 1: hosts that lost the same server do not all
  /// come back at once.
  mutating func endRound(_ rest: ClosedRange<Duration>, fraction: Double) -> Duration {
    let doubled = rest.lowerBound * (1 << min(rounds, 10))
    rounds += 1
    return min(doubled, rest.upperBound) * (0.75 + fraction / 2)
  }

  /// One of them is used.
  mutating func found() { rounds = 0 }

  func others(than place: RedisPlace) -> [DialRequest] { all.filter { RedisPlace($0) != place } }
}
