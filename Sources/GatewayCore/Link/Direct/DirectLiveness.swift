/// Whether the server of a `DirectLink` is still there, from the opening of the conversation to its end.
final class DirectLiveness {
  private let timers: Timers
  private let time: any TimeSource
  /// Nil where the server is never asked by itself.
  private(set) var heartbeat: LinkHeartbeat?
  private var timer: Timers.ID?
  private let probe: LinkProbe
  /// When the server was heard the last time.
  private(set) var lastHeard: MonotonicInstant
  private let ask: () -> Bool
  private let fail: (UpstreamFailure) -> Void

  /// `ask` asks the server for a sign of life, and returns false where it cannot be asked now; `fail` hears that it
  /// gave none.
  init(
    _ settings: HeartbeatSettings?, timers: Timers, time: any TimeSource, ask: @escaping () -> Bool,
    fail: @escaping (UpstreamFailure) -> Void
  ) {
    self.timers = timers
    self.time = time
    self.ask = ask
    self.fail = fail
    probe = LinkProbe(timers, time)
    lastHeard = time.now
    heartbeat = settings.map { LinkHeartbeat($0, at: time.now) }
    if let settings { arm(settings.interval) }
  }

  deinit { timers.cancel(timer) }

  /// The last measured one.
  var roundTrip: Duration? { probe.roundTrip }

  /// Anything came.
  func heard() {
    lastHeard = time.now
    heartbeat?.heard()
    probe.heard()
  }

  /// The server has answered what it was asked: the round trip is known.
  func answeredProbe() {
    probe.answered()
    heard()
  }

  /// To be called before something is written: a machine that was suspended, or a loop that was stopped, may not have
  /// fired the timer yet.
  func check() {
    if let heartbeat, heartbeat.deadline <= time.now { fail(Self.silence) }
  }

  /// Asks the server for a sign of life, which must come within `limit`.
  func verify(within limit: Duration) {
    probe.askUrgently(within: limit, ask) { [weak self] in
      self?.fail(
        UpstreamFailure(.heartbeat, "the server did not answer when it was asked whether it is still there"))
    }
  }

  private static let silence = UpstreamFailure(.heartbeat, "the server did not answer the heartbeat in time")

  private func arm(_ delay: Duration) {
    timers.cancel(timer)
    timer = timers.after(delay) { [weak self] in self?.beat() }
  }

  private func beat() {
    guard let verdict = heartbeat?.judge(at: time.now) else { return }
    switch verdict {
    case .wait(let delay): arm(delay)
    case .ask(let delay):
      probe.ask(ask)
      arm(delay)
    case .silent: lookOnceMore()
    }
  }

  /// What already waits in the socket gets one more turn to be read.
  private func lookOnceMore() {
    timer = timers.after(.zero) { [weak self] in
      guard let self, let heartbeat else { return }
      if heartbeat.deadline <= time.now { fail(Self.silence) } else { arm(heartbeat.timeLeft(at: time.now)) }
    }
  }
}
