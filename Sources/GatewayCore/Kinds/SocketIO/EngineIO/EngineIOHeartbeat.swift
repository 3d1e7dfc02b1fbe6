/// Who pings whom, and when silence means that the peer is gone.
enum EngineIOHeartbeat: Equatable, Sendable {
  /// Revision 4: the server pings; without a ping until `deadline` it is gone.
  case expecting(deadline: MonotonicInstant)
  /// Revision 3: we ping at `next`. `unanswered` is when the oldest ping was sent since which nothing at all has
  /// arrived, `sent` the newest ping whose pong has not arrived.
  case pinging(next: MonotonicInstant, unanswered: MonotonicInstant?, sent: MonotonicInstant?)

  /// What a due timer asks for.
  enum Verdict: Equatable, Sendable {
    case wait(Duration)
    case ping(then: Duration)
    case silent
  }

  /// The heartbeat of a session that has just opened, or just turned out to speak `revision`.
  init(_ handshake: EngineIOHandshake, revision: EngineIORevision, at now: MonotonicInstant) {
    switch revision {
    case .four: self = .expecting(deadline: now + handshake.pingInterval + handshake.pingTimeout)
    case .three: self = .pinging(next: now + handshake.pingInterval, unanswered: nil, sent: nil)
    }
  }

  /// When the server, too, has heard nothing of us for too long: whatever happened, it has given the session up.
  func deadline(_ handshake: EngineIOHandshake) -> MonotonicInstant {
    switch self {
    case .expecting(let deadline): deadline
    case .pinging(let next, _, _): next + handshake.pingTimeout
    }
  }

  /// When to look again at the latest.
  func timeLeft(_ handshake: EngineIOHandshake, at now: MonotonicInstant) -> Duration {
    switch self {
    case .expecting(let deadline): return max(deadline - now, .zero)
    case .pinging(let next, let unanswered, _):
      let left = next - now
      guard let unanswered else { return max(left, .zero) }
      return max(min(left, unanswered + handshake.pingTimeout - now), .zero)
    }
  }

  /// Anything arrived: in revision 3 that is a sign of life.
  mutating func heard() {
    guard case .pinging(let next, .some, let sent) = self else { return }
    self = .pinging(next: next, unanswered: nil, sent: sent)
  }

  /// The pong arrived; returns the round trip.
  mutating func answered(at now: MonotonicInstant) -> Duration? {
    guard case .pinging(let next, _, let sent) = self else { return nil }
    self = .pinging(next: next, unanswered: nil, sent: nil)
    return sent.map { now - $0 }
  }

  /// Judges the time, and notes the ping that it asks for.
  mutating func judge(_ handshake: EngineIOHandshake, at now: MonotonicInstant) -> Verdict {
    switch self {
    case .expecting(let deadline):
      return deadline <= now ? .silent : .wait(deadline - now)
    case .pinging(let next, let unanswered, _):
      if let unanswered, unanswered + handshake.pingTimeout <= now { return .silent }
      guard next <= now else { return .wait(timeLeft(handshake, at: now)) }
      self = .pinging(next: now + handshake.pingInterval, unanswered: unanswered ?? now, sent: now)
      return .ping(then: timeLeft(handshake, at: now))
    }
  }
}
