/// Reads the credentials of a joined channel again before a token in them expires, and says when there are new ones.
/// Lives as long as its channel.
final class CredentialRefresh {
  private let credentials: UpstreamCredentials
  private let used: ConnectSecrets
  private let token: WebToken
  private let schedule: RefreshSchedule
  private let timers: Timers
  private let time: any TimeSource
  private let changed: () -> Void
  private var timer: Timers.ID?

  /// Nil when nothing expires, or nothing new can be read. `changed` is called at most once.
  init?(
    _ credentials: UpstreamCredentials, used: ConnectSecrets, settings: RefreshSettings, timers: Timers,
    time: any TimeSource, fraction: Double, changed: @escaping () -> Void
  ) {
    guard credentials.payloadIsRefreshable, let payload = used.payload, let token = WebToken.earliest(in: payload)
    else { return nil }
    self.credentials = credentials
    self.used = used
    self.token = token
    self.changed = changed
    schedule = RefreshSchedule(settings: settings)
    self.timers = timers
    self.time = time
    let left = token.timeLeft(acceptedAt: time.wallMilliseconds)
    arm(schedule.first(left: left, fraction: fraction))
  }

  deinit { timers.cancel(timer) }

  private func arm(_ delay: Duration) {
    timer = timers.after(delay) { [weak self] in self?.read() }
  }

  private func read() {
    timer = nil
    credentials.read { [weak self] result in self?.haveRead(result) }
  }

  /// What cannot be read now is asked for again later, as what has not changed.
  private func haveRead(_ result: Result<ConnectSecrets, CredentialProblem>) {
    if case .success(let fresh) = result, fresh.payload != used.payload { return changed() }
    arm(schedule.next(left: token.timeLeft(at: time.wallMilliseconds)))
  }
}
