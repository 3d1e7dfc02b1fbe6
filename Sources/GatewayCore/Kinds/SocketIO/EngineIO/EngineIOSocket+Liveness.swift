/// Whether the peer is still there, beyond what the heartbeat's timer finds out.
extension EngineIOSocket {
  /// To be called before something is written: a machine that was suspended, or a loop that was stopped, may not have
  /// fired the timer yet. The server has given such a session up, so what was written now would be lost.
  func checkHeartbeat() {
    guard let deadline = session.heartbeatDeadline, deadline <= time.now else { return }
    perform(session.handle(.overdue))
  }

  /// Asks the peer for a sign of life, which must come within `limit`; otherwise the session ends with `heartbeat`.
  func verify(within limit: Duration) {
    guard case .open = session.state, probe.askUrgently(at: time.now) else { return }
    guard transport?.probe() == true else { return probe.withdrawn() }
    probeTimer = timers.after(limit) { [weak self] in self?.probeTimePassed() }
  }

  /// Measures the round trip.
  func measure() {
    guard case .open = session.state, probe.ask(at: time.now) else { return }
    if transport?.probe() != true { probe.withdrawn() }
  }

  func transportAnsweredProbe() {
    probe.answered(at: time.now)
    stopVerifying()
  }

  /// Anything came while an answer was due.
  func stopVerifying() {
    probe.heard()
    timers.cancel(probeTimer)
    probeTimer = nil
  }

  /// As with the heartbeat, what already waits in the socket gets one more turn to be read.
  private func probeTimePassed() {
    probeTimer = timers.after(.zero) { [weak self] in
      guard let self, probe.isUrgent else { return }
      perform(session.handle(.probeUnanswered))
    }
  }
}
