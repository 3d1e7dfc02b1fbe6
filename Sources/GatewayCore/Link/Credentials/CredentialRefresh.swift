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
    credentials.read(while: { [weak self] in self != nil }) { [weak self] in self?.haveRead($0) }
  }

  /// What cannot be read now is asked for again later, as what has not changed.
  private func haveRead(_ result: Result<ConnectSecrets, CredentialProblem>) {
    if case .success(let fresh) = result, fresh.payload != used.payload { return changed() }
    arm(schedule.next(left: token.timeLeft(at: time.wallMilliseconds)))
  }
}

/// When credentials that expire are read again. Pure arithmetic; `fraction` is a random number in 0 ..< 1.
struct RefreshSchedule: Equatable, Sendable {
  /// No reading follows another sooner, however short the token's life is.
  static let shortestDelay: Duration = .seconds(1)
  /// The random spread, as a share of the margin: not all machines ask in the same second.
  private static let spread = 0.2

  let settings: RefreshSettings

  /// From the acceptance of a token to the first reading. The margin is `share` percent of the time that is left,
  /// within `least` and `most`, and never more than half of that time. Nil left: the clocks contradict the token.
  func first(left: Duration?, fraction: Double) -> Duration {
    guard let left, left > .zero else { return max(settings.most, Self.shortestDelay) }
    let share = min(max(settings.share, 0), 100)
    let wanted = min(max(left / 100 * share, settings.least), settings.most)
    let margin = min(wanted + wanted * (Self.spread * min(max(fraction, 0), 1)), left / 2)
    return max(left - margin, Self.shortestDelay)
  }

  /// From a reading that brought nothing new to the next one: half of what is left, within `least` and `most`.
  func next(left: Duration) -> Duration {
    guard left > .zero else { return max(settings.most, Self.shortestDelay) }
    return max(min(left / 2, settings.most), settings.least, Self.shortestDelay)
  }
}

/// Looks from time to time whether the files that credentials come from have changed. While an upstream refuses us that
/// is what ends the waiting. Looking by name finds a file that was replaced as well as one that was written again,
/// behind a symbolic link too.
final class CredentialWatch {
  /// Between two looks.
  static let interval: Duration = .seconds(1)

  private let credentials: UpstreamCredentials
  private let timers: Timers
  private var timer: Timers.ID?

  init(_ credentials: UpstreamCredentials, timers: Timers) {
    self.credentials = credentials
    self.timers = timers
  }

  deinit { timers.cancel(timer) }

  /// Calls back once when a file differs from what it was at the last reading. Replaces an earlier wait.
  func start(_ changed: @escaping () -> Void) {
    stop()
    guard credentials.hasFile else { return }
    timer = timers.after(Self.interval) { [weak self] in self?.look(changed) }
  }

  func stop() {
    timers.cancel(timer)
    timer = nil
  }

  private func look(_ changed: @escaping () -> Void) {
    timer = nil
    if credentials.haveChanged { changed() } else { start(changed) }
  }
}
