/// The client's side of one Engine.IO session over one WebSocket: handshake, heartbeat and end, as a machine without
/// clock or transport. Engine.IO protocol, sections "Handshake" and "Heartbeat".
struct EngineIOSession: Equatable, Sendable {
  enum State: Equatable, Sendable {
    /// The transport is being set up. May become `opening` or `closed`.
    case dialling
    /// The transport is open, the server's handshake is awaited. May become `open` or `closed`.
    case opening
    /// Messages flow. `isLastCall`: the heartbeat is overdue and only input that already waits can prove life.
    /// May become `closed`.
    case open(EngineIOHeartbeat, isLastCall: Bool)
    /// Terminal.
    case closed
  }

  enum Event: Equatable, Sendable {
    case transportOpened
    case transportLost(UpstreamFailure)
    case handshake(EngineIOHandshake, at: MonotonicInstant)
    /// The server turned out to speak revision 3 although revision 4 was asked for.
    case revisionThreeSeen(at: MonotonicInstant)
    case ping([UInt8], at: MonotonicInstant)
    case pong(at: MonotonicInstant)
    case message
    /// An upgrade or noop packet.
    case filler
    case closePacket
    case undecodable(EngineIOProblem)
    /// The timer that `arm` asked for.
    case timerFired(at: MonotonicInstant)
    /// `heartbeatDeadline` was found passed.
    case overdue
    /// The peer was asked for a sign of life and gave none in time.
    case probeUnanswered
    case hangUp
  }

  enum Action: Equatable, Sendable {
    /// Set the session's one timer, replacing an earlier one.
    case arm(Duration)
    case disarm
    case sendPing
    case sendPong([UInt8])
    /// The session is open.
    case announce
    /// Hand the message on.
    case deliver
    /// The session is over. Nothing follows.
    case end(UpstreamFailure)
  }

  /// Longest ping data that is echoed, in bytes; more breaks the protocol.
  static let pingDataLimit = 128

  private(set) var state = State.dialling
  private(set) var revision: EngineIORevision
  /// The last measured round trip; only where our side pings.
  private(set) var roundTrip: Duration?
  /// From the transport's opening to the open packet.
  private let handshakeLimit: Duration

  init(revision: EngineIORevision, handshakeLimit: Duration) {
    self.revision = revision
    self.handshakeLimit = handshakeLimit
  }

  /// When the server has given the session up for certain; nil while there is none.
  var heartbeatDeadline: MonotonicInstant? {
    guard case .open(let heartbeat, _) = state else { return nil }
    return heartbeat.deadline
  }

  /// Whether a message is simply to be handed on: `handle(.message)` would change nothing and say `deliver`.
  var passesMessages: Bool {
    guard case .open = state else { return false }
    return revision == .four
  }

