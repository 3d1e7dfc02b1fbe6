/// What can be fuzzed. The same function judges what libFuzzer makes up and what the tests replay.
enum FuzzTarget: String, CaseIterable, Sendable {
  case json
  case lines
  case engineio
  case socketio
  case upgrade
  case frames
  case payload
  case msgpack
  case wamp
  case history
  case profile
  case plain
  case instant
  case pieces
  case resp
  case fleet

  /// The property that this input breaks, in one sentence; nil if all hold. A trap is a finding too.
  func problem(with input: [UInt8]) -> String? {
    switch self {
    case .json: JSONTarget.problem(with: input)
    case .lines: LinesTarget.problem(with: input)
    case .engineio: EngineIOTarget.problem(with: input)
    case .socketio: SocketIOTarget.problem(with: input)
    case .upgrade: UpgradeTarget.problem(with: input)
    case .frames: FramesTarget.problem(with: input)
    case .payload: PayloadTarget.problem(with: input)
    case .msgpack: MsgpackTarget.problem(with: input)
    case .wamp: WAMPTarget.problem(with: input)
    case .history: HistoryTarget.problem(with: input)
    case .profile: ProfileTarget.problem(with: input)
    case .plain: PlainTarget.problem(with: input)
    case .instant: InstantTarget.problem(with: input)
    case .pieces: PiecesTarget.problem(with: input)
    case .resp: RESPTarget.problem(with: input)
    case .fleet: FleetTarget.problem(with: input)
    }
  }
}
