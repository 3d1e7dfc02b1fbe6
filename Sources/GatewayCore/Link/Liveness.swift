/// When the server of a link has to be heard of, and when its silence means that it is gone. Decision 0023.
struct Heartbeat: Equatable, Sendable {
  /// Which side asks the other for a sign of life.
  enum Asker: Equatable, Sendable {
    /// Its questions are the signs of life, and nothing else is.
    case server
    /// Whatever comes is one. `isExpected`: the server counts on being asked, and gives up a client that does not.
    case client(isExpected: Bool)
  }

  /// What a due timer asks for.
  enum Verdict: Equatable, Sendable {
    case wait(Duration)
    case ask(then: Duration)
    /// It is overdue. A machine that slept, or a loop that was held up, may find that while the sign of life waits unread
    /// in the socket: it gets one more turn.
    case lastCall
    case silent
  }

  let settings: HeartbeatSettings
  let asker: Asker
  /// When the client asks next; where the server asks, until when it must have.
  private var next: MonotonicInstant
  /// When the oldest question was asked since which nothing at all has come.
  private var unanswered: MonotonicInstant?
  private var isLastCall = false

  /// It begins, or where the server asks it has just done so.
  init(_ settings: HeartbeatSettings, by asker: Asker, at now: MonotonicInstant) {
    self.settings = settings
    self.asker = asker
    next = now + settings.interval
    if asker == .server { next = next + settings.timeout }
  }

  /// When the server, too, must take us for gone: it is as strict as we are, or has not been asked for too long.
  var deadline: MonotonicInstant {
    switch asker {
    case .server: next
    case .client(isExpected: true): next + settings.timeout
    case .client(isExpected: false): unanswered.map { $0 + settings.timeout } ?? next + settings.timeout
    }
  }

  /// When to look again at the latest.
  func timeLeft(at now: MonotonicInstant) -> Duration {
    let left = unanswered.map { min(next, $0 + settings.timeout) } ?? next
    return max(left - now, .zero)
  }

  /// Anything came.
  mutating func heard() { unanswered = nil }

  /// Judges the time, and notes the question that it asks for.
  mutating func judge(at now: MonotonicInstant) -> Verdict {
    guard !isOverdue(at: now) else {
      guard !isLastCall else { return .silent }
      isLastCall = true
      return .lastCall
    }
    isLastCall = false
    guard asker != .server, next <= now else { return .wait(timeLeft(at: now)) }
    next = now + settings.interval
    unanswered = unanswered ?? now
    return .ask(then: timeLeft(at: now))
  }

  private func isOverdue(at now: MonotonicInstant) -> Bool {
    switch asker {
    case .server: next <= now
    case .client: unanswered.map { $0 + settings.timeout <= now } ?? false
    }
  }
}

/// Whether the server of a link is still there, from the opening of the conversation to its end: has the timers of its
/// heartbeat, and asks for a sign of life beyond that, for the sake of the round trip, and urgently when the network may
/// have changed under the link. The owner sends the questions and says what came; at most one question beyond the
/// heartbeat is unanswered at a time.
final class Liveness {
  /// What the server did not do.
  enum Silence: Equatable, Sendable {
    /// Its heartbeat did not come.
    case heartbeat
    /// The same, found when something was to be written.
    case atWriting
    /// It did not answer when it was asked urgently.
    case probe
  }

  private let timers: Timers
  private let time: any TimeSource
  /// Asks for a sign of life, and returns false where that cannot be asked now.
  private let ask: () -> Bool
  /// Sends the heartbeat's question; nil where that is `ask`.
  private let beat: (() -> Void)?
  private let fail: (Silence) -> Void

  /// Nil where there is none, or not yet.
  private(set) var heartbeat: Heartbeat?
  private var timer: Timers.ID?
  private var measuring: Timers.ID?
  /// Runs while the peer must be heard of, or is gone.
  private var urgency: Timers.ID?
  /// When it was asked beyond the heartbeat.
  private var asked: MonotonicInstant?
  /// When it was asked by the heartbeat the last time, while that is not answered.
  private var beaten: MonotonicInstant?
  private var probed: Duration?
  private var beatTrip: Duration?
  /// When the server was last heard, as far as the owner says it; nil before.
  private(set) var lastHeard: MonotonicInstant?

