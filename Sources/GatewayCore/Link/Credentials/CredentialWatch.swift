/// Looks from time to time whether the files that credentials come from have changed. While an upstream refuses us that
/// is what ends the waiting. Looking by name finds a file that was replaced as well as one that was written again, behind
/// a symbolic link too.
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
