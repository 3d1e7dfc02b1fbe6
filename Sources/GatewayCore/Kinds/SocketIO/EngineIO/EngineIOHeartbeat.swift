/// Which side pings, and when silence means that the peer is gone. Engine.IO protocol, section "Heartbeat".
enum EngineIOHeartbeat: Equatable, Sendable {
  /// Revision 4: the server pings; without a ping until `deadline` it is gone.
  case expecting(HeartbeatSettings, deadline: MonotonicInstant)
  /// Revision 3: the client pings. `sent` is when the newest ping left whose pong has not come.
  case pinging(LinkHeartbeat, sent: MonotonicInstant?)

  /// The heartbeat of a session that has just opened, was pinged, or turned out to speak `revision`.
  init(_ settings: HeartbeatSettings, revision: EngineIORevision, at now: MonotonicInstant) {
    switch revision {
    case .four: self = .expecting(settings, deadline: now + settings.interval + settings.timeout)
    case .three: self = .pinging(LinkHeartbeat(settings, at: now), sent: nil)
    }
  }

  /// What the server asked for.
  var settings: HeartbeatSettings {
    switch self {
    case .expecting(let settings, _): settings
    case .pinging(let heartbeat, _): heartbeat.settings
    }
  }

  /// When the server, too, has heard nothing of us for too long: whatever happened, it has given the session up.
  var deadline: MonotonicInstant {
    switch self {
    case .expecting(_, let deadline): deadline
    case .pinging(let heartbeat, _): heartbeat.next + heartbeat.settings.timeout
    }
  }

  /// When to look again at the latest.
  func timeLeft(at now: MonotonicInstant) -> Duration {
    switch self {
    case .expecting(_, let deadline): max(deadline - now, .zero)
    case .pinging(let heartbeat, _): heartbeat.timeLeft(at: now)
    }
  }

  /// Anything arrived: in revision 3 that is a sign of life.
  mutating func heard() {
    guard case .pinging(var heartbeat, let sent) = self else { return }
    heartbeat.heard()
    self = .pinging(heartbeat, sent: sent)
  }

  /// The pong arrived; returns the round trip.
  mutating func answered(at now: MonotonicInstant) -> Duration? {
    guard case .pinging(var heartbeat, let sent) = self else { return nil }
    heartbeat.heard()
    self = .pinging(heartbeat, sent: nil)
    return sent.map { now - $0 }
  }

  /// Judges the time, and notes the ping that it asks for.
  mutating func judge(at now: MonotonicInstant) -> LinkHeartbeat.Verdict {
    switch self {
    case .expecting(_, let deadline): return deadline <= now ? .silent : .wait(deadline - now)
    case .pinging(var heartbeat, var sent):
      let verdict = heartbeat.judge(at: now)
      if case .ask = verdict { sent = now }
      self = .pinging(heartbeat, sent: sent)
      return verdict
    }
  }
}
