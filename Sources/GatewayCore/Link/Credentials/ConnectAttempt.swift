/// One attempt to connect, as far as its credentials go: they are read, read once more when the server has refused what
/// it saw of them, and once it has accepted them watched for their end. What is tried with them the kind says: a
/// `DirectLink` dials one place after the other; a `SocketIOChannel` asks for a place on a link that other channels may
/// be on, so that the places and their limits of time are the link's there (`SocketIORoute`). Decision 0020.
final class ConnectAttempt {
  enum State: Equatable {
    /// May become `trying` or `over`.
    case reading
    /// Undecided. May become `readingAgain` (the first time), `accepted` or `over`.
    case trying(isSecond: Bool)
    /// The server has refused the first ones. May become `trying` or, with that refusal, `over`.
    case readingAgain(after: UpstreamFailure)
    /// The server has taken us. May become `over`.
    case accepted
    /// Terminal.
    case over
  }

  private(set) var state = State.reading
  /// What was read the last time. Secret.
  private(set) var secrets: ConnectSecrets?
  private let credentials: UpstreamCredentials
  private let timers: Timers
  private let time: any TimeSource
  private var begin: (ConnectSecrets) -> Void = { _ in }
  private var end: (UpstreamFailure) -> Void = { _ in }
  private var refresh: CredentialRefresh?

  init(_ credentials: UpstreamCredentials, timers: Timers, time: any TimeSource) {
    self.credentials = credentials
    self.timers = timers
    self.time = time
  }

  /// Reads. `begin` tries what was read, once or twice, possibly before this returns; `end` hears, later, that there is
  /// nothing to be tried.
  func start(begin: @escaping (ConnectSecrets) -> Void, end: @escaping (UpstreamFailure) -> Void) {
    self.begin = begin
    self.end = end
    read()
  }

  /// Whether what is tried was read again after a refusal.
  var isSecond: Bool { state == .trying(isSecond: true) }

  private var isReading: Bool {
    switch state {
    case .reading, .readingAgain: true
    case .trying, .accepted, .over: false
    }
  }

  /// Whether reading again could help: once, only what the server has seen, and not when it asks for patience.
  func mayTryAgain(after failure: UpstreamFailure) -> Bool {
    guard state == .trying(isSecond: false), failure.isRefusal, failure.retryAfter == nil else { return false }
    return failure.reason == .refused ? credentials.isRefreshable : credentials.requestIsRefreshable
  }

  /// Reads again, outside of whatever told of the refusal.
  func tryAgain(after failure: UpstreamFailure) {
    state = .readingAgain(after: failure)
    timers.after(.zero) { [weak self] in
      if let self, state == .readingAgain(after: failure) { read() }
    }
  }

  /// The server has taken us: from here on nothing is tried again.
  func accepted() { state = .accepted }

  /// Reads the credentials again before they expire; `changed` hears, at most once, that there are new ones.
  /// - Parameter fraction: random, in 0 ..< 1.
  func watchExpiry(_ settings: RefreshSettings, fraction: Double, changed: @escaping () -> Void) {
    guard state == .accepted, let secrets else { return }
    refresh = CredentialRefresh(
      credentials, used: secrets, settings: settings, timers: timers, time: time, fraction: fraction, changed: changed)
  }

  /// What was tried, or accepted, has ended: neither `begin` nor `end` nor `changed` is called any more.
  func stop() {
    state = .over
    refresh = nil
  }

  /// A refusal with what is known about the credentials that were refused; any other failure as it is.
  func explained(_ failure: UpstreamFailure) -> UpstreamFailure {
    guard failure.isRefusal else { return failure }
    var failure = failure
    if isSecond { failure.detail += "; the credentials were read again and refused again" }
    if let payload = secrets?.payload, let token = WebToken.earliest(in: payload) {
      let left = token.timeLeft(at: time.wallMilliseconds)
      if left <= .zero {
        failure.detail +=
          "; by this machine's clock their token expired \((Duration.zero - left).components.seconds) s ago"
      }
    }
    return failure
  }

  /// Whether what the server said has some of the credentials in it.
  func areRepeated(in failure: UpstreamFailure) -> Bool { credentials.occur(in: failure, read: secrets) }

  private func read() {
    credentials.read(while: { [weak self] in self?.isReading == true }) { [weak self] in self?.haveRead($0) }
  }

  /// The same credentials once more would get the same answer; but a command that was run again has been heard.
  private func haveRead(_ result: Result<ConnectSecrets, CredentialProblem>) {
    switch (state, result) {
    case (.reading, .success(let secrets)): proceed(with: secrets, isSecond: false)
    case (.reading, .failure(let problem)):
      timers.after(.zero) { [weak self] in self?.conclude(UpstreamFailure(.auth, problem.message)) }
    case (.readingAgain, .success(let fresh)) where fresh != secrets || credentials.hasCommand:
      proceed(with: fresh, isSecond: true)
    case (.readingAgain(let refusal), _): conclude(explained(refusal))
    case (.trying, _), (.accepted, _), (.over, _): break
    }
  }

  private func proceed(with secrets: ConnectSecrets, isSecond: Bool) {
    self.secrets = secrets
    state = .trying(isSecond: isSecond)
    begin(secrets)
  }

  private func conclude(_ failure: UpstreamFailure) {
    guard state != .over else { return }
    stop()
    end(failure)
  }
}
