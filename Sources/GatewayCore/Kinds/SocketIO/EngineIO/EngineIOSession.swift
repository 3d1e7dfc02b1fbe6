/// The client's side of one Engine.IO session over one WebSocket: handshake, heartbeat and end, as a machine without
/// clock or transport. Engine.IO protocol, sections "Handshake" and "Heartbeat".
struct EngineIOSession: Equatable, Sendable {
  enum State: Equatable, Sendable {
    /// The transport is being set up. May become `opening` or `closed`.
    case dialling
    /// The transport is open, the server's handshake is awaited. May become `open` or `closed`.
    case opening
    /// Messages flow, and the heartbeat is what the server asked for. May become `closed`.
    case open(HeartbeatSettings)
    /// Terminal.
    case closed
  }

  enum Event: Equatable, Sendable {
    case transportOpened
    case transportLost(UpstreamFailure)
    case handshake(EngineIOHandshake)
    /// The server turned out to speak revision 3 although revision 4 was asked for.
    case revisionThreeSeen
    case ping([UInt8])
    case message
    /// A pong, upgrade or noop packet.
    case filler
    case closePacket
    case undecodable(EngineIOProblem)
    /// The timer that `arm` asked for.
    case timerFired
    /// The server gave no sign of life in time.
    case silent(Liveness.Silence)
    case hangUp
  }

  enum Action: Equatable, Sendable {
    /// Set the session's one timer, replacing an earlier one.
    case arm(Duration)
    case disarm
    /// The heartbeat begins, or begins anew: in revision 4 the server pings, in revision 3 the client.
    case beat(HeartbeatSettings)
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
  /// From the transport's opening to the open packet.
  private let handshakeLimit: Duration

  init(revision: EngineIORevision, handshakeLimit: Duration) {
    self.revision = revision
    self.handshakeLimit = handshakeLimit
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
    case (.dialling, .handshake), (.dialling, .ping), (.dialling, .message), (.dialling, .filler),
      (.dialling, .closePacket), (.dialling, .undecodable), (.opening, .transportOpened),
      (.open, .transportOpened):
      return end(UpstreamFailure(.protocolError, "a packet came at a moment when none could"))
    case (.dialling, .timerFired), (.open, .timerFired), (.dialling, .revisionThreeSeen),
      (.opening, .revisionThreeSeen), (.dialling, .silent), (.opening, .silent):
      return []

    case (.opening, .handshake(let handshake)):
      let settings = HeartbeatSettings(interval: handshake.pingInterval, timeout: handshake.pingTimeout)
      state = .open(settings)
      return [.disarm, .beat(settings), .announce]
    case (.opening, .ping), (.opening, .message), (.opening, .filler):
      return end(EngineIOProblem.foreignOpening.failure)
    case (.opening, .timerFired):
      return end(UpstreamFailure(.timeout, "the server sent no Engine.IO handshake in time"))

    case (.open, .handshake):
      return end(UpstreamFailure(.protocolError, "the server sent a second Engine.IO handshake"))
    case (.open(let settings), .revisionThreeSeen):
      revision = .three
      return [.beat(settings)]
    case (.open(let settings), .ping(let data)): return answerPing(data, settings)
    case (.open, .message): return Self.deliver
    case (.open, .filler): return []
    case (.open, .silent(let silence)): return end(Self.failure(silence))

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
      (.closed, .ping), (.closed, .message), (.closed, .filler), (.closed, .closePacket), (.closed, .undecodable),
      (.closed, .timerFired), (.closed, .silent), (.closed, .hangUp):
      return []
    }
  }

  /// Shared, because one is returned for every message.
  private static let deliver: [Action] = [.deliver]

  private mutating func end(_ failure: UpstreamFailure) -> [Action] {
    state = .closed
    return [.disarm, .end(failure)]
  }

  /// Revision 4 answers and starts a new term. In revision 3 only the client pings; some servers end the session over
  /// a pong they did not ask for, so a stray ping is a sign of life and no more.
  private mutating func answerPing(_ data: [UInt8], _ settings: HeartbeatSettings) -> [Action] {
    guard data.count <= Self.pingDataLimit else {
      return end(UpstreamFailure(.protocolError, "the server sent a ping with too much data"))
    }
    return revision == .four ? [.sendPong(data), .beat(settings)] : []
  }

  private static func failure(_ silence: Liveness.Silence) -> UpstreamFailure {
    switch silence {
    case .heartbeat: UpstreamFailure(.heartbeat, "the server fell silent: its heartbeat is overdue")
    case .atWriting: UpstreamFailure(.heartbeat, "the heartbeat was overdue when something was to be sent")
    case .probe: .unansweredProbe
    }
  }
}
