/// What the messages of a server of JSON lines tell about its clock, where the profile names the member that does.
struct LinesClock {
  private let settings: ServerTimeSettings
  /// When the conversation began: what comes in it was not written down earlier.
  private let began: MonotonicInstant
  /// When the questions were asked whose answers are awaited, by their ids.
  private var asked: [UInt64: MonotonicInstant] = [:]
  private var beat: MonotonicInstant?

  /// Most questions that are remembered; the answers to others are taken for events.
  private static let limit = 256

  /// Nil where the profile names no member.
  init?(_ profile: LinesSettings, at now: MonotonicInstant) {
    guard let member = profile.time else { return nil }
    var settings = ServerTimeSettings()
    (settings.member, settings.unit) = (member, profile.timeUnit)
    self.settings = settings
    began = now
  }

  mutating func askedRequest(_ id: UInt64, at now: MonotonicInstant) {
    if asked.count < Self.limit { asked[id] = now }
  }

  /// That answer is not waited for any more.
  mutating func forget(_ id: UInt64) { asked[id] = nil }

  mutating func askedHeartbeat(at now: MonotonicInstant) { beat = now }

  /// The answer to a request.
  mutating func answered(_ id: UInt64, _ message: RawSpan, at now: MonotonicInstant) -> ClockSample? {
    let asked = asked.removeValue(forKey: id)
    return sample(message, asked: asked, at: now)
  }

  /// The answer to a heartbeat.
  mutating func answeredHeartbeat(_ message: RawSpan, at now: MonotonicInstant) -> ClockSample? {
    defer { beat = nil }
    return sample(message, asked: beat, at: now)
  }

  /// A message that answers nothing.
  func heard(_ message: RawSpan, at now: MonotonicInstant) -> ClockSample? { sample(message, asked: nil, at: now) }

  private func sample(_ message: RawSpan, asked: MonotonicInstant?, at now: MonotonicInstant) -> ClockSample? {
    guard let shown = ServerInstant.find(in: message, settings) else { return nil }
    return ClockSample(asked == nil ? .event : .request, shown: shown, notBefore: asked ?? began, notAfter: now)
  }
}