  mutating func handle(_ event: Event) -> [Action] {
    switch (state, event) {
    case (.dialling, .transportOpened):
      state = .opening
      return [.arm(handshakeLimit)]
    case (.dialling, .handshake), (.dialling, .ping), (.dialling, .pong), (.dialling, .message), (.dialling, .filler),
      (.dialling, .closePacket), (.dialling, .undecodable), (.opening, .transportOpened),
      (.open, .transportOpened):
      return end(UpstreamFailure(.protocolError, "a packet came at a moment when none could"))
    case (.dialling, .timerFired), (.dialling, .revisionThreeSeen), (.opening, .revisionThreeSeen),
      (.dialling, .overdue), (.opening, .overdue), (.dialling, .probeUnanswered), (.opening, .probeUnanswered):
      return []

    case (.opening, .handshake(let handshake, let now)):
      let settings = HeartbeatSettings(interval: handshake.pingInterval, timeout: handshake.pingTimeout)
      return [begin(settings, at: now), .announce]
    case (.opening, .ping), (.opening, .pong), (.opening, .message), (.opening, .filler):
      return end(EngineIOProblem.foreignOpening.failure)
    case (.opening, .timerFired):
      return end(UpstreamFailure(.timeout, "the server sent no Engine.IO handshake in time"))

    case (.open, .handshake):
      return end(UpstreamFailure(.protocolError, "the server sent a second Engine.IO handshake"))
    case (.open(let heartbeat, _), .revisionThreeSeen(let now)):
      revision = .three
      return [begin(heartbeat.settings, at: now)]
    case (.open(let heartbeat, _), .ping(let data, let now)):
      return answerPing(data, heartbeat.settings, at: now)
    case (.open(var heartbeat, let isLastCall), .pong(let now)):
      roundTrip = heartbeat.answered(at: now) ?? roundTrip
      state = .open(heartbeat, isLastCall: isLastCall)
      return []
    case (.open(var heartbeat, let isLastCall), .message):
      heartbeat.heard()
      state = .open(heartbeat, isLastCall: isLastCall)
      return Self.deliver
    case (.open(var heartbeat, let isLastCall), .filler):
      heartbeat.heard()
      state = .open(heartbeat, isLastCall: isLastCall)
      return []
    case (.open(let heartbeat, let isLastCall), .timerFired(let now)):
      return beat(heartbeat, isLastCall: isLastCall, at: now)

    case (.open, .overdue):
      return end(UpstreamFailure(.heartbeat, "the heartbeat was overdue when something was to be sent"))
    case (.open, .probeUnanswered):
      return end(UpstreamFailure(.heartbeat, "the server did not answer when it was asked whether it is still there"))

    case (.opening, .closePacket), (.open, .closePacket):
      return end(UpstreamFailure(.closed, "the server closed the session"))
    case (.opening, .undecodable(let problem)):
      return end(problem.atTheOpening.failure)
    case (.open, .undecodable(let problem)):
      return end(problem.failure)
    case (.dialling, .transportLost(let failure)), (.opening, .transportLost(let failure)),
      (.open, .transportLost(let failure)):
      return end(failure)
    case (.dialling, .hangUp), (.opening, .hangUp), (.open, .hangUp):
      state = .closed
      return [.disarm]

    case (.closed, .transportOpened), (.closed, .transportLost), (.closed, .handshake), (.closed, .revisionThreeSeen),
      (.closed, .ping), (.closed, .pong), (.closed, .message), (.closed, .filler), (.closed, .closePacket),
      (.closed, .undecodable), (.closed, .timerFired), (.closed, .overdue), (.closed, .probeUnanswered),
      (.closed, .hangUp):
      return []
    }
  }

  /// Shared, because one is returned for every message.
  private static let deliver: [Action] = [.deliver]

  private mutating func end(_ failure: UpstreamFailure) -> [Action] {
    state = .closed
    return [.disarm, .end(failure)]
  }

  /// A new term of the heartbeat begins; the timer for it.
  private mutating func begin(_ settings: HeartbeatSettings, at now: MonotonicInstant) -> Action {
    let heartbeat = EngineIOHeartbeat(settings, revision: revision, at: now)
    state = .open(heartbeat, isLastCall: false)
    return .arm(heartbeat.timeLeft(at: now))
  }

  /// Revision 4 answers and starts a new term. In revision 3 only the client pings; some servers end the session over
  /// a pong they did not ask for, so a stray ping is a sign of life and no more.
  private mutating func answerPing(
    _ data: [UInt8], _ settings: HeartbeatSettings, at now: MonotonicInstant
  ) -> [Action] {
    guard data.count <= Self.pingDataLimit else {
      return end(UpstreamFailure(.protocolError, "the server sent a ping with too much data"))
    }
    guard revision == .four else { return handle(.filler) }
    return [.sendPong(data), begin(settings, at: now)]
  }

  /// A machine that slept, or a loop that was held up, may find the deadline passed while the ping waits unread in the
  /// socket: the first verdict of silence therefore gives one more turn of the loop.
  private mutating func beat(
    _ heartbeat: EngineIOHeartbeat, isLastCall: Bool, at now: MonotonicInstant
  ) -> [Action] {
    var heartbeat = heartbeat
    let verdict = heartbeat.judge(at: now)
    state = .open(heartbeat, isLastCall: verdict == .silent)
    switch verdict {
    case .wait(let time): return [.arm(time)]
    case .ask(let time): return [.sendPing, .arm(time)]
    case .silent where !isLastCall: return [.arm(.zero)]
    case .silent: return end(UpstreamFailure(.heartbeat, "the server fell silent: its heartbeat is overdue"))
    }
  }
}