  /// `ask` asks the server for a sign of life, and returns false where it cannot be asked now; `beat` sends the question
  /// of the heartbeat where that is another one. `fail` hears of silence.
  init(
    timers: Timers, time: any TimeSource, ask: @escaping () -> Bool, beat: (() -> Void)? = nil,
    fail: @escaping (Silence) -> Void
  ) {
    self.timers = timers
    self.time = time
    self.ask = ask
    self.beat = beat
    self.fail = fail
  }

  deinit { end() }

  /// The last one that was measured, by the heartbeat if that has a question of its own.
  var roundTrip: Duration? { beatTrip ?? probed }

  /// Whether the server must be heard of in time.
  var isUrgent: Bool { urgency != nil }

  // MARK: - The heartbeat

  /// The heartbeat begins, or begins anew.
  func begin(_ settings: HeartbeatSettings, by asker: Heartbeat.Asker) {
    let heartbeat = Heartbeat(settings, by: asker, at: time.now)
    self.heartbeat = heartbeat
    beaten = nil
    arm(heartbeat.timeLeft(at: time.now))
  }

  /// Nothing is judged or asked any more.
  func end() {
    heartbeat = nil
    timers.cancel(timer)
    timers.cancel(measuring)
    (timer, measuring) = (nil, nil)
    calm()
  }

  /// To be called before something is written: a machine that was suspended, or a loop that was stopped, may not have
  /// fired the timer yet. The server has given such a link up, so what was written now would be lost.
  func check() {
    if let heartbeat, heartbeat.deadline <= time.now { fail(.atWriting) }
  }

  private func arm(_ delay: Duration) {
    timers.cancel(timer)
    timer = timers.after(delay) { [weak self] in self?.judge() }
  }

  private func judge() {
    timer = nil
    guard let verdict = heartbeat?.judge(at: time.now) else { return }
    switch verdict {
    case .wait(let delay): arm(delay)
    case .ask(let delay):
      arm(delay)
      sendBeat()
    case .lastCall: arm(.zero)
    case .silent: fail(.heartbeat)
    }
  }

  private func sendBeat() {
    guard let beat else { return askOnce() }
    beaten = time.now
    beat()
  }

  // MARK: - Beyond the heartbeat

  /// Measures the round trip after that time.
  func measure(in delay: Duration) {
    timers.cancel(measuring)
    measuring = timers.after(delay) { [weak self] in self?.measure() }
  }

  /// Measures the round trip, unless that is under way.
  func measure() {
    if asked == nil { askOnce() }
  }

  private func askOnce() {
    asked = asked ?? time.now
    if !ask() { withdraw() }
  }

  /// Asks the server for a sign of life, which must come within `limit`. One that has never answered a question, which
  /// may be how it is, is not asked, nor one that is being asked.
  func verify(within limit: Duration) {
    guard !isUrgent, probed != nil else { return }
    // What was asked before may be long ago by now.
    asked = time.now
    guard ask() else { return withdraw() }
    urgency = timers.after(limit) { [weak self] in self?.lookOnceMore() }
  }

  /// What already waits in the socket gets one more turn to be read.
  private func lookOnceMore() {
    urgency = timers.after(.zero) { [weak self] in
      self?.urgency = nil
      self?.fail(.probe)
    }
  }

  private func withdraw() {
    asked = nil
    calm()
  }

  private func calm() {
    guard let urgency else { return }
    timers.cancel(urgency)
    self.urgency = nil
  }

  // MARK: - What came

  /// Anything came: the server lives.
  func heard() {
    heartbeat?.heard()
    calm()
  }

  /// The same, and the moment is noted.
  func heardNow() {
    lastHeard = time.now
    heard()
  }

  /// The answer to the last question beyond the heartbeat came.
  func answered() {
    probed = asked.map { time.now - $0 } ?? probed
    asked = nil
    calm()
  }

  /// The same, which counts for the heartbeat too.
  func answeredNow() {
    answered()
    heardNow()
  }

  /// The answer to the heartbeat's own question came.
  func answeredBeat() {
    beatTrip = beaten.map { time.now - $0 } ?? beatTrip
    beaten = nil
    heardNow()
  }
}

extension UpstreamFailure {
  /// Of a server that was asked urgently.
  static let unansweredProbe = UpstreamFailure(
    .heartbeat, "the server did not answer when it was asked whether it is still there")
}
