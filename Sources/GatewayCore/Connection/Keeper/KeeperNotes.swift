/// What the keeper goes by for one connection beyond its state and its use: why it is down, what keeps it so, when it
/// may be tried; and what it said of that last.
struct KeeperNotes {
  var schedule: AttemptSchedule
  /// An administrator asked for `disconnect`, and none for `reconnect` since. It stays while the upstream is out of the
  /// configuration, and holds when the upstream is back.
  var isRequestedDown = false
  /// Its upstream left the configuration.
  var isWithdrawn = false
  /// The daemon stops.
  var isDraining = false
  /// Why it is not connected, or why it last was not.
  var lastFailure: UpstreamFailure?
  /// Why what the attempt that is under way waits for is not there; nil where it waits for nothing but its server.
  var waitsFor: DownReason?
  private(set) var judgement: Judgement?
  private var timer: Timers.ID?
  private var isReviewing = false

  init(_ settings: ReconnectSettings) { schedule = AttemptSchedule(settings: settings) }

  /// Whether it is kept down until that is taken back.
  var isHeld: Bool { isRequestedDown || isWithdrawn }

  /// Tells the keeper.
  func describe(to health: inout Health) {
    schedule.describe(to: &health)
    health.lastReason = lastFailure?.reason
    health.lastStatus = lastFailure?.status
    health.waitsFor = waitsFor
    health.isHeld = isHeld
    health.isDraining = isDraining
  }

  /// The way to the server is gone while the connection is down: that is why it is down from now on, unless it is for a
  /// reason that no change of the network lifts.
  mutating func wayLost(_ settings: UpstreamSettings) {
    guard !isHeld, !outlastsNetwork(settings) else { return }
    lastFailure = UpstreamFailure(onPurpose: .offline)
  }

  /// A refusal has its own schedule, and what stays down until an administrator says otherwise must not forget why.
  private func outlastsNetwork(_ settings: UpstreamSettings) -> Bool {
    guard let lastFailure else { return false }
    if lastFailure.isRefusal { return true }
    if lastFailure.reason == .kicked, !settings.reconnectAfterKick { return true }
    return lastFailure.reason.isFailure && !settings.reconnect.enabled
  }

  // MARK: - A review

  /// A review begins; false within one.
  mutating func begin(_ timers: Timers) -> Bool {
    guard !isReviewing else { return false }
    isReviewing = true
    forgetTimer(timers)
    return true
  }

  mutating func end() { isReviewing = false }

  /// What the keeper says now.
  mutating func judge(_ health: Health, by keeper: Keeper) -> Verdict {
    var judgement = keeper.judge(health)
    if isWithdrawn, judgement.rule == "hold" { judgement.why = "The upstream left the configuration." }
    self.judgement = judgement
    return judgement.verdict
  }

  /// Whether the next review has its time.
  var isTimed: Bool { timer != nil }

  /// The next review is at an instant at the latest.
  mutating func lookAgain(at until: MonotonicInstant, _ timers: Timers, _ review: @escaping () -> Void) {
    timer = timers.at(until, review)
  }

  mutating func forgetTimer(_ timers: Timers) {
    timers.cancel(timer)
    timer = nil
  }
}
