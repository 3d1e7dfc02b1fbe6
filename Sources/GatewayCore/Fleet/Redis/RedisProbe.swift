/// A connection of its own to a fleet's Redis, by which that is looked at: its servers are tried one after the other, and
/// then one thing is asked behind the other.
final class RedisProbe {
  /// A server that can be used.
  struct Reached: Equatable {
    var place: RedisPlace
    var secure: Bool
    var version: String
    /// Why each server that was tried before it cannot.
    var others: [RedisMiss]
  }

  /// None of them can be used; at least one.
  struct Misses: Error, Equatable {
    var all: [RedisMiss]
  }

  enum Answer: Equatable {
    case value(FleetReply)
    case error(RedisError)
    /// The connection is over.
    case none
  }

  private let settings: RedisSettings
  private let dialer: any TransportDialer
  private let credentials: any CredentialReader
  private let timers: Timers
  private var connection: RedisConnection?
  private var present: DialRequest?
  private var others: ArraySlice<DialRequest> = []
  private var login = RedisLogin()
  private var misses: [RedisMiss] = []
  private var onEnd: ((Result<Reached, Misses>) -> Void)?
  private var waiting = Ring<(Answer) -> Void>()
  private var isOver = false

  init(_ settings: RedisSettings, dialer: any TransportDialer, credentials: any CredentialReader, timers: Timers) {
    self.settings = settings
    self.dialer = dialer
    self.credentials = credentials
    self.timers = timers
  }

  /// `done` is called once, later, unless it is closed before.
  func begin(_ done: @escaping (Result<Reached, Misses>) -> Void) {
    onEnd = done
    settings.readLogin(by: credentials, while: { [weak self] in self?.isOver == false }) { [weak self] result in
      guard let self, !isOver else { return }
      switch result {
      case .success(let login):
        self.login = login
        reach(settings.servers[...])
      case .failure(let trouble):
        misses.append(RedisMiss(place: nil, trouble: trouble))
        end()
      }
    }
  }

  /// Asks something; `done` is called once, later, unless it is closed before.
  func ask(_ words: [String], _ done: @escaping (Answer) -> Void) {
    guard let connection, !isOver else {
      timers.after(.zero) { done(.none) }
      return
    }
    waiting.append(done)
    connection.ask({ writer in
      writer.write(words: words)
    }) { [weak self] nodes, bytes, _ in
      var answer = Answer.none
      if case .error(let range)? = nodes.first {
        answer = .error(RedisError(bytes.extracting(range)))
      } else {
        var rest = nodes[...]
        if let value = FleetReply(&rest, bytes) { answer = .value(value) }
      }
      if let done = self?.waiting.popFirst() { done(answer) }
      return nil
    }
  }

  /// Lets go; nothing more is told.
  func close() {
    isOver = true
    (onEnd, waiting) = (nil, Ring())
    connection?.close()
    connection = nil
  }

  private func reach(_ servers: ArraySlice<DialRequest>) {
    guard let request = servers.first else { return end() }
    (present, others) = (request, servers.dropFirst())
    let connection = RedisConnection(timers: timers, limit: settings.answerLimit, owner: self)
    self.connection = connection
    connection.dial(request, by: dialer, login: login)
  }

  private func end() {
    let onEnd = onEnd
    self.onEnd = nil
    onEnd?(.failure(Misses(all: misses.mostTellingFirst)))
  }
}

extension RedisProbe: RedisConnection.Owner {
  func connectionReady(_ connection: RedisConnection) {
    guard let onEnd, let present, let server = connection.server else { return }
    self.onEnd = nil
    let reached = Reached(
      place: RedisPlace(present), secure: present.secure, version: server.version, others: misses)
    // Its first answer is still being read.
    timers.after(.zero) { [weak self] in if self?.isOver == false { onEnd(.success(reached)) } }
  }

  func connectionRests(_ connection: RedisConnection) {}

  func connectionLost(_ connection: RedisConnection, _ trouble: RedisTrouble) {
    self.connection = nil
    if onEnd != nil, let present {
      misses.append(RedisMiss(place: RedisPlace(present), trouble: trouble))
      return reach(others)
    }
    while let done = waiting.popFirst() { done(.none) }
  }
}

extension RedisSettings {
  /// Reads the password, where there is one. `place` is the upstream whose keys the server has to have; nil for all.
  func readLogin(
    for place: FleetPlace? = nil, by credentials: any CredentialReader, while isWanted: @escaping () -> Bool,
    _ done: @escaping (Result<RedisLogin, RedisTrouble>) -> Void
  ) {
    guard let password, let first = servers.first else { return done(.success(RedisLogin(key: place?.key(.lease)))) }
    let request = SecretRequest(
      source: password, upstream: nil, url: RedisPlace(first).description, timeLimit: first.phaseLimit)
    credentials.read(request, while: isWanted) { [user] result in
      switch result {
      case .success(let bytes): done(.success(RedisLogin(user: user, password: bytes, key: place?.key(.lease))))
      case .failure(let problem): done(.failure(.noCredential(problem.message)))
      }
    }
  }
}
