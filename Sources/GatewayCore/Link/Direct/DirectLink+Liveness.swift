/// Whether the server is still there.
extension DirectLink {
  func beginHeartbeat() {
    guard let settings = session?.heartbeat else { return }
    heartbeat = LinkHeartbeat(settings, at: now)
    armHeartbeat(settings.interval)
  }

  func stopHeartbeat() {
    timers.cancel(heartbeatTimer)
    timers.cancel(probeTimer)
    heartbeatTimer = nil
    probeTimer = nil
    heartbeat = nil
  }

  private func armHeartbeat(_ delay: Duration) {
    timers.cancel(heartbeatTimer)
    heartbeatTimer = timers.after(delay) { [weak self] in self?.beat() }
  }

  private func beat() {
    guard let verdict = heartbeat?.judge(at: now) else { return }
    switch verdict {
    case .wait(let delay): armHeartbeat(delay)
    case .ask(let delay):
      _ = probe.ask(at: now)
      if session?.probe() != true { probe.withdrawn() }
      armHeartbeat(delay)
    case .silent: lookOnceMore()
    }
  }

  /// What already waits in the socket gets one more turn to be read.
  private func lookOnceMore() {
    heartbeatTimer = timers.after(.zero) { [weak self] in
      guard let self, let heartbeat else { return }
      if heartbeat.deadline <= now { fail(Self.silence) } else { armHeartbeat(heartbeat.timeLeft(at: now)) }
    }
  }

  private static let silence = UpstreamFailure(.heartbeat, "the server did not answer the heartbeat in time")

  /// To be called before something is written: a machine that was suspended, or a loop that was stopped, may not have
  /// fired the timer yet.
  func checkHeartbeat() {
    guard isJoined, let heartbeat, heartbeat.deadline <= now else { return }
    fail(Self.silence)
  }

  /// Asks the server for a sign of life, which must come in time.
  func verify() {
    guard isJoined, probe.askUrgently(at: now) else { return }
    guard session?.probe() == true else { return probe.withdrawn() }
    probeTimer = timers.after(way.probeLimit) { [weak self] in
      guard let self, probe.isUrgent else { return }
      fail(UpstreamFailure(.heartbeat, "the server did not answer when it was asked whether it is still there"))
    }
  }

  /// Anything came.
  func heard() {
    lastHeard = now
    heartbeat?.heard()
    guard probe.isUrgent else { return }
    probe.heard()
    timers.cancel(probeTimer)
    probeTimer = nil
  }

  /// The server has answered what it was asked: the round trip is known.
  func answeredProbe() {
    probe.answered(at: now)
    heard()
    timers.cancel(probeTimer)
    probeTimer = nil
  }

  func transportAnsweredProbe() { answeredProbe() }
}
