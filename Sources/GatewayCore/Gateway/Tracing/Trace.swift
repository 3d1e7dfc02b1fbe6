/// One local client's trace of one connection. What its client does not take is dropped, counted and told.
/// Decision 0026.
final class Trace {
  /// Unique per client; `t1`.
  let id: String
  let key: ConnectionKey
  /// What the right to trace hangs on.
  let specification: UpstreamSpecification
  let wantsPayloads: Bool
  /// The events whose packets it shows.
  var permit: EventPermit
  /// What means the same upstream in the next daemon.
  let target: CallTarget
  private let output: ClientOutputs.Pointer
  private let outputs: ClientOutputs
  private let time: any TimeSource
  /// Facts that were dropped since the last one that was written.
  private var dropped: UInt64 = 0
  private var isMuted = false

  /// Most traces of one client.
  static let limit = 16

  init(
    id: String, of specification: UpstreamSpecification, permit: EventPermit = .all, payloads: Bool,
    target: CallTarget, output: ClientOutputs.Pointer, outputs: ClientOutputs, time: any TimeSource
  ) {
    self.id = id
    key = ConnectionKey(specification)
    self.specification = specification
    wantsPayloads = payloads
    self.permit = permit
    self.target = target
    self.output = output
    self.outputs = outputs
    self.time = time
  }

  /// Writes a fact, unless the client has too much unread.
  func take(_ fact: TraceFact) {
    guard !isMuted, shows(fact) else { return }
    guard output.pointee.count < ClientOutput.directLimit else {
      dropped += 1
      return
    }
    tellDropped()
    write(
      LocalNotification.trace(
        id, time: time.wallMilliseconds, fact: fact, payload: wantsPayloads ? fact.payload : nil))
  }

  private func shows(_ fact: TraceFact) -> Bool {
    guard !permit.passesAll else { return true }
    switch fact.subject {
    case .link: return true
    case .event(let name): return permit.passes(name)
    case .message: return false
    }
  }

  /// The client has read: it is told now what it missed.
  func pump() {
    guard output.pointee.count < ClientOutput.directLimit else { return }
    tellDropped()
  }

  /// Nothing more is written: the client is on its way out.
  func mute() { isMuted = true }

  /// Tells the client what it missed, whether there is room or not.
  func tellDropped() {
    guard !isMuted, dropped > 0 else { return }
    write(LocalNotification.trace(id, time: time.wallMilliseconds, dropped: dropped))
    dropped = 0
  }

  private func write(_ line: [UInt8]) { line.withUnsafeBytes { outputs.append($0, to: output) } }
}
